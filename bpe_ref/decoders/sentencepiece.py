"""SentencePiece's decoding: from pieces back to text.

Definition
    The pieces one after the other, each U+2581 in them a space. A control piece is nothing, the
    unknown piece is the model's unknown surface, and a run of byte pieces is the text that the
    bytes are in UTF-8. If the model puts a space in front of every text, the first one in what is
    decoded is left out; if it removes extra spaces, all of those at the very front are. Last, the
    model's denormalization.

Source: `SentencePieceProcessor::Decode` in src/sentencepiece_processor.cc of google/sentencepiece;
the wheel 0.2.3 as executed.

What the source leaves open, and what it does
    *Bytes that are not UTF-8.* Each byte that starts no whole character becomes one U+FFFD. (Most
    decoders, and `to_bytes` here, give one U+FFFD for each maximal part of a character.)
    *The front* ends with the first text that is not empty, so control pieces may be before it.
    Where extra spaces are removed, a piece of nothing but U+2581 is empty there and the next one is
    still at the front; of each piece one U+2581 is taken, no more.
    *The unknown surface* is not at the front, and is not searched for U+2581.
    *A space put behind the text* (`treat_whitespace_as_suffix`) is kept, and one in front is taken
    away all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bpe_ref.decoders.utf8_stream import Utf8Stream
from bpe_ref.models.sentencepiece import SentencePieceModel
from bpe_ref.normalizers.sentencepiece import SPACE_SYMBOL, normalize
from bpe_ref.vocabulary.byte_alphabet import BYTE_PIECES

_BYTE_OF_PIECE: Final = {piece: byte for byte, piece in enumerate(BYTE_PIECES)}
_REPLACEMENT: Final = "\ufffd"


@dataclass(frozen=True)
class SentencePieceDecoder:
    """Decodes the pieces of a model. `errors`: what becomes of bytes that are not UTF-8.

    >>> from bpe_ref.models.sentencepiece import Piece
    >>> model = SentencePieceModel([Piece("<unk>", kind="unknown"), Piece("▁a")])
    >>> SentencePieceDecoder(model).decode_chain(["▁a", "▁a", "<unk>", "x"])
    ['a a ⁇ x']
    """

    model: SentencePieceModel
    errors: str = "replace"

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return a list of one text. A string that is no piece stands for itself."""
        stream = PieceStream(self)
        return [
            "".join([*(part for token in tokens for part in stream.push(token)), *stream.finish()])
        ]


class PieceStream:
    """Takes pieces one by one and returns the text that is certain; see `chain_stream`.

    >>> from bpe_ref.models.sentencepiece import Piece
    >>> model = SentencePieceModel([Piece("<unk>", kind="unknown"), Piece("▁a")])
    >>> stream = PieceStream(SentencePieceDecoder(model))
    >>> stream.push("▁a"), stream.push("▁a"), stream.finish()
    (['a'], [' a'], [''])
    """

    def __init__(self, decoder: SentencePieceDecoder) -> None:
        """Start with no piece."""
        self._model: Final = decoder.model
        rules = decoder.model.normalization
        self._strips: Final = rules.add_dummy_prefix or rules.remove_extra_whitespaces
        self._bytes: Final = (
            _ByteByByte("replace") if decoder.errors == "replace" else Utf8Stream(decoder.errors)
        )
        self._at_front = True
        self._took_space = False
        self._held: list[str] | None = None if decoder.model.denormalization is None else []

    def push(self, piece: str) -> list[str]:
        return self._out(self._text(piece))

    def finish(self) -> list[str]:
        """Return the rest of the text."""
        text = "".join(self._out(self._bytes.finish()))
        if self._held is None or self._model.denormalization is None:
            return [text]
        return [normalize(self._model.denormalization, "".join(self._held)).text]

    def _out(self, text: str) -> list[str]:
        if self._held is None:
            return [text]
        self._held.append(text)
        return []

    def _text(self, piece: str) -> str:
        entry = self._model.pieces[self._model.id_of(piece)]
        if entry.kind == "byte":
            text = self._bytes.push(bytes([_BYTE_OF_PIECE[piece]]))
            self._at_front = self._at_front and not text
            return text
        before = self._bytes.finish()
        self._at_front = self._at_front and not self._took_space and not before
        if entry.kind == "control":
            return before
        if entry.kind == "unknown":
            text = self._model.unknown_surface if piece == entry.text else piece
        else:
            text = piece
            if self._at_front and self._strips and piece.startswith(SPACE_SYMBOL):
                text = piece[1:]
                self._took_space = not self._model.normalization.remove_extra_whitespaces
            text = text.replace(SPACE_SYMBOL, " ")
        self._at_front = self._at_front and not text
        return before + text


class _ByteByByte(Utf8Stream):
    """U+FFFD for each byte that starts no whole character.

    Why this is the same answer: where the first byte of a part of a character starts none, the
    others, which continue it, do not either.
    """

    def _replaced(self, part: bytes, start: int, reason: str) -> str:
        return _REPLACEMENT * len(part)
