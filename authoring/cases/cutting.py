"""Cases about limits: is it too long, where to cut it, how to cut it into chunks."""

from collections.abc import Iterator
from typing import Final

from authoring.cases.blame import blamed, blaming
from authoring.cases.draft import Draft, refuses
from authoring.cases.random_texts import row_of_tokens
from authoring.cases.splitmix import SplitMix64
from authoring.cases.vocabularies import FAR_LETTERS, vocabulary_named
from bpe_ref import tokenizer_of
from tokenref.questions.text import ChunksInput, LimitInput, SplitInput

SPEC: Final = "docs/cutting.md#cutting"
SEED: Final = 0x63_75_74

TEXTS: Final = (
    ("readme", "falls", "abacbb", "One more letter lowers the count from three to two"),
    ("readme", "mixed", "abcbacabb", "Counts rise and fall"),
    ("runs_powers", "fifteen", "a" * 15, "Fifteen letters have four tokens, sixteen have one"),
    ("runs_powers", "seventeen", "a" * 17, "Sixteen letters have one token, fewer have more"),
    ("runs_fibonacci", "thirteen", "a" * 13, "Each count of letters has its own way of adding up"),
    ("quadruples", "runs", "a" * 11, "Runs of up to four letters"),
    ("tokens_in_all_sizes", "all", "abbaabababba", "Tokens of every size compete"),
    ("parity_from_the_right", "couples", "abcdefghijkl", "Each letter changes every token"),
    ("nontopological", "deep", "abababab", "Tokens that rank before their parts"),
    ("utf8_parts", "two", "éàé", "Tokens begin and end inside of characters of two bytes"),
    ("utf8_parts", "three", "你你你", "Tokens begin and end inside of characters of three bytes"),
    ("utf8_parts", "four", "😀😀é", "Tokens begin and end inside of characters of four bytes"),
    ("byte_order", "bytes", "aé你😀z", "Each byte is a token, and no character may be cut"),
    ("specials_prefix", "special", None, "Special tokens are one token each, and not cut"),
    ("specials_overlapping", "overlapping", None, "Special tokens that overlap each other"),
    ("specials_ordinary", "ordinary", None, "Special tokens that are ordinary tokens as well"),
    ("specials_unicode", "unicode", None, "Special tokens beyond ASCII"),
    ("specials_half_eaten", "eaten", "a<|end|>ba<", "A token could eat the special one's start"),
    ("tiny", "words", "Hello, world! It's 12345 o'clock.\n\n  Yes", "Pieces of ordinary text"),
    ("tiny", "spaces", "a  b   c    \n \n d", "White space, whose pieces depend on what follows"),
    ("tiny", "emoji", "👨‍👩‍👧 né 你好", "Characters of several bytes and tokens"),
    ("tiny", "specials", "a<|endoftext|>b<|fim_prefix|>", "Special tokens between words"),
    (
        "tiny_nfc",
        "marks",
        "e\u0301a\u0301 e\u0301",
        "NFC joins letters and marks: fewer characters",
    ),
    ("tiny_o200k", "case", "HelloWorld's ABCdef", "Words are cut where lower case ends"),
)
"""Vocabulary, name, text (None: one that its special tokens make), and what is special."""

_LIMITS: Final = 3
_MOST: Final = (1, 2, 3, 5)
_OVERLAPS: Final = ((2, 1), (4, 2), (5, 4))


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    for vocabulary, slug, text, fact in TEXTS:
        content = _special_text(vocabulary) if text is None else text
        name = f"{vocabulary.replace('_', '-')}-{slug}"
        yield from _limits(name, vocabulary, content, fact)
        yield from _splits(name, vocabulary, content, fact)
        yield from _chunks(name, vocabulary, content, fact)
    yield from _too_late()
    yield from _loop()
    yield from _random()


def _special_text(vocabulary: str) -> str:
    """Return a text of special tokens with letters between them, and a beginning of one."""
    specials = list(vocabulary_named(vocabulary).special_tokens)
    return "a" + "b".join(specials) + specials[0][:-1] + specials[-1]


