"""The pre-tokenizers under the names, and with the defaults, of `tokenizers.pre_tokenizers`."""
# ruff: noqa: N802 -- the library's names and shapes

from collections.abc import Iterable

from bpe_ref.components import PreTokenizer
from bpe_ref.like_tokenizers.inputs import to_pattern
from bpe_ref.parameters import check_choice
from bpe_ref.patterns.matches import Regex
from bpe_ref.pre_tokenizers import character_classes, sequence, split_by_pattern
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.character_classes import (
    BertPreTokenizer,
    Digits,
    Whitespace,
    WhitespaceSplit,
)
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.split_by_pattern import CharDelimiterSplit, FixedLength
from bpe_ref.pre_tokenizers.unicode_scripts import UnicodeScripts

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


def Punctuation(behavior: str = "isolated") -> character_classes.Punctuation:
    """Return the pre-tokenizer that cuts at punctuation."""
    return character_classes.Punctuation(_behavior(behavior))


def Sequence(pretokenizers: Iterable[PreTokenizer]) -> sequence.Sequence:
    """Return one pre-tokenizer after the other.

    >>> Sequence([Whitespace(), Digits(individual_digits=True)]).cut_text("a 12")
    ['a', '1', '2']
    """
    return sequence.Sequence(tuple(pretokenizers))


def Split(pattern: str | Regex, behavior: str, invert: bool = False) -> split_by_pattern.Split:
    """Return the pre-tokenizer that cuts at matches."""
    return split_by_pattern.Split(to_pattern(pattern), _behavior(behavior), invert)


def _behavior(name: str) -> str:
    """Return the file's name of a behavior."""
    check_choice("behavior", name, tuple(_BEHAVIORS))
    return _BEHAVIORS[name]
