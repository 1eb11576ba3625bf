"""Cases about normalization next to special tokens.

Special tokens are found in the text as it is given. Only the stretches between them are converted to
NFC, each alone. A program that normalizes first finds other special tokens, or none, and joins a
letter with an accent that stands beyond a special token.
"""

from collections.abc import Iterator
from typing import Final

from authoring.cases.draft import Draft
from tokenref.questions.text import ChunksInput, SpecialInput, SplitInput, TextInput

TEXTS: Final = (
    ("accent-behind", "e<x>\u0301a", "an accent behind a special token, not joined with the e before it"),
    ("accent-first", "<x>\u0323\u0307a", "two marks behind a special token, which change places"),
    ("marks-parted", "a\u0307<x>\u0323", "two marks, which would change places without the token between them"),
    ("jamo-parted", "\u1100<x>\u1161", "two parts of a syllable with a special token between them"),
    ("jamo-beside", "<x>\u1100\u1161<x>", "two parts of a syllable, which become one character, between special tokens"),
    ("becomes-special", "<e\u0301>", "a text that only NFC makes the spelling of a special token"),
    ("is-special", "<\u00e9>", "a special token in NFC"),
    ("special-decomposed", "<o\u0302>", "a special token that is not in NFC itself, spelled as it is"),
    ("special-composed", "<\u00f4>", "the NFC of a special token's spelling, which is no special token"),
    ("angstrom", "\u212b", "a special token whose NFC is another character"),
    ("ring", "\u00c5A\u030a", "the NFC of a special token, once ready and once in two parts"),
    ("mark-is-special", "e\u0301", "an accent that is a special token itself, behind its letter"),
    ("all-of-them", "<e\u0301><\u00e9>e\u0301<o\u0302><\u00f4>\u212bA\u030a<x>\u0301", "special tokens with and without accents in a row"),
    ("long", "e\u0301o\u0302<x>" * 5 + "<\u00f4>" + "a\u0323\u0302" * 5 + "<o\u0302>", "letters in several parts between special tokens"),
)  # fmt: skip
"""Slug, text, and what it is."""


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    for slug, text, what in TEXTS:
        for allowed in ("all", "none", "x"):
            names = {"all": "all", "none": [], "x": ["<x>"]}[allowed]
            disallowed = ["<\u00e9>", "\u0301"] if allowed == "x" else []
            refused = ", two others disallowed" if disallowed else ""
            yield _case(
                "special",
                f"{slug}-{allowed}",
                SpecialInput(text=text, allowed=names, disallowed=disallowed),  # type: ignore[arg-type]
                f"{what.capitalize()}; special tokens allowed: {allowed}{refused}.",
                "docs/bpe.md#special-tokens",
                "SpecialToken",
            )
        yield _case(
            "count",
            slug,
            TextInput(text=text),
            f"The number of tokens if nothing is special: {what}.",
            "docs/bpe.md#unicode",
            "Count",
        )
        yield _case(
            "pieces",
            slug,
            TextInput(text=text),
            f"The pieces if nothing is special: {what}.",
            "docs/bpe.md#unicode",
        )
    for slug, text, what in TEXTS[-2:]:
        for most in (2, 3, 5):
            yield _case(
                "split",
                f"{slug}-{most}",
                SplitInput(text=text, most=most),
                f"The longest prefix of {most} tokens: {what}.",
                "docs/cutting.md#cutting",
                "Split",
            )
            yield _case(
                "chunks",
                f"{slug}-{most}",
                ChunksInput(text=text, most=most, overlap=most - 2),
                f"Chunks of {most} tokens: {what}.",
                "docs/cutting.md#cutting",
                "Chunks",
            )


def _case(op: str, slug: str, request: object, why: str, spec: str, *flags: str) -> Draft:
    return Draft(
        op=op,
        topic="beside_special",
        slug=slug,
        vocabulary="specials_nfc",
        request=request,  # type: ignore[arg-type]
        why=why,
        flags=sorted({"Normalization", *flags}),
        spec=spec,
    )
