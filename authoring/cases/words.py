"""Cases about words, contractions, digits, signs and code."""

from collections.abc import Iterator
from typing import Final

from authoring.cases.draft import Draft
from authoring.cases.texts import rows, text_case, text_cases
from authoring.data import tables
from tokenref.questions.text import TextInput

_CONTRACTIONS: Final = ("s", "t", "re", "ve", "m", "ll", "d")

WORDS: Final = tables("words")["words"]
CODE: Final = tables("words")["code"]
DIGITS: Final = tables("words")["digits"]

ALIKE: Final = " internationalisation internationalization\ncostarring\nliquid\nplumless\nbuckeroo listen silent"
_WHY_ALIKE: Final = (
    "Pairs of words with 15 equal bytes in front, one FNV-1a hash, one CRC-32, or the same letters"
)


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _contractions()
    yield from rows("contractions", ("Contraction",), tables("words")["apostrophes"])
    yield from rows("words", ("Pretokenization",), WORDS)
    yield text_case(
        "encode", "sizes", "keys-of-32-bits", "tiny", ALIKE, _WHY_ALIKE, ("Pretokenization",)
    )
    yield from rows("code", ("Code", "Pretokenization"), CODE)
    yield from _digit_runs()
    yield from rows("digits", ("OtherDigits",), DIGITS)
    yield from _counts()


def _contractions() -> Iterator[Draft]:
    flags = ("Contraction", "CaseFolding")
    for ending in _CONTRACTIONS:
        cases = dict.fromkeys(
            (ending, ending.upper(), ending.title(), ending[0] + ending[1:].upper())
        )
        for number, spelled in enumerate(cases):
            fact = f"'{spelled} between a word and a word that follows at once"
            slug, text = f"{ending}-{number}", f"we'{spelled}x"
            yield text_case("pieces", "contractions", slug, "tiny", text, fact, flags)
            for pattern in ("o200k", "r50k") if number else ("o200k",):
                vocabulary, name = f"tiny_{pattern}", f"{slug}-{pattern}"
                yield text_case("encode", "contractions", name, vocabulary, text, fact, flags)


def _digit_runs() -> Iterator[Draft]:
    for length in range(1, 11):
        digits = "1234567890"[:length]
        fact = f"A run of {length} digit{'s' if length > 1 else ''}"
        yield from text_cases("digits", f"run-{length:02}", digits, fact, ("DigitGroup",))
        zeros = "0" * length
        fact = f"A space and {length} zero{'s' if length > 1 else ''}"
        slug, flags = f"zeros-{length:02}", ("DigitGroup",)
        yield text_case("encode", "digits", slug, "tiny_r50k", f" {zeros}", fact, flags)


def _counts() -> Iterator[Draft]:
    for slug, text, fact in (*WORDS[::2], *CODE[::2], *DIGITS[::3]):
        yield Draft(
            op="count",
            topic="texts",
            slug=slug,
            vocabulary="tiny",
            request=TextInput(text=text),
            why=f"{fact}: counting must agree with encoding, whatever method it uses.",
            flags=["Count"],
            spec="docs/bpe.md#counting",
        )
