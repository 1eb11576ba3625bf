"""The whole way from text to tokens and back.

    text -> special tokens cut out -> normalized -> pieces -> tokens

and back by concatenation. The default of `encode` is the engine's own: text
that spells a special token is an error, as in tiktoken.

Where engines differ
    *Lone surrogates*, which Python strings can hold and UTF-8 cannot: a pair of
    them becomes the character it stands for, a lone one U+FFFD, as in tiktoken.
    *Bytes that are not UTF-8* (`encode_bytes`): as in tiktoken's `_encode_bytes`.
    *Text that the pattern does not match* is dropped, as in tiktoken.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bpe_ref.added_tokens.special_tokens import SpecialChoice, choose, refuse_special, split_special
from bpe_ref.decoders.offsets import decode_each, decode_with_offsets
from bpe_ref.decoders.to_bytes import bytes_to_text, decode_bytes, in_order
from bpe_ref.encoders.backtracking import encode_backtracking
from bpe_ref.encoders.scan import encode_scan
from bpe_ref.errors import ParameterError, TokenIdError
from bpe_ref.given_text import without_surrogates
from bpe_ref.models.piece_cache import PieceCache
from bpe_ref.normalizers.nfc import nfc
from bpe_ref.patterns.pretokenizer import Pretokenizer
from bpe_ref.streaming import StreamDecoder
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.byte_alphabet import to_letters
from bpe_ref.vocabulary.heap import encode_heap
from bpe_ref.vocabulary.merges import TokenId

# Measured on cl100k_base: below the first length `scan` is the fastest encoder; above the
# second one the tables that `backtracking` needs (half a second) have paid for themselves.
_SCAN_BELOW: Final = 100
_BACKTRACK_FROM: Final = 100_000


def encode_quickly(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Encode with whichever encoder is fastest for that many symbols.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> encode_quickly(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), [0, 0, 0])
    [1, 0]
    """
    if len(symbols) < _SCAN_BELOW:
        return encode_scan(vocabulary, symbols)
    if len(symbols) < _BACKTRACK_FROM:
        return encode_heap(vocabulary, symbols)
    return encode_backtracking(vocabulary, symbols)


def whole_piece(vocabulary: Vocabulary, piece: bytes) -> TokenId | None:
    """Return the token that the piece is, if it is one and the vocabulary takes it whole.

    >>> from bpe_ref import TextRules, vocabulary_by_concatenation
    >>> ranks, rules = {b"a": 0, b"b": 1, b"abb": 2}, TextRules(whole_piece=True)
    >>> whole_piece(vocabulary_by_concatenation(ranks, text=rules), b"abb")
    2
    >>> whole_piece(vocabulary_by_concatenation(ranks), b"abb") is None
    True
    """
    return vocabulary.ids.get(piece.decode("latin-1")) if vocabulary.text.whole_piece else None


def normalizer(vocabulary: Vocabulary) -> Callable[[str], str]:
    """Return what is done to text before it is cut into pieces.

    Raises `ParameterError` for a normalization that nobody knows.

    >>> from bpe_ref import TextRules, vocabulary_by_concatenation
    >>> rules = TextRules(normalization="nfc")
    >>> len(normalizer(vocabulary_by_concatenation({b"a": 0}, text=rules))("e\u0301"))
    1
    """
    if vocabulary.text.normalization is None:
        return str
    if vocabulary.text.normalization == "nfc":
        return nfc
    raise ParameterError("normalization", vocabulary.text.normalization, 'must be "nfc" or None')


def cutter(vocabulary: Vocabulary) -> Callable[[str], list[str]]:
    """Return what cuts normalized text into pieces. Raises `PatternError`.

    >>> from bpe_ref import TextRules, vocabulary_by_concatenation
    >>> cutter(vocabulary_by_concatenation({b"a": 0}, text=TextRules("a|b")))("abc")
    ['a', 'b']
    """
    text = vocabulary.text
    if text.pattern is None:
        return lambda stretch: [stretch] if stretch else []
    return Pretokenizer(text.pattern, text.tables).pieces


@dataclass(frozen=True)
class Steps:
    """The functions that a tokenizer is put together from.

    They are listed so that one can be replaced: by a step of one's own, or by
    a wrong one, to see whether a test notices.

    >>> Steps().decode_bytes is decode_bytes
    True
    """

    refuse_special: Callable[[str, frozenset[str]], None] = refuse_special
    split_special: Callable[[str, frozenset[str]], Iterator[tuple[str, str | None]]] = split_special
    normalizer: Callable[[Vocabulary], Callable[[str], str]] = normalizer
    cutter: Callable[[Vocabulary], Callable[[str], list[str]]] = cutter
    whole_piece: Callable[[Vocabulary, bytes], TokenId | None] = whole_piece
    symbols: Callable[[Vocabulary, bytes], list[TokenId]] = Vocabulary.symbols
    encode_symbols: Callable[[Vocabulary, Sequence[TokenId]], list[TokenId]] = encode_quickly
    decode_bytes: Callable[[Vocabulary, Iterable[TokenId]], bytes] = decode_bytes
    bytes_to_text: Callable[[bytes, str], str] = bytes_to_text


