"""A SentencePiece model of type BPE at work: text to tokens and back.

    text -> normalizing -> merging -> byte pieces for what is unknown -> ids

Source: src/sentencepiece_processor.cc of google/sentencepiece; the wheel 0.2.3 as
executed.

What the source leaves open, and what it does
    *Unknown pieces* next to each other are one token, unless the model has byte
    fallback. Its piece is the text that it stands for, not `<unk>`.
    *Offsets* are those of the library: of byte pieces the last one has the whole
    character, those before it have nothing at its start.
    *Lone surrogates* in a Python string are U+FFFD here; the library refuses them.
    *Where the engine differs.* It adds the id -1 if it is asked for a bos or eos
    that the model does not have. Here that is an error.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bpe_ref.decoders.sentencepiece import decode_pieces
from bpe_ref.errors import ParameterError, TokenIdError
from bpe_ref.given_text import without_surrogates
from bpe_ref.models.sentencepiece import merge_heap
from bpe_ref.normalizers.sentencepiece import Normalized, normalize
from bpe_ref.sentencepiece.model import BYTE_PIECES, SentencePieceModel
from bpe_ref.vocabulary.merges import TokenId


@dataclass(frozen=True, slots=True)
class EncodedPiece:
    """One token of a text."""

    id: TokenId
    piece: str

    start: int
    end: int
    """The half-open range of characters of the text that it stands for."""


@dataclass(frozen=True, eq=False)
class SentencePieceTokenizer:
    """A model, as a tokenizer.

    >>> from bpe_ref.sentencepiece.model import Piece
    >>> pieces = [Piece("<unk>", kind="unknown"), Piece("▁"), Piece("a"), Piece("▁a", -1.0)]
    >>> tokenizer = SentencePieceTokenizer(SentencePieceModel(pieces))
    >>> tokenizer.encode("aa"), tokenizer.encode_pieces("aab c"), tokenizer.decode([3, 2])
    ([3, 2], ['▁a', 'a', 'b', '▁', 'c'], 'aa')
    """

    model: SentencePieceModel
    name: str | None = None

    def __repr__(self) -> str:
        """Name the model and its size."""
        name = self.name or "unnamed"
        return f"<SentencePieceTokenizer {name}, {len(self.model.pieces)} tokens>"

    # ---- text to tokens

    def encode(self, text: str, *, add_bos: bool = False, add_eos: bool = False) -> list[TokenId]:
        """Return the ids of a text.

        Raises `ParameterError` for what is not text, or where a bos or eos is asked for
        that the model does not have.
        """
        return [entry.id for entry in self._framed(text, add_bos=add_bos, add_eos=add_eos)]

    def encode_pieces(
        self, text: str, *, add_bos: bool = False, add_eos: bool = False
    ) -> list[str]:
        """Return the pieces of a text as strings. Raises what `encode` raises."""
        return [entry.piece for entry in self._framed(text, add_bos=add_bos, add_eos=add_eos)]

    def encode_with_offsets(self, text: str) -> list[EncodedPiece]:
        """Return the tokens of a text with their places in it. Raises what `encode` raises.

        The places are in the text with surrogate pairs joined.
        """
        return list(self._tokens(text))

    def count(self, text: str) -> int:
        """Return the number of tokens of a text. Raises what `encode` raises."""
        return len(self.encode(text))

    def normalize(self, text: str) -> str:
        """Return the normalized text, which the pieces spell. Raises `ParameterError`."""
        return self._normalized(text).text

    # ---- tokens to text

    def decode(self, ids: Iterable[TokenId]) -> str:
        """Return the text of ids. Raises `TokenIdError` for what is not an id of the model."""
        return decode_pieces(self.model, [self.id_to_piece(token) for token in _in_order(ids)])

    def decode_pieces(self, pieces: Sequence[str]) -> str:
        """Return the text of pieces, by their strings; one that is no piece stands for itself."""
        if not isinstance(pieces, list | tuple) or not all(
            isinstance(piece, str) for piece in pieces
        ):
            raise ParameterError("pieces", pieces, "must be a list or tuple of texts")
        return decode_pieces(self.model, pieces)

    # ---- single tokens

    def id_to_piece(self, token: TokenId) -> str:
        """Return the string of a piece. Raises `TokenIdError`."""
        if type(token) is not int or not 0 <= token < len(self.model.pieces):
            raise TokenIdError(
                f"token id must be from 0 to {len(self.model.pieces) - 1}, got {token!r}"
            )
        return self.model.pieces[token].text

    def piece_to_id(self, piece: str) -> TokenId:
        """Return the id of a piece; that of the unknown piece for any other string."""
        if not isinstance(piece, str):
            raise ParameterError("piece", piece, "must be a str")
        return self.model.id_of(piece)

    @property
    def unknown_id(self) -> TokenId:
        """The id of the unknown piece."""
        return self.model.unknown_id

    @property
    def bos_id(self) -> TokenId | None:
        """The id of the piece that begins a text, or None if the model has none."""
        return self.model.control_id(self.model.special.bos)

    @property
    def eos_id(self) -> TokenId | None:
        """The id of the piece that ends a text, or None if the model has none."""
        return self.model.control_id(self.model.special.eos)

    @property
    def pad_id(self) -> TokenId | None:
        """The id of the piece that fills up, or None if the model has none."""
        return self.model.control_id(self.model.special.pad)

    @property
    def stop_ids(self) -> tuple[TokenId, ...]:
        """The ids at which generation ends, as far as the model file says: its eos, or none."""
        return () if self.eos_id is None else (self.eos_id,)

    # ---- parts

    def _normalized(self, text: str) -> Normalized:
        return normalize(self.model.normalization, without_surrogates(text), self.model)

    def _tokens(self, text: str) -> Iterator[EncodedPiece]:
        """Yield the tokens of a text."""
        model = self.model
        normalized = self._normalized(text)
        place = 0
        waiting: EncodedPiece | None = None  # an unknown token that may still grow
        for symbol in merge_heap(model, normalized.text):
            token = model.id_of_symbol(symbol)
            start, end = normalized.origins[place], normalized.origins[place + len(symbol)]
            place += len(symbol)
            if token == model.unknown_id and not model.byte_fallback:
                so_far = EncodedPiece(token, "", start, end) if waiting is None else waiting
                waiting = EncodedPiece(token, so_far.piece + symbol, so_far.start, end)
                continue
            if waiting is not None:
                yield waiting
                waiting = None
            if token == model.unknown_id:
                yield from self._byte_tokens(symbol, start, end)
            else:
                yield EncodedPiece(token, symbol, start, end)
        if waiting is not None:
            yield waiting

    def _byte_tokens(self, symbol: str, start: int, end: int) -> Iterator[EncodedPiece]:
        """Yield the tokens of the bytes of a symbol; the last one has its place in the text."""
        data = symbol.encode()
        for at, byte in enumerate(data):
            piece = BYTE_PIECES[byte]
            last = at == len(data) - 1
            yield EncodedPiece(self.model.id_of(piece), piece, start, end if last else start)

    def _framed(self, text: str, *, add_bos: bool, add_eos: bool) -> Iterator[EncodedPiece]:
        """Yield the tokens of a text, with a bos and an eos if asked for."""
        if add_bos:
            yield self._control("add_bos", self.bos_id)
        yield from self._tokens(text)
        if add_eos:
            yield self._control("add_eos", self.eos_id)

    def _control(self, name: str, token: TokenId | None) -> EncodedPiece:
        """Return a control token; raise `ParameterError` if the model does not have it."""
        if token is None:
            raise ParameterError(name, value=True, requirement="must be False for this model")
        return EncodedPiece(token, self.model.pieces[token].text, 0, 0)


def _in_order(ids: Iterable[TokenId]) -> Iterable[TokenId]:
    """Return the ids; raise `ParameterError` for what is not a row of ids."""
    if isinstance(ids, str | bytes | dict | set | frozenset) or not isinstance(ids, Iterable):
        raise ParameterError("ids", ids, "must be a sequence of token ids")
    return ids
