"""Every normalizer by its type name in a `tokenizer.json`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from bpe_ref.normalizers.bert import BertNormalizer
from bpe_ref.normalizers.byte_level import ByteLevel
from bpe_ref.normalizers.forms import NFC, NFD, NFKC, NFKD
from bpe_ref.normalizers.lowercase import Lowercase
from bpe_ref.normalizers.nmt import Nmt
from bpe_ref.normalizers.precompiled import Precompiled
from bpe_ref.normalizers.replacing import Prepend, Replace
from bpe_ref.normalizers.sequence import Sequence
from bpe_ref.normalizers.stripping import Strip, StripAccents

NORMALIZERS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        component.__name__: component
        for component in (
            *(BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled),
            *(Prepend, Replace, Sequence, Strip, StripAccents),
        )
    }
)
"""The classes by the type names of the file format."""
