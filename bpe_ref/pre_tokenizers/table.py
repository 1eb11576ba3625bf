"""Every pre-tokenizer by its type name in a `tokenizer.json`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.char_delimiter_split import CharDelimiterSplit
from bpe_ref.pre_tokenizers.digits import Digits
from bpe_ref.pre_tokenizers.fixed_length import FixedLength
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.punctuation import BertPreTokenizer, Punctuation
from bpe_ref.pre_tokenizers.sequence import Sequence
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.pre_tokenizers.unicode_scripts import UnicodeScripts
from bpe_ref.pre_tokenizers.whitespace import Whitespace, WhitespaceSplit

PRE_TOKENIZERS: Final[Mapping[str, type]] = MappingProxyType(
    {
        component.__name__: component
        for component in (
            *(BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace),
            *(Punctuation, Sequence, Split, UnicodeScripts, Whitespace, WhitespaceSplit),
        )
    }
)
"""The class of each type name of the format, which is the class's own."""
