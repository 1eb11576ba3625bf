"""Wrong ways to cut text into pieces, each one change to the pattern, as engines really have it.

What `rivals` is for merging, this is for pieces.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from bpe_ref import Pretokenizer, Steps, Tokenizer, Vocabulary
from tokenref.cases.draft import Purpose, tells_apart
from tokenref.engines.reference import ReferenceEngine

CHANGES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        "ASCII letters": (
            (r"[^\r\n\p{L}", r"[^\r\nA-Za-z"),
            (r"[^\s\p{L}", r"[^\sA-Za-z"),
            (r"\p{L}", "[A-Za-z]"),
        ),
        "letters of Lu and Ll only": ((r"\p{L}+", r"[\p{Lu}\p{Ll}]+"),),
        "letters with marks": ((r"\p{L}+", r"[\p{L}\p{M}]+"),),
        "letters of Unicode 17": (
            (r"[^\r\n\p{L}", "[^\\r\\n\u088f\\p{L}"),
            (r"[^\s\p{L}", "[^\\s\u088f\\p{L}"),
            (r"\p{L}+", "[\u088f\\p{L}]+"),
        ),
        "format characters are spaces": (
            (r"[^\s", "[^\\s\u180e\u200b\ufeff"),
            (r"(?!\S)", "(?![^\\s\u180e\u200b\ufeff])"),
            (r"|\s", "|[\\s\u180e\u200b\ufeff]"),
        ),
        "ASCII digits": ((r"\p{N}{", "[0-9]{"), (r"\p{N}+", "[0-9]+")),
        "decimal digits only": ((r"\p{N}{", r"\p{Nd}{"), (r"\p{N}+", r"\p{Nd}+")),
        "digits one by one": ((r"\p{N}{1,3}+", r"\p{N}"), (r"\p{N}{1,3}", r"\p{N}")),
        "digits in one run": ((r"\p{N}{1,3}+", r"\p{N}+"), (r"\p{N}{1,3}", r"\p{N}+")),
        "no case folding": (("(?i:", "(?:"),),
        "no contractions": (("'(?i:[sdmt]|ll|ve|re)|", ""), ("'(?:[sdmt]|ll|ve|re)|", "")),
        "ASCII spaces": (
            (r"[^\s", r"[^\t-\r "),
            (r"(?!\S)", r"(?![^\t-\r ])"),
            (r"\s", r"[\t-\r ]"),
        ),
        "separators are spaces": (
            (r"[^\s", r"[^\s\x1c-\x1f"),
            (r"(?!\S)", r"(?![^\s\x1c-\x1f])"),
            (r"|\s", r"|[\s\x1c-\x1f]"),
        ),
        "no look-ahead": ((r"|\s+(?!\S)", ""), (r"|\s++$", "")),
        "no leading space": ((r" ?[^", "[^"),),
        "line ends apart": ((r"[\r\n]*+|", "|"), (r"[\r\n]*|", "|"), (r"[\r\n/]*|", "|")),
        "line feeds only": ((r"\r\n", r"\n"),),
    }
)
"""Each wrong way as replacements in the pattern, by the name that a `why` gives it."""


@cache
def wrong_cutter(name: str) -> ReferenceEngine:
    """Return an engine that cuts so and is right otherwise; it does not tell its pieces."""

    def cutter(vocabulary: Vocabulary) -> Callable[[str], list[str]]:
        pattern = vocabulary.text.pattern or r"[\s\S]+"
        for old, new in CHANGES[name]:
            pattern = pattern.replace(old, new)
        return Pretokenizer(pattern, vocabulary.text.tables).pieces

    return ReferenceEngine(name=name, steps=Steps(cutter=cutter), with_stages=False)


@cache
def _tokenizer(vocabulary: Vocabulary, name: str | None) -> Tokenizer:
    """Return the right tokenizer, or the one that cuts wrongly so; both are used often."""
    return Tokenizer(vocabulary, steps=wrong_cutter(name).steps if name else None)


def cut_otherwise(vocabulary: Vocabulary, text: str) -> list[str]:
    """Return the names of the wrong ways that cut the text into other pieces."""
    right = _tokenizer(vocabulary, None).pieces(text)
    return [name for name in CHANGES if _tokenizer(vocabulary, name).pieces(text) != right]


def encoded_otherwise(vocabulary: Vocabulary, text: str) -> list[str]:
    """Return the names of the wrong ways that show in the tokens."""
    right = _tokenizer(vocabulary, None).encode_ordinary(text)
    return [name for name in CHANGES if _tokenizer(vocabulary, name).encode_ordinary(text) != right]


def fails_cut(*names: str) -> tuple[Purpose, ...]:
    """Return the purposes "an engine that cuts so fails here"."""
    return tuple(tells_apart(name, wrong_cutter(name)) for name in names)


def cut(vocabulary: Vocabulary, text: str) -> list[str]:
    r"""Return the right pieces.

    >>> from bpe_ref import load_vocabulary
    >>> cut(load_vocabulary("tiny"), "a b\n")
    ['a', ' b', '\n']
    """
    return _tokenizer(vocabulary, None).pieces(text)


def right_tokens(vocabulary: Vocabulary, text: str) -> list[int]:
    """Return the right tokens of a text in which nothing is special.

    >>> from bpe_ref import load_vocabulary
    >>> right_tokens(load_vocabulary("tiny"), " the") == [load_vocabulary("tiny").ids[" the"]]
    True
    """
    return _tokenizer(vocabulary, None).encode_ordinary(text)
