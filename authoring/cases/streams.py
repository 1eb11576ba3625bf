"""Cases about text that comes token by token, and what tokens may still become."""

from collections.abc import Iterator
from typing import Final, Literal

from authoring.cases.blame import blamed, blaming
from authoring.cases.decoding import NOT_TEXT
from authoring.cases.draft import Draft
from authoring.cases.growing import VOCABULARIES
from authoring.cases.random_texts import row_of_tokens
from authoring.cases.splitmix import SplitMix64
from authoring.cases.vocabularies import vocabulary_named
from bpe_ref import Vocabulary, tokenizer_of
from tokenref.engines.reference import byte_model
from tokenref.questions.sequences import StreamInput
from tokenref.questions.text import CanonicalInput, CompletionsInput

STREAM: Final = "docs/streaming.md#certain"
OFFSETS: Final = "docs/streaming.md#offsets"
COMPLETIONS: Final = "docs/cutting.md#completions"
CANONICAL: Final = "docs/cutting.md#canonical"
SEED: Final = 0x73_74_72_65

TEXTS: Final = (
    ("words", "Hello, world! It's fine."),
    ("accents", "né à être"),
    ("chinese", "你好。世界"),
    ("emoji", "😀 👨‍👩‍👧 🇩🇪"),
    ("replacement", "a\ufffd\ufffdb"),
    ("ends-in-replacement", "ab\ufffd"),
    ("nul", "a\x00b\x7f"),
    ("marks", "e\u0301\u0323 x\u0308"),
    ("empty", ""),
)

BEGINNINGS: Final = ("a", "ab", "aab", "abab", "aaa", "ba", "bab", "abc", "cab")
_MOST_COMPLETIONS: Final = 40


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _streams()
    yield from _offsets()
    yield from _completions()
    yield from _canonical()


def bytes_as_tokens(vocabulary: Vocabulary, data: bytes) -> list[int]:
    """Return the token of each byte."""
    return [vocabulary.symbol_of_letter[letter] for letter in data.decode("latin-1")]


def _stream(slug: str, vocabulary: str, ids: list[int], fact: str, *flags: str) -> Iterator[Draft]:
    named = vocabulary_named(vocabulary)
    valid = _is_text(named, ids)
    kinds: tuple[Literal["replace", "strict"], ...] = ("replace", "strict")
    for errors in kinds if not valid else kinds[:1]:
        yield blaming(
            "stream",
            "streams",
            f"{slug}-{errors}",
            vocabulary,
            StreamInput(ids=ids, errors=errors),
            f"{fact}, token by token ({errors}, {vocabulary}).",
            ["Stream", *flags],
            spec=STREAM,
        )


def _is_text(vocabulary: Vocabulary, ids: list[int]) -> bool:
    data = b"".join(map(vocabulary.token_bytes, ids))
    return data.decode("utf-8", "ignore").encode() == data


def _streams() -> Iterator[Draft]:
    order = vocabulary_named("byte_order")
    for name, digits, _, fact in NOT_TEXT:
        ids = bytes_as_tokens(order, bytes.fromhex(digits))
        yield from _stream(f"bytes-{name}", "byte_order", ids, fact, "ReplaceMaximalPart")
    for vocabulary in ("tiny", "utf8_parts", "byte_order"):
        tokenizer = tokenizer_of(vocabulary_named(vocabulary))
        for name, text in TEXTS:
            slug = f"{vocabulary.replace('_', '-')}-{name}"
            ids = tokenizer.encode(text, special="ordinary")
            fact = f"{text!a:.40} in {len(ids)} tokens"
            yield from _stream(slug, vocabulary, ids, fact, "SplitCharacter")
    specials = vocabulary_named("specials_unicode")
    first = next(iter(specials.special_tokens.values()))
    ids = [*bytes_as_tokens(specials, b"a\xc3"), first, *bytes_as_tokens(specials, b"\xa9b")]
    fact = "A special token between the two bytes of a letter, which it parts for good"
    yield from _stream("special-between", "specials_unicode", ids, fact, "SpecialToken")
    missing = vocabulary_named("missing_bytes")
    yield from _stream(
        "no-continuation",
        "missing_bytes",
        list(missing.tokens)[:2],
        "No token of the vocabulary can begin or end inside of a character",
    )


