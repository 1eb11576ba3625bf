"""SentencePiece's decoding: from pieces back to text.

Definition
    The pieces one after the other, each U+2581 in them a space. A control piece
    is nothing, the unknown piece is the model's unknown surface, and a run of
    byte pieces is the text that the bytes are in UTF-8. If the model puts a
    space in front of every text, the first one in what is decoded is left
    out; if it removes extra spaces, all of those at the very front are. Last,
    the model's denormalization.

Source: `SentencePieceProcessor::Decode` in src/sentencepiece_processor.cc of
google/sentencepiece; the wheel 0.2.3 as executed.

What the source leaves open, and what it does
    *Bytes that are not UTF-8.* Each byte that starts no whole character becomes
    one U+FFFD. (Most decoders, and `decoding` here, give one U+FFFD for each
    maximal part of a character.)
    *The front* ends with the first text that is not empty, so control pieces
    may stand before it. Where extra spaces are removed, a piece of nothing but
    U+2581 is empty there and the next one is still at the front; of each piece
    one U+2581 is taken, no more.
    *The unknown surface* is not at the front, and is not searched for U+2581.
    *A space put behind the text* (`treat_whitespace_as_suffix`) is kept, and one
    in front is taken away all the same.
"""

from collections.abc import Sequence

from bpe_ref.normalizers.sentencepiece import normalize
from bpe_ref.sentencepiece.model import BYTE_PIECES, SPACE_SYMBOL, SentencePieceModel

_BYTE_OF_PIECE = {piece: byte for byte, piece in enumerate(BYTE_PIECES)}
_LONGEST_CHARACTER = 4
_REPLACEMENT = "\ufffd"


def decode_pieces(model: SentencePieceModel, pieces: Sequence[str]) -> str:
    """Return the text of pieces, by their strings. One that is no piece stands for itself.

    >>> from bpe_ref.sentencepiece.model import Piece
    >>> model = SentencePieceModel([Piece("<unk>", kind="unknown"), Piece("▁a")])
    >>> decode_pieces(model, ["▁a", "▁a", "<unk>", "x"])
    'a a ⁇ x'
    """
    rules = model.normalization
    strips = rules.add_dummy_prefix or rules.remove_extra_whitespaces
    parts: list[str] = []
    pending = bytearray()  # byte pieces not decoded yet
    at_front, took_space = True, False
    for piece in pieces:
        entry = model.pieces[model.id_of(piece)]
        if entry.kind == "byte":
            pending.append(_BYTE_OF_PIECE[piece])
            continue
        parts.append(decode_byte_pieces(bytes(pending)))
        pending.clear()
        at_front = at_front and not took_space and not any(parts)
        if entry.kind == "control":
            continue
        if entry.kind == "unknown":
            parts.append(model.unknown_surface if piece == entry.text else piece)
            continue
        text = piece
        if at_front and strips and piece.startswith(SPACE_SYMBOL):
            text = piece[1:]
            took_space = not rules.remove_extra_whitespaces
        parts.append(text.replace(SPACE_SYMBOL, " "))
    parts.append(decode_byte_pieces(bytes(pending)))
    decoded = "".join(parts)
    if model.denormalization is not None:
        return normalize(model.denormalization, decoded).text
    return decoded


def decode_byte_pieces(data: bytes) -> str:
    r"""Return the text of a run of byte pieces: one U+FFFD for each byte of no whole character.

    >>> decode_byte_pieces(b"a\xc3\xa9\xe2\x82"), b"\xe2\x82".decode(errors="replace")
    ('aé\ufffd\ufffd', '\ufffd')
    """
    characters: list[str] = []
    start = 0
    while start < len(data):
        for length in range(1, _LONGEST_CHARACTER + 1):
            try:
                characters.append(data[start : start + length].decode())
            except UnicodeDecodeError:
                continue
            start += length
            break
        else:
            characters.append(_REPLACEMENT)
            start += 1
    return "".join(characters)
