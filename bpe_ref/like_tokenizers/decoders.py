"""The decoders under the names, and with the defaults, of `tokenizers.decoders`."""
# ruff: noqa: N802 -- the library's names and shapes

from collections.abc import Iterable

from bpe_ref import decoders as definition
from bpe_ref.components import Decoder
from bpe_ref.like_tokenizers.decode_stream import DecodeStream
from bpe_ref.like_tokenizers.inputs import to_pattern
from bpe_ref.patterns.matches import Regex

__all__ = [
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]

BPEDecoder = definition.BPEDecoder
ByteFallback = definition.ByteFallback
ByteLevel = definition.ByteLevel
Fuse = definition.Fuse
Metaspace = definition.Metaspace
WordPiece = definition.WordPiece


def Strip(content: str = " ", left: int = 0, right: int = 0) -> definition.Strip:
    """Return the decoder that strips a character."""
    return definition.Strip(content, left, right)


def Replace(pattern: str | Regex, content: str) -> definition.Replace:
    """Return the decoder that replaces matches."""
    return definition.Replace(to_pattern(pattern), content)


def Sequence(decoders: Iterable[Decoder]) -> definition.DecoderSequence:
    """Return one decoder after the other.

    >>> Sequence([Replace("_", " "), Fuse()]).decode_chain(["a_", "b"])
    ['a b']
    """
    return definition.DecoderSequence(tuple(decoders))
