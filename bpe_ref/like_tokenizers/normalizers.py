"""The normalizers under the names, and with the defaults, of `tokenizers.normalizers`."""
# ruff: noqa: N802 -- the library's names and shapes

import base64
from collections.abc import Iterable

from bpe_ref.components import Normalizer
from bpe_ref.like_tokenizers.inputs import to_pattern
from bpe_ref.normalizers import precompiled, replacing, sequence, stripping
from bpe_ref.normalizers.bert import BertNormalizer
from bpe_ref.normalizers.normalization_forms import NFC, NFD, NFKC, NFKD
from bpe_ref.normalizers.rewriting import ByteLevel, Lowercase, Nmt
from bpe_ref.normalizers.stripping import StripAccents
from bpe_ref.patterns.matches import Regex

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
]


def Precompiled(precompiled_charsmap: bytes) -> precompiled.Precompiled:
    """Return the normalizer of a table of SentencePiece's; a file holds it in base 64."""
    return precompiled.Precompiled(base64.b64encode(precompiled_charsmap).decode())


def Prepend(prepend: str) -> replacing.Prepend:
    """Return the normalizer that puts something before a text."""
    return replacing.Prepend(prepend)


def Replace(pattern: str | Regex, content: str) -> replacing.Replace:
    """Return the normalizer that replaces matches."""
    return replacing.Replace(to_pattern(pattern), content)


def Sequence(normalizers: Iterable[Normalizer]) -> sequence.Sequence:
    """Return one normalizer after the other.

    >>> Sequence([Strip(), Lowercase()]).normalize_text(" A")
    'a'
    """
    return sequence.Sequence(tuple(normalizers))


def Strip(left: bool = True, right: bool = True) -> stripping.Strip:
    """Return the normalizer that strips white space."""
    return stripping.Strip(left, right)
