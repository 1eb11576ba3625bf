"""sentencepiece as an engine: https://github.com/google/sentencepiece.

What it can express
    It merges characters, by concatenation, in the order of scores. So a vocabulary by concatenation
    without a pattern becomes a model of type BPE without normalization if its longer tokens are
    ASCII. With a token for each byte, other characters become the tokens of their bytes (byte
    fallback). Special tokens are user-defined pieces, which are always found, so the model for each
    selection of allowed tokens contains only these. Ids are translated.

What it answers
    `encode`, and `decode` for text, in which bytes that are not UTF-8 are replaced.

What it refuses
    Characters without a token become the unknown piece, which counts as a refusal. An unknown id
    is an `IndexError`.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from bpe_ref import Vocabulary
from bpe_ref.auditing import audit
from bpe_ref.vocabulary.byte_alphabet import BYTE_PIECES
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.json_files import Found, JsonEngine, VocabularySession

_BPE: Final = 2
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6


class SentencepieceEngine:
    """sentencepiece with any vocabulary that it can express.

    >>> from bpe_ref import vocabulary_by_pair
    >>> SentencepieceEngine("0.2.3").load(vocabulary_by_pair({b"a": 0}, []), "pairs")
    Unsupported(reason='only merges by concatenation')
    """

    name = "sentencepiece"

    def __init__(self, version: str) -> None:
        self.version = version

    def load(self, vocabulary: Vocabulary, name: str) -> "SentencepieceSession | Unsupported":
        words, rule = vocabulary.tokens.values(), vocabulary.rule
        if not isinstance(rule, ByConcatenation):
            return Unsupported("only merges by concatenation")
        if vocabulary.text.pattern is not None:
            return Unsupported("has no patterns")
        if audit(vocabulary).whole_tokens:
            return Unsupported("merges a piece that is a token, which matters for dead tokens")
        if not all(word.isascii() for word in words if len(word) > 1):
            return Unsupported("merges characters, not bytes")
        has_bytes = not b"".join(words).isascii()
        if has_bytes and sum(len(word) == 1 for word in words) < len(BYTE_PIECES):
            return Unsupported("has tokens for all bytes, or for none")
        return SentencepieceSession(_Models(self.version), vocabulary, rule.ranks, has_bytes)


class _Models(JsonEngine):
    """sentencepiece with model files."""

    name = "sentencepiece"
    refusals = MappingProxyType({"OUT_OF_RANGE": "UNKNOWN_ID"})

    def open(self, content: bytes) -> Any:
        from sentencepiece import SentencePieceProcessor

        return SentencePieceProcessor(model_proto=content)

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        return tokenizer.encode(text)

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        return tokenizer.decode(ids)


@dataclass(frozen=True, eq=False)
class SentencepieceSession(VocabularySession):
    """sentencepiece with a vocabulary loaded."""

    ranks: Mapping[int, int]
    has_bytes: bool

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request, with the ids of the vocabulary."""
        if op == "decode":
            own = {token: place for place, token in reversed([*enumerate(self._ids)])}
            size = len(self._ids) + len(BYTE_PIECES)
            moved = [own.get(token, token + size * (0 <= token < size)) for token in request["ids"]]
            return super().answer(op, {**request, "ids": moved})
        found = super().answer("encode" if op == "count" else op, request)
        if not isinstance(found, Ok):
            return found
        made = found.out["ids"]
        if max(made, default=0) >= len(self._ids):
            return Refused("MISSING_BYTE", "the unknown piece")
        return Ok(
            {"count": len(made)} if op == "count" else {"ids": [*map(self._ids.__getitem__, made)]}
        )

    @cached_property
    def _ids(self) -> list[int]:
        """The ids of the vocabulary by place in the model."""
        specials = self.vocabulary.special_tokens.values()
        return [*sorted(self.ranks, key=self.ranks.__getitem__), *specials]

    def _build(self, allowed: frozenset[str]) -> Any:
        tokens = self.vocabulary.tokens
        words = [tokens[token] for token in self._ids[: len(tokens)]]
        pieces = [
            (BYTE_PIECES[word[0]], _BYTE) if self._is_byte(word) else (word.decode(), _NORMAL)
            for word in words
        ]
        pieces += (
            (content, _USER_DEFINED if content in allowed else _CONTROL)
            for content in self.vocabulary.special_tokens
        )
        others = range(1, 128) if self.has_bytes else ()
        pieces += ((BYTE_PIECES[byte], _BYTE) for byte in others)
        pieces.append(("<unk>", _UNKNOWN))
        listed = (
            _message({1: piece.encode(), 2: float(-place), 3: kind})
            for place, (piece, kind) in enumerate(pieces)
        )
        model = b"".join(_message({1: piece}) for piece in listed)
        trainer = _message({3: _BPE, 35: int(self.has_bytes)})
        no_normalization = _message({3: 0, 4: 0, 5: 0})
        return self.engine.opened(model + _message({2: trainer, 3: no_normalization}))

    def _is_byte(self, word: bytes) -> bool:
        """Return whether a word is a byte piece: no other piece may contain NUL."""
        return not word.isascii() or (self.has_bytes and word == b"\0")


def _message(fields: Mapping[int, int | float | bytes]) -> bytes:
    r"""Return a message of Protocol Buffers.

    >>> _message({1: b"ab", 35: 1})
    b'\n\x02ab\x98\x02\x01'
    """
    written = b""
    for number, value in fields.items():
        if isinstance(value, bytes):
            written += _varint(number << 3 | 2) + _varint(len(value)) + value
        elif isinstance(value, float):
            written += _varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            written += _varint(number << 3) + _varint(value)
    return written


def _varint(value: int) -> bytes:
    more = value >> 7
    return bytes([value & 127 | 128]) + _varint(more) if more else bytes([value])