def _offsets() -> Iterator[Draft]:
    for vocabulary in ("tiny", "utf8_parts", "byte_order"):
        tokenizer = tokenizer_of(vocabulary_named(vocabulary))
        for name, text in TEXTS:
            ids = tokenizer.encode(text, special="ordinary")
            yield blaming(
                "offsets",
                "streams",
                f"{vocabulary.replace('_', '-')}-{name}",
                vocabulary,
                CanonicalInput(ids=ids),
                f"{text!a:.40}: the character in which each token starts ({vocabulary}).",
                ["Offsets"],
                spec=OFFSETS,
            )
    order = vocabulary_named("byte_order")
    for name, data in (("cut-short", b"a\xe4\xbd"), ("lone", b"\x80a"), ("late", b"ab\xff")):
        yield blaming(
            "offsets",
            "streams",
            f"not-text-{name}",
            "byte_order",
            CanonicalInput(ids=bytes_as_tokens(order, data)),
            f"{data!r} is not UTF-8, so there are no characters to start in.",
            ["Offsets", "InvalidUtf8"],
            spec=OFFSETS,
        )


def _completions() -> Iterator[Draft]:
    for vocabulary in ("readme", "quadruples", "letters_abc", "tokens_in_all_sizes", "runs_powers"):
        named = vocabulary_named(vocabulary)
        tokenizer = tokenizer_of(named)
        for text in BEGINNINGS:
            if not set(text) <= set(named.symbol_of_letter):
                continue
            for complete in (True, False):
                request = CompletionsInput(text=text, complete=complete)
                asked = "all completions" if complete else "the completions that tiktoken finds"
                draft = blaming(
                    "completions",
                    "streams",
                    f"{vocabulary.replace('_', '-')}-{text}-{'all' if complete else 'tiktoken'}",
                    vocabulary,
                    request,
                    f"{text!r} is {len(tokenizer.encode(text, special='ordinary'))} tokens of {vocabulary} "
                    f"if nothing follows; {asked}.",
                    ["Completions"],
                    spec=COMPLETIONS,
                )
                yield draft


def _canonical() -> Iterator[Draft]:
    for place, vocabulary in enumerate(VOCABULARIES):
        named = vocabulary_named(vocabulary)
        generator = SplitMix64(SEED + place)
        words = [content.decode("latin-1") for _, content in sorted(named.tokens.items())][-40:]
        text = row_of_tokens(generator, words, 6)[:16]
        right = byte_model(tokenizer_of(named)).ids_of_bytes(text.encode("latin-1"))
        yield _canonical_case(f"{vocabulary}-right", vocabulary, right, "What a text encodes to")
        seen: set[str] = set()
        kept = 0
        for _ in range(60):
            ids = [named.ids[generator.choice(words)] for _ in range(2 + generator.below(3))]
            names = blamed("canonical", vocabulary, CanonicalInput(ids=ids))
            if seen.issuperset(names):
                continue
            seen.update(names)
            kept += 1
            fact = f"Tokens of {named.spellings[ids[0]]!a:.20} and so on"
            yield _canonical_case(f"{vocabulary}-{kept}", vocabulary, ids, fact)
    yield _canonical_case("empty", "readme", [], "No tokens at all")
    order = vocabulary_named("byte_order")
    lone = bytes_as_tokens(order, b"\xff\xc3")
    yield _canonical_case("not-text", "byte_order", lone, "Bytes that are no text")


def _canonical_case(slug: str, vocabulary: str, ids: list[int], fact: str) -> Draft:
    return blaming(
        "canonical",
        "streams",
        slug.replace("_", "-"),
        vocabulary,
        CanonicalInput(ids=ids),
        f"{fact} ({slug}): whether they are what their own bytes encode to.",
        ["Canonical"],
        spec=CANONICAL,
    )