def _limits(name: str, vocabulary: str, text: str, fact: str) -> Iterator[Draft]:
    total = tokenizer_of(vocabulary_named(vocabulary)).count(text, special="ordinary")
    for limit in sorted({max(0, total - 1), total, total // 2, total + 1}):
        yield blaming(
            "limit",
            "cutting",
            f"{name}-{limit}",
            vocabulary,
            LimitInput(text=text, limit=limit),
            f"{fact} ({vocabulary}): {total} tokens, of which {limit} are allowed.",
            ["Limit"],
            spec=SPEC,
        )


def _splits(name: str, vocabulary: str, text: str, fact: str) -> Iterator[Draft]:
    for most in _MOST:
        yield blaming(
            "split",
            "cutting",
            f"{name}-{most}",
            vocabulary,
            SplitInput(text=text, most=most),
            f"{fact} ({vocabulary}): the longest prefix of {most} tokens at most.",
            ["Split"],
            spec=SPEC,
        )


def _chunks(name: str, vocabulary: str, text: str, fact: str) -> Iterator[Draft]:
    for most, overlap in (*((most, 0) for most in _MOST), *_OVERLAPS):
        request = ChunksInput(text=text, most=most, overlap=overlap)
        overlapping = f", {overlap} of them again in the next" if overlap else ""
        yield blaming(
            "chunks",
            "cutting",
            f"{name}-{most}-{overlap}",
            vocabulary,
            request,
            f"{fact} ({vocabulary}): chunks of {most} tokens at most{overlapping}.",
            ["Chunks", *(["Overlap"] if overlap else [])],
            spec=SPEC,
        )


def _too_late() -> Iterator[Draft]:
    """Yield example E9: far too many tokens until the very last letter."""
    text = f"!{FAR_LETTERS}"
    for limit in (0, 1, 2, 13):
        yield blaming(
            "limit",
            "cutting",
            f"last-letter-decides-{limit}",
            "last_letter_decides",
            LimitInput(text=text, limit=limit),
            f"Fifteen letters that are two tokens, while each prefix has more; {limit} allowed.",
            ["Limit", "CountFalls"],
            spec=SPEC,
        )
    for most in (1, 2, 5, 13):
        yield blaming(
            "split",
            "cutting",
            f"last-letter-decides-{most}",
            "last_letter_decides",
            SplitInput(text=text + FAR_LETTERS[:4], most=most),
            f"A prefix that has more than {most} tokens fits again a dozen letters later.",
            ["Split", "CountFalls"],
            spec=SPEC,
        )
    yield blaming(
        "split",
        "cutting",
        "line-end",
        "byte_order",
        SplitInput(text="a\r\nb", most=2),
        "CR and LF are two characters, and a text may be cut between them.",
        ["Split", "LineEnd"],
        spec=SPEC,
    )
    for op, request in (
        ("split", SplitInput(text="你", most=2)),
        ("chunks", ChunksInput(text="a你", most=2, overlap=0)),
    ):
        yield Draft(
            op=op,
            topic="cutting",
            slug="one-character-too-long",
            vocabulary="byte_order",
            request=request,
            why=f"One character has three tokens where two are allowed, and no {op} cuts it.",
            flags=["Split" if op == "split" else "Chunks", "TooLong"],
            spec=SPEC,
            purposes=[refuses("TOO_LONG")],
        )


def _loop() -> Iterator[Draft]:
    """Yield the loop of GitHub's README: tokens that neither start nor end at a character."""
    for most in (1, 2, 3, 4):
        for op, request in (
            ("split", SplitInput(text="你" * 6, most=most)),
            ("chunks", ChunksInput(text="你" * 6, most=most, overlap=0)),
        ):
            yield blaming(
                op,
                "cutting",
                f"loop-{most}",
                "loop_of_parts",
                request,
                f"Tokens that start and end inside characters: a program that takes {most} and "
                f"drops incomplete characters returns nothing for {op}, forever.",
                ["Split" if op == "split" else "Chunks", "SplitCharacter"],
                spec=SPEC,
            )


def _random() -> Iterator[Draft]:
    for place, vocabulary in enumerate(("readme", "runs_three_first", "improper_letters", "tiny")):
        generator = SplitMix64(SEED + place)
        named = vocabulary_named(vocabulary)
        words = [
            content.decode()
            for _, content in sorted(named.tokens.items())
            if content.decode("utf-8", "ignore").encode() == content
        ]
        seen: set[str] = set()
        kept = 0
        for _ in range(60):
            text = row_of_tokens(generator, words, 8)
            most = 1 + generator.below(4)
            names = blamed("split", vocabulary, SplitInput(text=text, most=most))
            if kept and seen.issuperset(names):
                continue
            seen.update(names)
            kept += 1
            yield blaming(
                "split",
                "cutting",
                f"random-{vocabulary.replace('_', '-')}-{kept}",
                vocabulary,
                SplitInput(text=text, most=most),
                f"A random row of tokens of {vocabulary}, {text!r:.40}, {most} of them allowed.",
                ["Split", "Random"],
                spec=SPEC,
            )
            if kept == _LIMITS:
                break
