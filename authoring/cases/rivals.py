"""Wrong encoders and wrong ways to cut text: mutants, by the short name that a `why` gives them.

A case about merging or cutting is worth its line if some mutant fails it. Its
`why` then quotes what that mutant would answer; so the sentence is true
because it was computed, and the case proves it again whenever it is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Final

from authoring.cases.draft import Purpose, tells_apart
from authoring.mutants.table import MUTANTS
from bpe_ref import ENCODERS, TokenId, Tokenizer, Vocabulary, tokenizer_of
from tokenref.engines.reference import ReferenceEngine

# ---- merging

RIVALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "longest first": "greedy",
        "fewest tokens": "fewest-tokens",
        "rightmost": "ties-from-the-right",
        "whole rounds": "all-occurrences-at-once",
        "rule by rule": "rule-by-rule",
        "any spelling": "pairs-by-concatenation",
        "trusting heap": "stale-pairs-if-alive",
        "ids as ranks": "order-by-id",
        "first listing": "duplicate-merge-first-wins",
        "8-bit ranks": "ranks-in-8-bits",
        "9-bit ranks": "ranks-in-9-bits",
        "16-bit ranks": "ranks-in-16-bits",
        "24-bit ranks": "ranks-in-24-bits",
        "float ranks": "ranks-as-floats",
        "signed ranks": "ranks-with-a-sign",
    }
)
"""The mutant of each short name."""

EVERYDAY: Final = ("longest first", "fewest tokens", "rightmost", "whole rounds", "rule by rule")
"""The mistakes that are worth a look with every vocabulary."""


def fails(*names: str) -> tuple[Purpose, ...]:
    """Return the purposes "an engine that encodes so fails here"."""
    return tuple(tells_apart(name, MUTANTS[RIVALS[name]].engine) for name in names)


def differing(
    vocabulary: Vocabulary, piece: bytes, names: Sequence[str] = EVERYDAY
) -> dict[str, list[TokenId]]:
    """Return the wrong answers of those encoders that are wrong about the piece.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> differing(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), b"aaa")
    {'rightmost': [0, 1]}
    """
    symbols = vocabulary.symbols(piece)
    right = ENCODERS["heap"](vocabulary, symbols)
    answers = {
        name: MUTANTS[RIVALS[name]].engine.encode_symbols(vocabulary, symbols) for name in names
    }
    return {name: answer for name, answer in answers.items() if answer != right}


def quoted(vocabulary: Vocabulary, tokens: Sequence[TokenId]) -> str:
    """Return tokens as text for a `why`, with a bar between them.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> quoted(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), [1, 0])
    'aa|a'
    """
    return b"|".join(vocabulary.tokens[token] for token in tokens).decode("latin-1")


def contrast(vocabulary: Vocabulary, piece: bytes, names: Sequence[str] = EVERYDAY) -> str:
    """Return a sentence that quotes the right answer and the wrong ones.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> contrast(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), b"aaa")
    'Merging gives aa|a; wrong: a|aa (rightmost).'
    """
    right = quoted(vocabulary, ENCODERS["heap"](vocabulary, vocabulary.symbols(piece)))
    wrong: dict[str, list[str]] = {}
    for name, answer in differing(vocabulary, piece, names).items():
        wrong.setdefault(quoted(vocabulary, answer), []).append(name)
    if not wrong:
        return f"Merging gives {right}, as do {len(names)} wrong ways; a line to be complete."
    listed = ", ".join(f"{answer} ({', '.join(by)})" for answer, by in wrong.items())
    return f"Merging gives {right}; wrong: {listed}."


# ---- cutting

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
    right = _tokenizer(vocabulary, None).pieces(text, special="ordinary")
    return [
        name
        for name in CUTTERS
        if _tokenizer(vocabulary, name).pieces(text, special="ordinary") != right
    ]


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

    >>> from tokenref.subjects import load_bytes
    >>> cut(load_bytes("tiny"), "a b\n")
    ['a', ' b', '\n']
    """
    return _tokenizer(vocabulary, None).pieces(text, special="ordinary")


def right_tokens(vocabulary: Vocabulary, text: str) -> list[int]:
    """Return the right tokens of a text in which nothing is special.

    >>> from tokenref.subjects import load_bytes
    >>> right_tokens(load_bytes("tiny"), " the") == [load_bytes("tiny").ids[" the"]]
    True
    """
    return _tokenizer(vocabulary, None).encode(text, special="ordinary")
