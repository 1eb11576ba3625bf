"""The pre-tokenizers under the names, and with the defaults, of `tokenizers.pre_tokenizers`."""
# ruff: noqa: N802 -- the library's names and shapes

from collections.abc import Iterable

from bpe_ref import pre_tokenizers as definition
from bpe_ref.errors import ParameterError
from bpe_ref.like_tokenizers.patterns import to_pattern
from bpe_ref.patterns.matches import Regex
from bpe_ref.pre_tokenizers import (
    BertPreTokenizer,
    CharDelimiterSplit,
    FixedLength,
    Metaspace,
    PreTokenizer,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
)

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]

_BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}


def ByteLevel(
    add_prefix_space: bool = True, trim_offsets: bool = True, use_regex: bool = True
) -> definition.ByteLevel:
    """Return the pre-tokenizer of byte letters."""
    return definition.ByteLevel(add_prefix_space, trim_offsets, use_regex)


def Digits(individual_digits: bool = False) -> definition.Digits:
    """Return the pre-tokenizer that cuts out digits."""
    return definition.Digits(individual_digits)


def Punctuation(behavior: str = "isolated") -> definition.Punctuation:
    """Return the pre-tokenizer that cuts at punctuation."""
    return definition.Punctuation(_behavior(behavior))


def Sequence(pretokenizers: Iterable[PreTokenizer]) -> definition.Sequence:
    """Return one pre-tokenizer after the other.

    >>> Sequence([Whitespace(), Digits(individual_digits=True)]).cut_text("a 12")
    ['a', '1', '2']
    """
    return definition.Sequence(tuple(pretokenizers))


def Split(pattern: str | Regex, behavior: str, invert: bool = False) -> definition.Split:
    """Return the pre-tokenizer that cuts at matches."""
    return definition.Split(to_pattern(pattern), _behavior(behavior), invert)


def _behavior(name: object) -> str:
    """Return the file's name of a behavior."""
    if not isinstance(name, str) or name not in _BEHAVIORS:
        raise ParameterError("behavior", name, f"must be one of {', '.join(_BEHAVIORS)}")
    return _BEHAVIORS[name]
