"""Wrong ways to cut text into pieces: mutants, by the short name that a `why` gives them.

What `rivals` is for merging, this is for pieces.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Final

from authoring.cases.draft import Purpose, tells_apart
from authoring.mutants.table import MUTANTS
from bpe_ref import Tokenizer, Vocabulary, tokenizer_of
from tokenref.engines.reference import ReferenceEngine

CUTTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ASCII letters": "only-ascii-letters",
        "letters of Lu and Ll only": "only-cased-letters",
        "letters with marks": "marks-are-letters",
        "letters of Unicode 17": "newer-unicode",
        "format characters are spaces": "zero-width-is-space",
        "ASCII digits": "only-ascii-digits",
        "decimal digits only": "only-decimal-digits",
        "digits one by one": "digits-one-by-one",
        "digits in one run": "digits-without-limit",
        "no case folding": "contractions-case-sensitive",
        "no contractions": "contractions-lost",
        "ASCII spaces": "only-ascii-is-space",
        "separators are spaces": "separators-are-space",
        "no look-ahead": "last-space-stays-in-run",
        "no leading space": "nothing-leads-signs",
        "line ends apart": "line-ends-leave-signs",
        "line feeds only": "carriage-return-forgotten",
    }
)
"""The mutant of each short name."""


@cache
def wrong_cutter(name: str) -> ReferenceEngine:
    """Return an engine that cuts so and is right otherwise; it does not tell its pieces."""
    return replace(MUTANTS[CUTTERS[name]].engine, with_stages=False)


@cache
def _tokenizer(vocabulary: Vocabulary, name: str | None) -> Tokenizer:
    """Return the right tokenizer, or the one that cuts wrongly so; both are used often."""
    if name is None:
        return tokenizer_of(vocabulary)
    engine = wrong_cutter(name)
    return engine.prepare_tokenizer(tokenizer_of(vocabulary.remember(engine.prepare)))


def cut_otherwise(vocabulary: Vocabulary, text: str) -> list[str]:
    """Return the names of the wrong ways that cut the text into other pieces."""
    right = _tokenizer(vocabulary, None).pieces(text)
    return [name for name in CUTTERS if _tokenizer(vocabulary, name).pieces(text) != right]


def encoded_otherwise(vocabulary: Vocabulary, text: str) -> list[str]:
    """Return the names of the wrong ways that show in the tokens."""
    right = _tokenizer(vocabulary, None).encode(text, special="ordinary")
    return [
        name
        for name in CUTTERS
        if _tokenizer(vocabulary, name).encode(text, special="ordinary") != right
    ]


def fails_cut(*names: str) -> tuple[Purpose, ...]:
    """Return the purposes "an engine that cuts so fails here"."""
    return tuple(tells_apart(name, wrong_cutter(name)) for name in names)


def cut(vocabulary: Vocabulary, text: str) -> list[str]:
    r"""Return the right pieces.

    >>> from bpe_ref import load, vocabulary_of
    >>> cut(vocabulary_of(load("tiny")), "a b\n")
    ['a', ' b', '\n']
    """
    return _tokenizer(vocabulary, None).pieces(text)


def right_tokens(vocabulary: Vocabulary, text: str) -> list[int]:
    """Return the right tokens of a text in which nothing is special.

    >>> from bpe_ref import load, vocabulary_of
    >>> right_tokens(vocabulary_of(load("tiny")), " the") == [vocabulary_of(load("tiny")).ids[" the"]]
    True
    """
    return _tokenizer(vocabulary, None).encode(text, special="ordinary")
