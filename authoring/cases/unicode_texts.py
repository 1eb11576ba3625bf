"""Cases about characters: white space, line ends, letters, marks, scripts, emoji, code points."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Final

from authoring.cases.draft import Draft
from authoring.cases.rivals import cut, cut_otherwise
from authoring.cases.texts import VARIANTS, rows, text_case
from authoring.cases.vocabularies import vocabulary_named
from authoring.data import tables
from tokenref.questions.text import Recipe, TextInput

_TABLES: Final = tables("unicode_texts")

MARKS: Final = _TABLES["marks"]
SCRIPTS: Final = _TABLES["scripts"]
EMOJI: Final = _TABLES["emoji"]

CLASSES: Final = "x\u00aay\u00baz \U00010107\U00010108\U00010109\U0001010a x\u24b6y"
COMPOSED: Final = "\uac00\u11a7\uac00\u11c2\U00011099\U000110ba"
_WHY_BEYOND: Final = (
    "Ordinal signs are letters, numbers beyond U+FFFF are grouped, a circled letter is a symbol; "
    "U+11A7 is no final consonant, U+11C2 is the last, and letters beyond U+FFFF compose."
)


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _white_space()
    yield from _line_ends()
    yield from rows("letters", ("Letters",), _TABLES["letters"])
    for slug, text, fact in (*_TABLES["letters"], *MARKS):
        yield text_case(
            "pieces", "letters", f"{slug}-o200k", "tiny_o200k", text, fact, ("Letters",)
        )
    yield from rows("marks", ("CombiningMark",), MARKS)
    yield from rows("scripts", ("Script",), SCRIPTS)
    yield from rows("emoji", ("Emoji",), EMOJI)
    yield from rows("code_points", ("CodePointEdge",), _TABLES["code_points"])
    yield from _normalization()


def _white_space() -> Iterator[Draft]:
    """Yield texts around each character that is white space, and around each that is not."""
    for kind, prefix, flag in (
        ("white_space", "", "WhiteSpace"),
        ("not_white_space", "not-", "NotWhiteSpace"),
    ):
        for code, name in _TABLES[kind]:
            for op, slug, vocabulary, pattern, fact, more in _TABLES[f"around_{kind}"]:
                text = pattern.replace("_", chr(int(code, 16)))
                told = fact.replace("_", name)
                slug_of_code = f"{prefix}{code}-{slug}"
                flags = (flag, *more)
                yield text_case(op, "white_space", slug_of_code, vocabulary, text, told, flags)


def _line_ends() -> Iterator[Draft]:
    """Yield short texts of spaces, line ends, a letter and a sign; few of each kind.

    Two texts are of one kind if the same wrong ways and the same patterns cut
    them otherwise: more of a kind would find nothing more.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    names = {" ": "s", "\n": "n", "\r": "r", "x": "x", "!": "e", "\t": "t"}
    for length in range(1, 6):
        for signs in product(" \n\r\tx!", repeat=length):
            text = "".join(signs)
            if not text.strip(" x!") or (length > 3 and "\t" in text):
                continue
            usual = cut(vocabulary_named("tiny"), text)
            other = tuple(v for v in VARIANTS if cut(vocabulary_named(v), text) != usual)
            kind = (*cut_otherwise(vocabulary_named("tiny"), text), "|", *other)
            seen[kind] += 1
            if seen[kind] > 3 and length > 2:
                continue
            slug = "".join(names[sign] for sign in text)
            for vocabulary in ("tiny", *other):
                told = "" if vocabulary == "tiny" else vocabulary.removeprefix("tiny")
                yield text_case(
                    "encode",
                    "line_ends",
                    slug + told.replace("_", "-"),
                    vocabulary,
                    text,
                    f"{text!a}, white space and line ends",
                    ("LineEnd", "WhiteSpace", *(["PatternVariant"] if told else [])),
                )


def _normalization() -> Iterator[Draft]:
    for slug, text, fact in _TABLES["nfc"]:
        for op in ("encode", "pieces"):
            yield Draft(
                op=op,
                topic="normalization",
                slug=slug,
                vocabulary="tiny_nfc",
                request=TextInput(text=text),
                why=f"{fact}; {'tokens' if op == 'encode' else 'pieces'} are of the text in NFC.",
                flags=["Normalization"],
                spec="docs/bpe.md#unicode",
            )
    yield Draft(
        op="pieces",
        topic="sizes",
        slug="beyond-16-bits",
        vocabulary="tiny_nfc",
        request=TextInput(text=f"{CLASSES} {COMPOSED}"),
        why=_WHY_BEYOND,
        flags=["Letters", "Normalization"],
        spec="docs/bpe.md#unicode",
    )
    marks = Recipe(before=b"e".hex(), unit="cc81", times=50, after="cca3")
    yield Draft(
        op="count",
        topic="sizes",
        slug="marks-51",
        vocabulary="tiny_nfc",
        request=TextInput(recipe=marks),
        why="The last of 51 marks moves in front of all others, and joins the letter.",
        flags=["Count", "Normalization"],
        spec="docs/bpe.md#unicode",
    )