class Tokenizer:
    """A vocabulary, ready for text.

    >>> from bpe_ref import TextRules, vocabulary_by_concatenation
    >>> ranks = {b"a": 0, b"b": 1, b"ab": 2, b" ": 3}
    >>> tokenizer = Tokenizer(vocabulary_by_concatenation(ranks, text=TextRules("[ab]+| +")))
    >>> tokenizer.encode("ab ba"), tokenizer.decode([2, 3, 1, 0]), tokenizer.pieces("ab ba")
    ([2, 3, 1, 0], 'ab ba', ['ab', ' ', 'ba'])
    """

    def __init__(
        self, vocabulary: Vocabulary, *, name: str | None = None, steps: Steps | None = None
    ) -> None:
        """Take the vocabulary, its name if it has one, and the steps if not the usual ones."""
        self.vocabulary: Final = vocabulary
        self.name: Final = name
        self._steps: Final = steps or Steps()
        self._normalize: Final = self._steps.normalizer(vocabulary)
        self._cut: Final = self._steps.cutter(vocabulary)
        self._cache: Final = PieceCache(self._encode_text_piece)

    def __repr__(self) -> str:
        """Name the vocabulary and its size."""
        return f"<Tokenizer {self.name or 'unnamed'}, {len(self.vocabulary.tokens)} tokens>"

    # ---- text to tokens

    def encode(
        self,
        text: str,
        *,
        allowed_special: SpecialChoice = (),
        disallowed_special: SpecialChoice = "all",
    ) -> list[TokenId]:
        """Return the tokens of a text that may hold special tokens.

        Raises `SpecialTokenError` where the text spells a disallowed special
        token, and `SymbolError` for a byte that the vocabulary lacks.
        """
        specials = self.vocabulary.special_tokens
        allowed, disallowed = choose(specials, allowed_special, disallowed_special)
        text = without_surrogates(text)
        self._steps.refuse_special(text, disallowed)
        tokens: list[TokenId] = []
        for stretch, special in self._steps.split_special(text, allowed.intersection(specials)):
            tokens += self._cache.encode(self._pieces(stretch))
            if special is not None:
                tokens.append(specials[special])
        return tokens

    def encode_ordinary(self, text: str) -> list[TokenId]:
        """Return the tokens of a text in which nothing is special.

        Raises `SymbolError` for a byte that the vocabulary lacks.
        """
        return self._cache.encode(self.pieces(text))

    def encode_bytes(self, data: bytes) -> list[TokenId]:
        r"""Return the tokens of bytes that need not be UTF-8.

        Up to the first byte that is not UTF-8 they are encoded as text. From
        the start of that text's last piece on (going back over tokens that are
        white space only, whose borders the next character might have moved),
        everything is one piece.

        Raises `SymbolError` for a byte that the vocabulary lacks.

        >>> from bpe_ref import TextRules, vocabulary_by_concatenation
        >>> vocabulary = vocabulary_by_concatenation(
        ...     {b"a": 0, b" ": 1, b"\xff": 2, b"a\xff": 3}, text=TextRules(r"\w+|\s+")
        ... )
        >>> Tokenizer(vocabulary).encode_bytes(b"a a\xff")
        [0, 1, 3]
        """
        data = _as_bytes("data", data)
        try:
            return self.encode_ordinary(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            valid, rest = data[: error.start].decode("utf-8"), data[error.start :]
        encoded = [self._cache[piece] for piece in self.pieces(valid)]
        stable = [token for tokens in encoded[:-1] for token in tokens]
        unstable = encoded[-1] if encoded else []
        if unstable and self._is_blank(unstable[0]):
            while stable and self._is_blank(stable[-1]):
                unstable = [stable.pop(), *unstable]
        return stable + self.encode_piece(self.decode_bytes(unstable) + rest)

    def encode_piece(self, piece: bytes) -> list[TokenId]:
        """Return the tokens of bytes that are one piece, whatever the pattern says.

        Raises `SymbolError` for a byte that the vocabulary lacks.
        """
        piece = _as_bytes("piece", piece)
        token = self._steps.whole_piece(self.vocabulary, piece)
        if token is not None:
            return [token]
        symbols = self._steps.symbols(self.vocabulary, piece)
        return self._steps.encode_symbols(self.vocabulary, symbols)

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        allowed_special: SpecialChoice = (),
        disallowed_special: SpecialChoice = "all",
    ) -> list[list[TokenId]]:
        """Return the tokens of each text, as `encode` does."""
        return [
            self.encode(
                text, allowed_special=allowed_special, disallowed_special=disallowed_special
            )
            for text in _as_batch(texts)
        ]

    def encode_ordinary_batch(self, texts: Iterable[str]) -> list[list[TokenId]]:
        """Return the tokens of each text, as `encode_ordinary` does."""
        return [self.encode_ordinary(text) for text in _as_batch(texts)]

    def count(self, text: str) -> int:
        """Return the number of tokens of a text in which nothing is special."""
        return len(self.encode_ordinary(text))

    def pieces(self, text: str) -> list[str]:
        """Return the pieces of a text in which nothing is special; merges never cross them."""
        return self._pieces(without_surrogates(text))

    # ---- tokens to text

    def decode(
        self,
        ids: Iterable[TokenId],
        *,
        skip_special_tokens: bool = False,
        errors: str = "replace",
    ) -> str:
        """Return the text of the tokens; see `decoding` for `errors`.

        Raises `TokenIdError` for what is not an id of this vocabulary, and
        `DecodingError` if `errors` is "strict" and the bytes are not UTF-8.
        """
        if skip_special_tokens:
            special = self.vocabulary.special_bytes
            ids = [token for token in in_order(ids) if not _is_one_of(token, special)]
        return self._steps.bytes_to_text(self.decode_bytes(ids), errors)

    def decode_bytes(self, ids: Iterable[TokenId]) -> bytes:
        """Return the bytes of the tokens. Raises `TokenIdError`."""
        return self._steps.decode_bytes(self.vocabulary, ids)

    def decode_tokens_bytes(self, ids: Iterable[TokenId]) -> list[bytes]:
        """Return the bytes of each token. Raises `TokenIdError`."""
        return decode_each(self.vocabulary, ids)

    def decode_with_offsets(self, ids: Iterable[TokenId]) -> tuple[str, list[int]]:
        """Return the text, and for each token the character it starts in; see `offsets`.

        Raises `TokenIdError`, and `DecodingError` if the bytes are not UTF-8.
        """
        return decode_with_offsets(self.vocabulary, ids)

    def token_strings(self, ids: Iterable[TokenId]) -> list[str]:
        """Return each token as visible letters; see `byte_alphabet`. Raises `TokenIdError`.

        A special token is its text.

        >>> from bpe_ref import vocabulary_by_concatenation
        >>> Tokenizer(vocabulary_by_concatenation({b" a": 0, b"b": 1})).token_strings([0, 1])
        ['Ġa', 'b']
        """
        special = self.vocabulary.special_bytes
        row = list(in_order(ids))
        return [
            content.decode() if _is_one_of(token, special) else to_letters(content)
            for token, content in zip(row, decode_each(self.vocabulary, row), strict=True)
        ]

    def stream_decoder(
        self, *, skip_special_tokens: bool = False, errors: str = "replace"
    ) -> StreamDecoder:
        """Return a decoder that takes one token at a time; see `streaming`.

        Raises `ParameterError` for an `errors` that a stream does not know.
        """
        return StreamDecoder(
            self.vocabulary, skip_special_tokens=skip_special_tokens, errors=errors
        )

    def decode_batch(
        self, batch: Iterable[Sequence[TokenId]], *, errors: str = "replace"
    ) -> list[str]:
        """Return the text of each sequence of tokens, as `decode` does."""
        return [self.decode(ids, errors=errors) for ids in batch]

    # ---- single tokens

    def token_id(self, token: str | bytes) -> TokenId:
        """Return the id of a token, special or not, by its text or bytes.

        Raises `TokenIdError` if there is no such token.
        """
        content = (
            token.encode("utf-8", "surrogatepass")
            if isinstance(token, str)
            else _as_bytes("token", token)
        )
        found = self.vocabulary.ids.get(content.decode("latin-1"))
        if found is None:
            try:
                found = self.vocabulary.special_tokens.get(content.decode("utf-8"))
            except UnicodeDecodeError:
                found = None
        if found is None:
            raise TokenIdError(f"token must be one of this vocabulary's, got {token!r}")
        return found

    def token_bytes(self, token: TokenId) -> bytes:
        """Return the bytes of a token, special or not, by its id. Raises `TokenIdError`."""
        return self.vocabulary.token_bytes(token)

    # ---- parts

    def _pieces(self, text: str) -> list[str]:
        return self._cut(self._normalize(text))

    def _encode_text_piece(self, piece: str) -> list[TokenId]:
        return self.encode_piece(piece.encode())

    def _is_blank(self, token: TokenId) -> bool:
        return not self.vocabulary.tokens[token].strip(b" \n\t")


def _is_one_of(token: TokenId, special: Mapping[TokenId, bytes]) -> bool:
    """Return whether an id, if it is one at all, is that of a special token."""
    return isinstance(token, Hashable) and not isinstance(token, bool) and token in special


def _as_bytes(name: str, data: bytes | bytearray | memoryview) -> bytes:
    """Return bytes as bytes; raise `ParameterError` for what is not bytes-like."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise ParameterError(name, data, "must be bytes")


def _as_batch(texts: Iterable[str]) -> Iterable[str]:
    """Return the texts; raise `ParameterError` for a single text by mistake."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise ParameterError("texts", texts, "must be an iterable of texts")
    return texts
