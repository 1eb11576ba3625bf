"""Byte-pair encoding over bytes: a piece of text to tokens, by a `Vocabulary`.

Definition
    A piece is its bytes in UTF-8. If it is itself a token and the model takes pieces whole, it
    becomes that token. Otherwise each byte is a symbol, and symbols merge (`encoders.naive`).

Source: openai/tiktoken 0.14.0, `byte_pair_encode` in src/lib.rs.

Token strings are written in the byte alphabet (`vocabulary.byte_alphabet`), as in files of Hugging
Face tokenizers, so that every token can be shown.

What the source leaves open
    *A byte that the vocabulary lacks* is a `SymbolError`.
    *Bytes that are not UTF-8* (`encode_bytes`): as in tiktoken's `_encode_bytes`.

Which encoder
    `encode_quickly` picks the fastest one for the length. All of them return what the naive one
    returns; see `encoders`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, Protocol, TypeAlias

from bpe_ref.components import Draw, Model, Token, WithoutTables
from bpe_ref.encoders.backtracking import encode_backtracking
from bpe_ref.encoders.scan import encode_scan
from bpe_ref.errors import ParameterError
from bpe_ref.models.borders import CharacterBorders
from bpe_ref.models.partwise import parts_of_text
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.byte_alphabet import to_letters
from bpe_ref.vocabulary.compatibility import build_derivations, joints
from bpe_ref.vocabulary.heap import encode_heap
from bpe_ref.vocabulary.merges import ByConcatenation, TokenId

# Measured on cl100k_base: below the first length `scan` is the fastest encoder; above the
# second one the tables that `backtracking` needs (half a second) have paid for themselves.
_SCAN_BELOW: Final = 100
_BACKTRACK_FROM: Final = 100_000

EncodeSymbols: TypeAlias = Callable[[Vocabulary, Sequence[TokenId]], list[TokenId]]


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


@dataclass(frozen=True, eq=False, repr=False)
class ByteBPE(WithoutTables):
    """Merges the bytes of a piece.

    Attributes:
        vocabulary: the tokens and the merge rule. Its text rules are not used here.
        whole_piece: whether a piece that is itself a token becomes that token without any merge.
        encode_symbols: the encoder.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> model = ByteBPE(vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"abb": 3}))
    >>> model.ids("abb"), model.steps("abb"), ByteBPE(model.vocabulary, whole_piece=True).ids("abb")
    ([3], [[0, 1, 1], [2, 1], [3]], [3])

    """

    vocabulary: Vocabulary
    whole_piece: bool = False
    encode_symbols: EncodeSymbols = encode_quickly

    drops_merges = False

    @cached_property
    def vocab(self) -> Mapping[str, TokenId]:
        """From the string of a token to its id."""
        return {string: token for token, string in self.strings.items()}

    @cached_property
    def strings(self) -> Mapping[TokenId, str]:
        """From the id of a token to its string, in the byte alphabet."""
        tokens = self.vocabulary.tokens
        return dict(zip(tokens, map(to_letters, tokens.values()), strict=True))

    @property
    def ranks_of_tokens(self) -> Mapping[TokenId, float]:
        """From each token that merging makes to its rank."""
        rule = self.vocabulary.rule
        if isinstance(rule, ByConcatenation):
            return rule.ranks
        return {merge.result: merge.rank for merge in rule.table.values()}

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the tokens of a piece, and the bytes that each covers."""
        found: list[Token] = []
        start = 0
        for token in self.ids(piece):
            content = self.vocabulary.tokens[token]
            found.append(Token(token, to_letters(content), start, start + len(content)))
            start += len(content)
        return found

    def ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of the tokens of a piece.

        Raises `SymbolError` for a byte that the vocabulary lacks.
        """
        content = piece.encode()
        if self.encode_symbols is not encode_quickly or piece.isascii():
            return self.ids_of_bytes(content)
        token = self.whole_token(content)
        return self._by_characters(piece) if token is None else [token]

    @cached_property
    def _by_characters(self) -> Callable[[str], list[TokenId]]:
        """What merges text part by part, for pieces that are not taken whole."""
        return parts_of_text(
            lambda part: self.encode_symbols(self.vocabulary, self.symbols(part.encode())),
            self.vocabulary.remember(_borders),
        )

    def ids_of_bytes(self, piece: bytes) -> list[TokenId]:
        """Return the ids of bytes that are one piece, whatever a pattern would do with them.

        Raises `SymbolError` for a byte that the vocabulary lacks.
        """
        token = self.whole_token(piece)
        return (
            self.encode_symbols(self.vocabulary, self.symbols(piece)) if token is None else [token]
        )

    def whole_token(self, piece: bytes) -> TokenId | None:
        """Return the token that the piece becomes without any merge, or None."""
        return self.vocabulary.ids.get(piece.decode("latin-1")) if self.whole_piece else None

    def symbols(self, piece: bytes) -> list[TokenId]:
        """Return the symbols of a piece. Raises `SymbolError`."""
        return self.vocabulary.symbols(piece)

    def steps(self, piece: str) -> list[list[TokenId]]:
        """Return the ids of a piece after each merge of the definition."""
        token = self.whole_token(piece.encode())
        if token is not None:
            return [[token]]
        from bpe_ref.tracing import trace

        symbols = self.symbols(piece.encode())
        return [symbols, *(list(step.tokens) for step in trace(self.vocabulary, symbols))]

    def is_border(self, left: str, right: str) -> bool:
        """Return whether no merge ever crosses the place between two characters of a piece.

        No token has their bytes side by side. If pieces that are tokens are taken whole, cutting
        must not leave such a token alone either, unless merging makes it.

        >>> from bpe_ref import vocabulary_by_concatenation
        >>> model = ByteBPE(vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2}))
        >>> model.is_border("a", "b"), model.is_border("b", "a")
        (False, True)
        """
        seam = left.encode()[-1:] + right.encode()[:1]
        if seam.decode("latin-1") in self.vocabulary.remember(joints):
            return False
        return not self.whole_piece or not any(
            seam[:1] == token[-1:] or seam[1:] == token[:1] or seam in token
            for token in self.vocabulary.remember(_unmade)
        )


class CutsText(Protocol):
    """A tokenizer, as far as bytes that are not UTF-8 need it."""

    @property
    def model(self) -> Model:
        """What turns pieces into tokens."""

    def pieces(self, text: str, *, special: Literal["ordinary"]) -> list[str]:
        """Return the pieces of a text."""


def encode_bytes(tokenizer: CutsText, data: bytes | bytearray | memoryview) -> list[TokenId]:
    r"""Return the tokens of bytes that need not be UTF-8; special tokens are ordinary text.

    Up to the first byte that is not UTF-8 they are encoded as text. From
    the start of that text's last piece on (going back over tokens that are
    white space only, whose borders the next character might have moved),
    everything is one piece.

    Raises `SymbolError` for a byte that the vocabulary lacks, and `ParameterError` if the model
    does not merge bytes.

    >>> from bpe_ref import TextRules, tokenizer_of, vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation(
    ...     {b"a": 0, b" ": 1, b"\xff": 2, b"a\xff": 3}, text=TextRules(r"\w+|\s+")
    ... )
    >>> encode_bytes(tokenizer_of(vocabulary), b"a a\xff")
    [0, 1, 3]
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ParameterError("data", data, "must be bytes")
    data, model = bytes(data), tokenizer.model
    if not isinstance(model, ByteBPE):
        raise ParameterError("tokenizer", tokenizer, "must merge the bytes of a vocabulary")

    def cut(text: str) -> list[str]:
        return tokenizer.pieces(text, special="ordinary")

    try:
        pieces = cut(data.decode("utf-8"))
    except UnicodeDecodeError:
        whole = pieces_of_bytes(model, cut, data)
        return [token for piece in whole for token in model.ids_of_bytes(piece)]
    return [token for piece in pieces for token in model.ids(piece)]


