"""Cases about size: just below, at and beyond each length at which real programs break.

Positions wrap where a number has 8, 15 or 16 bits. Buffers have blocks of 64 to 4,096 entries. Loops
stop after 64, 100, 1,000 or 1,024 steps. So every operation has records at these sizes, in every
dimension of its input. No answer repeats with a period that divides the size: texts are random, or
repeat a unit whose length is an odd prime, so that a block that begins anew answers otherwise.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from authoring.cases.draft import Draft
from authoring.cases.splitmix import SplitMix64
from authoring.cases.streams import bytes_as_tokens
from authoring.cases.vocabularies import (
    BRANCHES,
    LENGTHS_OF_TOKENS,
    MANY_SPECIALS,
    vocabulary_named,
)
from bpe_ref import tokenizer_of
from tokenref.engines.reference import byte_model
from tokenref.questions.sequences import (
    Call,
    CallsInput,
    CountCall,
    EagerInput,
    EncodeCall,
    SessionCall,
    SessionInput,
    StreamInput,
)
from tokenref.questions.text import (
    CanonicalInput,
    ChunksInput,
    CompletionsInput,
    DecodeInput,
    IntervalsInput,
    LimitInput,
    Recipe,
    SpecialInput,
    SplitInput,
    TextInput,
)

SMALL: Final = (64, 100, 128, 256, 512, 1000, 1024)
"""Sizes of which there is a record just below, at, and just beyond each."""

BLOCKS: Final = (*SMALL, 2048, 4096)
LARGE: Final = (1 << 15, 1 << 16)
EVERY: Final = (*BLOCKS, *LARGE)

WORDS: Final = " of"
"""One token of tiny. Its three letters fit into no power of two, and into no power of ten."""

_SEED: Final = 0x73_69_7A_65
_FLAGS: Final = ("LengthThreshold",)


def about(size: int) -> tuple[int, int, int]:
    """Return a size, the number below it, and the number beyond it, in order.

    >>> about(64)
    (63, 64, 65)
    """
    return size - 1, size, size + 1


def near(size: int) -> tuple[int, ...]:
    """Return `about` a small size, and of a larger one what does not make the records too large.

    >>> near(256), near(1024), near(4096)
    ((255, 256, 257), (1024, 1025), (4097,))
    """
    if size in (64, 256):
        return about(size)
    return (size, size + 1) if size == 1024 else (size + 1,)


def random_letters(size: int, letters: str = "abc") -> str:
    """Return a text of random letters: the same for each size, only longer.

    >>> random_letters(3) == random_letters(9)[:3]
    True
    """
    generator = SplitMix64(_SEED)
    return "".join(generator.choice(letters) for _ in range(size))


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _texts()
    yield from _pieces()
    yield from _tokens()
    yield from _ids()
    yield from _streams()
    yield from _specials()
    yield from _growing()
    yield from _cutting()
    yield from _completions()
    yield from _sessions()


def _case(op: str, slug: str, vocabulary: str, request: object, why: str, *flags: str) -> Draft:
    return Draft(
        op=op,
        topic="sizes",
        slug=slug,
        vocabulary=vocabulary,
        request=request,  # type: ignore[arg-type]
        why=why,
        flags=sorted({*_FLAGS, *flags}),
        spec=_SPECS.get(op, "docs/bpe.md#definition"),
    )


_SPECS: Final = {
    "count": "docs/bpe.md#counting",
    "pieces": "docs/bpe.md#pieces",
    "special": "docs/bpe.md#special-tokens",
    "decode": "docs/bpe.md#decoding",
    "stream": "docs/streaming.md#certain",
    "offsets": "docs/streaming.md#offsets",
    "append": "docs/cutting.md#growing",
    "prepend": "docs/cutting.md#growing",
    "eager": "docs/cutting.md#growing",
    "intervals": "docs/cutting.md#growing",
    "limit": "docs/cutting.md#cutting",
    "split": "docs/cutting.md#cutting",
    "chunks": "docs/cutting.md#cutting",
    "completions": "docs/cutting.md#completions",
    "canonical": "docs/cutting.md#canonical",
    "session": "docs/bpe.md#several-calls",
}


def repeated(unit: str, size: int, before: str = "", after: str = "") -> TextInput:
    """Return a text of so many bytes: a unit over and over, the last time only in part.

    >>> repeated("abc", 4).recipe
    Recipe(unit='616263', times=1, before='', after='61')
    """
    length = size - len(before.encode()) - len(after.encode())
    times, odd = divmod(length, len(unit.encode()))
    ends = [before.encode(), unit.encode()[:odd] + after.encode()]
    return TextInput(
        recipe=Recipe(
            before=ends[0].hex(), unit=unit.encode().hex(), times=times, after=ends[1].hex()
        )
    )


# ---- texts of many pieces


def _texts() -> Iterator[Draft]:
    for size in EVERY:
        for length in about(size):
            yield _case(
                "encode",
                f"words-{length}",
                "tiny",
                repeated(WORDS, length, before="x"),
                f"A text of {length:,} bytes: words of three bytes each, which no block boundary "
                "meets at the same place.",
            )
    for size in EVERY:
        yield _case(
            "count",
            f"prose-{size + 1}",
            "tiny",
            repeated("Stop, it's 3048 m\n", size + 1, after="."),
            f"The number of tokens in {size + 1:,} bytes of pieces of every kind.",
            "Count",
        )
    for size in (64, 100, 256, 1000):
        yield _case(
            "pieces",
            f"words-{size + 1}",
            "tiny",
            repeated(WORDS, size + 1, before="x"),
            f"The pieces of {size + 1:,} bytes: a block of {size:,} would cut a word.",
        )
        yield _case(
            "pieces",
            f"many-{size}",
            "tiny",
            TextInput(text="1a" * (size // 2) + "." * (size % 2) + " b"),
            f"A text of {size + 1:,} pieces or a few more: a list of {size:,} is too short.",
        )
    for size in EVERY:
        yield _case(
            "pieces",
            f"far-{size}",
            "only_lowercase",
            repeated("ABC", size + 3, before="ab", after="cd"),
            f"Two pieces, of which the second begins {size + 1:,} bytes after the start of the text; "
            "what lies between them belongs to no piece.",
            "UnmatchedText",
        )


# ---- long pieces


def _pieces() -> Iterator[Draft]:
    for size in BLOCKS:
        for length in about(size):
            yield _case(
                "encode",
                f"piece-of-threes-{length}",
                "improper_run",
                repeated("a", length),
                f"One piece of {length:,} equal letters, three of them to a token: no block of "
                f"{size:,} ends with a token.",
                "LongRun",
            )
            yield _case(
                "count",
                f"piece-{length}",
                "readme",
                repeated("abacbcb", length, after="bb"),
                f"The number of tokens in one piece of {length:,} letters in disorder.",
                "Count",
                "LongRun",
            )
    for size in LARGE:
        for length in about(size):
            yield _case(
                "encode",
                f"piece-of-threes-{length}",
                "improper_run",
                repeated("a", length),
                f"One piece of {length:,} equal letters, three of them to a token: positions in it "
                f"need more bits than {length.bit_length() - 2}.",
                "LongRun",
            )
    for size in (64, 128, 256):
        yield _case(
            "encode",
            f"piece-in-disorder-{size + 9}",
            "readme",
            TextInput(text=random_letters(size + 9)),
            f"One piece of {size + 9} random letters, which no block of {size} may end in.",
            "LongRun",
        )


# ---- long tokens


def _tokens() -> Iterator[Draft]:
    named = vocabulary_named("longer_tokens")
    for length in LENGTHS_OF_TOKENS:
        token = named.ids["d" * length]
        yield _case(
            "encode",
            f"token-{length}",
            "longer_tokens",
            repeated("d", length),
            f"A single token of {length:,} bytes: a table of tokens that ends earlier misses it.",
            "LongToken",
        )
        yield _case(
            "decode",
            f"token-{length}",
            "longer_tokens",
            DecodeInput(ids=[named.ids["d"], token, named.ids["e"]], errors="strict"),
            f"A token of {length:,} bytes between two letters: a buffer for one token is too short.",
            "LongToken",
        )
    longest = named.ids["d" * max(LENGTHS_OF_TOKENS)]
    one, other = named.ids["d"], named.ids["e"]
    for times in (1, 16):
        ids = [other, *[longest] * times, one, other, one]
        size = times * max(LENGTHS_OF_TOKENS)
        yield _case(
            "offsets",
            f"far-{size}",
            "longer_tokens",
            CanonicalInput(ids=ids),
            f"Offsets beyond {size:,}: the last tokens start there.",
            "Offsets",
        )


# ---- many tokens


_PACKED_PAIRS: Final = (
    ("packed-pair", "bc", "The id 2**32 carries into the left half of a packed pair."),
    ("packed-pairs", "abcbc", "b and c look like a pair only if packed."),
    ("packed-after-c", "cabbc", "A large id as the left and as the right one of a pair."),
)
"""Slugs and texts of pairs of ids that do not fit into 64 bits together, and why they are here."""


def _ids() -> Iterator[Draft]:
    named = vocabulary_named("readme")
    model = byte_model(tokenizer_of(named))
    generator = SplitMix64(_SEED + 1)
    every = sorted(named.tokens)
    many = [generator.choice(every) for _ in range(4097)]
    for size in (64, 100, 128, 256, 1024, 4096):
        for length in near(size):
            yield _case(
                "decode",
                f"ids-{length}",
                "readme",
                DecodeInput(ids=many[:length], errors="strict"),
                f"The text of {length:,} tokens in disorder.",
                "Decoding",
            )
    yield _case(
        "decode",
        "id-2-63",
        "readme",
        DecodeInput(ids=[2**63]),
        "An unknown id beyond 63 bits.",
        "UnknownId",
    )
    for size in (64, 100, 256, 1024, 4096):
        # tokens of several letters keep the records short; the last pair decides
        text = random_letters(2 * size + 60).encode()
        right = model.ids_of_bytes(text)[: size - 1]
        for tail, says in (
            ("a b", "and the last two do not merge"),
            ("a c b", "but ac was left open"),
        )[size == 4096 :]:
            wrong = [
                *_canonical_part(model, right),
                *(named.ids[letter] for letter in tail.split()),
            ]
            yield _case(
                "canonical",
                f"ids-{size}-{tail.replace(' ', '')}",
                "readme",
                CanonicalInput(ids=wrong),
                f"{len(wrong):,} tokens that are right up to the last ones, {says}.",
                "Canonical",
            )
    for slug, letters, says in _PACKED_PAIRS:
        pair = TextInput(text=letters)
        yield _case("encode", slug, "pair_ids_beyond_u32", pair, says, "ByPair", "HighRank")
    order = vocabulary_named("byte_order")
    for size in (64, 100, 256, 1024):
        data = ("\u4f60\u00e9\u00e9" * (size // 7 + 1)).encode()
        yield _case(
            "decode",
            f"split-characters-{len(data)}",
            "byte_order",
            DecodeInput(ids=bytes_as_tokens(order, data), errors="replace"),
            f"Characters of three and two bytes, {len(data):,} bytes in all: a block of {size:,} "
            "would end inside of one.",
            "SplitCharacter",
        )
    high = vocabulary_named("high_ranks")
    ends = random_letters(14, "bcdefghijklmnoa") + "abcdeghimnjkl"
    ids = byte_model(tokenizer_of(high)).ids_of_bytes(ends.encode())
    says = f"tokens with ids of up to {max(ids).bit_length()} bits"
    yield _case("canonical", "high-ids", "high_ranks", CanonicalInput(ids=ids), f"Whether {says} are "
                "what their bytes encode to.", "Canonical", "HighRank")  # fmt: skip
    yield _case("offsets", "high-ids", "high_ranks", CanonicalInput(ids=ids), f"Where {says} start.",
                "Offsets", "HighRank")  # fmt: skip
    yield _case("stream", "high-ids", "high_ranks", StreamInput(ids=ids, errors="strict"),
                f"The text that {says} make certain.", "Stream", "HighRank")  # fmt: skip
    pushes = [letter.encode().hex() for letter in "abcdeghimnjkl"]
    for op in ("append", "prepend"):
        calls = [Call(push=push) for push in (pushes if op == "append" else reversed(pushes))]
        yield _case(op, "high-ids", "high_ranks", CallsInput(calls=calls),
                    f"A text grows ({op}) of which the tokens have ids of up to 31 bits.",
                    "Growing", "HighRank")  # fmt: skip
    yield _case("eager", "high-ids", "high_ranks", EagerInput(pushes=pushes),
                "Tokens become certain of which the ids have up to 31 bits.", "Eager",
                "HighRank")  # fmt: skip


def _canonical_part(model: object, ids: Sequence[int]) -> list[int]:
    """Return the longest beginning of tokens that is what its own bytes encode to."""
    part = list(ids)
    while part and model.ids_of_bytes(b"".join(map(model.vocabulary.token_bytes, part))) != part:  # type: ignore[attr-defined]
        part.pop()
    return part


# ---- streams


def _streams() -> Iterator[Draft]:
    order = vocabulary_named("byte_order")
    named = vocabulary_named("readme")
    generator = SplitMix64(_SEED + 2)
    every = sorted(named.tokens)
    many = [generator.choice(every) for _ in range(4097)]
    for size in (64, 100, 256):
        data = ("\u4f60\u00e9\u00e9" * (size // 7 + 1)).encode()
        yield _case(
            "stream",
            f"split-characters-{len(data)}",
            "byte_order",
            StreamInput(ids=bytes_as_tokens(order, data), errors="replace"),
            f"Characters of three and two bytes, {len(data):,} bytes in all: a window of {size:,} "
            "tokens would begin inside of one.",
            "Stream",
            "SplitCharacter",
        )
    for size in (64, 100, 128, 256, 1024):
        ids = many[: size + 1]
        yield _case(
            "stream",
            f"ids-{size + 1}",
            "readme",
            StreamInput(ids=ids, errors="strict"),
            f"A stream of {size + 1:,} tokens, which says each part of the text once.",
            "Stream",
        )
        if size <= 256:
            yield _case(
                "offsets",
                f"ids-{size + 1}",
                "readme",
                CanonicalInput(ids=ids),
                f"The character in which each of {size + 1:,} tokens starts.",
                "Offsets",
            )


# ---- special tokens


def _specials() -> Iterator[Draft]:
    generator = SplitMix64(_SEED + 3)
    names = MANY_SPECIALS
    for size in (64, 100, 128, 256, 1024):
        for count in near(size) if size < 1024 else (size + 1,):
            few = names[:5]
            text = "".join(generator.choice(few) + "b"[: generator.below(2)] for _ in range(count))
            yield _case(
                "special",
                f"tokens-{count}",
                "specials_many",
                SpecialInput(text=text, allowed="all", disallowed=[]),
                f"A text with {count:,} special tokens, some of them next to each other.",
                "SpecialToken",
            )
    for size in (*SMALL, 4096, 1 << 16):
        yield _case(
            "special",
            f"far-{size}",
            "specials_many",
            SpecialInput(text="a" * (size + 1) + "<|2|>bab<|9|>", allowed="all", disallowed=[]),
            f"Special tokens {size + 1:,} characters after the start of the text, and a few more.",
            "SpecialToken",
        )
    yield _case(
        "special",
        "refused-at-the-end",
        "specials_many",
        SpecialInput(text="a" * 4099 + "<|2|>", allowed=[], disallowed="all"),
        "A special token that is not allowed, after 4,099 letters: a search in the first block only "
        "does not see it.",
        "SpecialToken",
        "SpecialRefused",
    )
    yield _case(
        "special",
        "every-one",
        "specials_many",
        SpecialInput(text="".join(names), allowed="all", disallowed=[]),
        f"All {len(names)} special tokens of a vocabulary, one after the other: their numbers need "
        "more than a byte.",
        "SpecialToken",
    )
    for size in (64, 256):
        allowed = list(names[: size + 1])
        yield _case(
            "special",
            f"allowed-{size + 1}",
            "specials_many",
            SpecialInput(
                text=f"{names[size]}a{names[size + 1]}{names[0]}", allowed=allowed, disallowed=[]
            ),
            f"{size + 1} special tokens are allowed, and the text has the last of them, one more "
            "that is not, and the first.",
            "SpecialToken",
            "SpecialAllowed",
        )


# ---- texts that grow


def _growing() -> Iterator[Draft]:
    for op in ("append", "prepend"):
        for size in (64, 128, 256):
            text = random_letters(size + 1).encode()
            calls = [Call(push=text[at : at + 1].hex()) for at in range(len(text))]
            yield _case(
                op,
                f"calls-{size + 1}",
                "readme",
                CallsInput(calls=calls),
                f"{size + 1:,} random letters, one per call ({op}).",
                "Growing",
            )
        for size in (64, 128, 256, 1024, *((4096,) if op == "append" else ())):
            text = random_letters(size + 9).encode()
            parts = [text[:size], text[size : size + 5], text[size + 5 :]]
            calls = [Call(push=part.hex()) for part in parts]
            calls += [Call(truncate=size + 1), Call(push=b"cb".hex()), Call(truncate=size - 1)]
            yield _case(
                op,
                f"bytes-{size}",
                "readme",
                CallsInput(calls=calls),
                f"A text of {size:,} random letters grows a little ({op}), and is cut back to just "
                "beyond and just below that.",
                "Growing",
                "Truncated",
            )
    for size in (64, 128, 256, 1024):
        text = random_letters(size + 9).encode()
        yield _case(
            "eager",
            f"bytes-{size}",
            "readme",
            EagerInput(
                pushes=[text[:size].hex(), text[size : size + 1].hex(), text[size + 1 :].hex()]
            ),
            f"{size:,} random letters, one more, and eight more: the tokens that are certain.",
            "Eager",
        )
    for size in (64, 128, 256):
        text = random_letters(size + 1).encode()
        yield _case(
            "eager",
            f"pushes-{size + 1}",
            "readme",
            EagerInput(pushes=[text[at : at + 1].hex() for at in range(len(text))]),
            f"{size + 1:,} random letters, one per push: the tokens that are certain.",
            "Eager",
        )
    for size in (64, 100, 128, 256, 1024, 4096):
        text = random_letters(size + 20).encode()
        ends = about(size)
        ranges = [(0, end) for end in ends]
        ranges += [(1, end) for end in ends]
        ranges += [(end, size + 20) for end in ends]
        ranges += [(end - 9, end + 7) for end in ends]
        yield _case(
            "intervals",
            f"bytes-{size}",
            "readme",
            IntervalsInput(octets=text.hex(), ranges=ranges),
            f"Parts of {size + 20:,} random letters that start or stop at {size:,} or beside it.",
            "Interval",
        )
    for size in (64, 128, 256):
        text = random_letters(40).encode()
        asked = SplitMix64(_SEED + size)
        ranges = []
        for _ in range(size + 1):
            start = asked.below(40)
            ranges.append((start, start + asked.below(41 - start)))
        yield _case(
            "intervals",
            f"ranges-{size + 1}",
            "readme",
            IntervalsInput(octets=text.hex(), ranges=ranges),
            f"{size + 1:,} parts of one text, asked for at once.",
            "Interval",
        )


# ---- texts that are cut


def _cutting() -> Iterator[Draft]:
    # each letter is a token: a limit in tokens is one in letters
    for size in BLOCKS:
        text = random_letters(size + 3, "bac")
        total = tokenizer_of(vocabulary_named("improper_letters")).count(text.replace("c", "a"))
        yield _case(
            "limit",
            f"tokens-{size}-reached",
            "improper_letters",
            LimitInput(text=text.replace("c", "a"), limit=total),
            f"A text of {size + 3:,} letters has exactly the {total:,} tokens that are allowed.",
            "Limit",
        )
        yield _case(
            "limit",
            f"tokens-{size}-exceeded",
            "improper_letters",
            LimitInput(text=text.replace("c", "a"), limit=total - 1),
            f"A text of {size + 3:,} letters has one token more than the {total - 1:,} that are "
            "allowed.",
            "Limit",
        )
        for most in about(size) if size in (64, 256) else (size,):
            ones = _ones(size + 9)
            yield _case(
                "split",
                f"most-{most}",
                "byte_order",
                SplitInput(text=ones, most=most),
                f"The longest prefix of {most:,} tokens, in a text of {len(ones):,} characters.",
                "Split",
            )
            yield _case(
                "chunks",
                f"most-{most}",
                "byte_order",
                ChunksInput(text=_ones(size + 40), most=most, overlap=7 if size < 1000 else 0),
                f"A text of {size + 40:,} characters in chunks of {most:,} tokens.",
                "Chunks",
            )
    for size in (64, 100, 128, 256):
        yield _case(
            "chunks",
            f"many-{size + 1}",
            "readme",
            ChunksInput(text=random_letters(3 * size), most=2, overlap=0),
            f"A text that is cut into more than {size:,} chunks of two tokens.",
            "Chunks",
        )
        yield _case(
            "chunks",
            f"overlap-{size}",
            "byte_order",
            ChunksInput(text=_ones(2 * size + 30), most=size + 10, overlap=size),
            f"Chunks that overlap by {size:,} tokens.",
            "Chunks",
            "Overlap",
        )


def _ones(size: int) -> str:
    """Return a text of random letters, some of which have two or three tokens of one byte."""
    return random_letters(size, "abcdefghijklmnop\u00e9\u4f60")


# ---- completions


def _completions() -> Iterator[Draft]:
    for letter, size in BRANCHES.items():
        yield _case(
            "completions",
            f"many-{size + 1}",
            "branches",
            CompletionsInput(text=f"{letter}{letter}", complete=True),
            f"{letter} may become any of {size + 1:,} tokens: a list of {size:,} is too short.",
            "Completions",
        )
    for size in (64, 100, 128, 256, 1024, 4096):
        yield _case(
            "completions",
            f"bytes-{size}",
            "readme",
            CompletionsInput(text=random_letters(size + 4) + "ac", complete=True),
            f"A text of {size + 6:,} letters that goes on: most of its tokens stay.",
            "Completions",
        )


# ---- several calls


def _sessions() -> Iterator[Draft]:
    for size in (64, 256):
        words = sorted({_word(number) for number in range(size + 5)}, key=lambda word: word[::-1])
        calls: list[SessionCall] = [CountCall(input=TextInput(text=word)) for word in words]
        calls += [EncodeCall(input=TextInput(text=words[place])) for place in (0, 3, size, 1)]
        yield _case(
            "session",
            f"texts-{size + 5}",
            "readme",
            SessionInput(calls=calls),
            f"{len(words):,} different texts, then some of them again: a cache of {size:,} places has "
            "thrown the first ones away.",
            "CallCache",
        )
    for size in (64, 256, 1024):
        text = random_letters(size)
        calls = [EncodeCall(input=TextInput(text=text + end)) for end in ("ac", "ab", "ac")]
        yield _case(
            "session",
            f"equal-beginnings-{size}",
            "readme",
            SessionInput(calls=calls),
            f"Texts that differ only after {size:,} letters: a key of their beginning is one key.",
            "CallCache",
        )


def _word(number: int) -> str:
    """Return a short text of the letters a, b and c for a number."""
    letters = ""
    number += 1
    while number:
        number, place = divmod(number - 1, 3)
        letters += "abc"[place]
    return letters
