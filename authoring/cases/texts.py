"""Cases about ordinary text: how it is cut into pieces, and what the pieces become.

Each text is asked for its tokens with `tiny`, for its pieces there, and for
its tokens with those of tiny's variants whose pattern cuts it otherwise.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from authoring.cases.draft import Draft
from authoring.cases.rivals import cut, cut_otherwise, encoded_otherwise, fails_cut, right_tokens
from authoring.cases.vocabularies import vocabulary_named
from tokenref.questions.text import TextInput

SPEC_OF_TOPIC: Final = {
    "white_space": "docs/bpe.md#white-space",
    "line_ends": "docs/bpe.md#white-space",
    "letters": "docs/bpe.md#unicode",
    "marks": "docs/bpe.md#unicode",
    "scripts": "docs/bpe.md#unicode",
    "emoji": "docs/bpe.md#unicode",
    "code_points": "docs/bpe.md#unicode",
}
"""Where the rule is written down, if not among pieces."""

FLAG_OF_CUTTER: Final = {
    "ASCII letters": "Letters",
    "letters of Lu and Ll only": "Letters",
    "letters with marks": "CombiningMark",
    "letters of Unicode 17": "UnicodeVersion",
    "format characters are spaces": "NotWhiteSpace",
    "ASCII digits": "OtherDigits",
    "decimal digits only": "OtherDigits",
    "digits one by one": "DigitGroup",
    "digits in one run": "DigitGroup",
    "no case folding": "CaseFolding",
    "no contractions": "Contraction",
    "ASCII spaces": "WhiteSpace",
    "separators are spaces": "NotWhiteSpace",
    "no look-ahead": "TrailingSpace",
    "no leading space": "Punctuation",
    "line ends apart": "LineEnd",
    "line feeds only": "LineEnd",
}

VARIANTS: Final = ("tiny_r50k", "tiny_o200k", "tiny_original_cl100k")


def text_case(
    op: str, topic: str, slug: str, vocabulary: str, text: str, fact: str, flags: Sequence[str]
) -> Draft:
    """Return a case that names, and is failed by, the wrong ways of cutting that show in it."""
    named = vocabulary_named(vocabulary)
    wrong = (cut_otherwise if op == "pieces" else encoded_otherwise)(named, text)
    told = f" Fails with: {', '.join(wrong)}." if wrong else ""
    amount = _amount(len(cut(named, text)), "piece")
    if op == "encode":
        amount = f"{_amount(len(right_tokens(named, text)), 'token')} from {amount}"
    pattern = vocabulary.removeprefix("tiny_") if vocabulary in VARIANTS else "cl100k"
    return Draft(
        op=op,
        topic=topic,
        slug=slug,
        vocabulary=vocabulary,
        request=TextInput(text=text),
        why=f"{fact}: {amount} ({pattern}).{told}",
        flags=sorted({*flags, *(FLAG_OF_CUTTER[name] for name in wrong)}),
        spec=SPEC_OF_TOPIC.get(topic, "docs/bpe.md#pieces"),
        purposes=fails_cut(*wrong),
    )


def _amount(count: int, of: str) -> str:
    """Say how many there are."""
    return f"{count or 'no'} {of}" + ("" if count == 1 else "s")


def text_cases(
    topic: str, slug: str, text: str, fact: str, flags: Sequence[str]
) -> Iterator[Draft]:
    """Yield tokens and pieces with tiny, and tokens where another pattern cuts otherwise."""
    yield text_case("encode", topic, slug, "tiny", text, fact, flags)
    yield text_case("pieces", topic, slug, "tiny", text, fact, flags)
    usual = cut(vocabulary_named("tiny"), text)
    for vocabulary in VARIANTS:
        if cut(vocabulary_named(vocabulary), text) != usual:
            name = f"{slug}-{vocabulary.removeprefix('tiny_').replace('_', '-')}"
            more = (*flags, "PatternVariant")
            yield text_case("encode", topic, name, vocabulary, text, fact, more)


def rows(
    topic: str, flags: Sequence[str], listed: Sequence[tuple[str, str, str]]
) -> Iterator[Draft]:
    """Yield the cases of (slug, text, fact)."""
    for slug, text, fact in listed:
        yield from text_cases(topic, slug, text, fact, flags)