def pieces_of_bytes(model: ByteBPE, cut: Callable[[str], list[str]], data: bytes) -> list[bytes]:
    r"""Return the pieces of bytes that need not be UTF-8, as `encode_bytes` describes.

    Where they are not, all pieces but the last are single tokens: the bytes of a token are a piece
    that becomes that token.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> model = ByteBPE(vocabulary_by_concatenation({b"a": 0, b" ": 1, b"\xff": 2}))
    >>> pieces_of_bytes(model, str.split, b"a a\xff")
    [b'a', b'a\xff']
    """
    try:
        return [piece.encode() for piece in cut(data.decode("utf-8"))]
    except UnicodeDecodeError as error:
        at = error.start
    encoded = [model.ids_of_bytes(piece.encode()) for piece in cut(data[:at].decode("utf-8"))]
    contents = [list(map(model.vocabulary.tokens.__getitem__, tokens)) for tokens in encoded]
    last = contents.pop() if contents else []
    stable = [content for tokens in contents for content in tokens]
    if last and not last[0].strip(b" \n\t"):
        while stable and not stable[-1].strip(b" \n\t"):
            last.insert(0, stable.pop())
    return [*stable, b"".join(last) + data[at:]]


def _borders(vocabulary: Vocabulary) -> CharacterBorders:
    return CharacterBorders(vocabulary.tokens.values())


def _unmade(vocabulary: Vocabulary) -> list[bytes]:
    """Return the tokens that merging does not make."""
    made = set(vocabulary.remember(build_derivations).ids)
    return [content for token, content in vocabulary.tokens.items() if token not in made]
