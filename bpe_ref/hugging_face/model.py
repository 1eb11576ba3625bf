"""The BPE model: a piece of text to tokens.

Definition
    1. Each character is looked up in the vocabulary: with
       `continuing_subword_prefix` before it unless it is the first of the piece,
       with `end_of_word_suffix` behind it if it is the last. What is found is a
       symbol.
    2. What is not found becomes, with `byte_fallback`, one symbol per byte, the
       tokens `<0x00>` to `<0xFF>`, if the vocabulary has all that are needed. Else
       it becomes the unknown token; with `fuse_unk`, unknown tokens that follow
       one another are one.
    3. Symbols merge (`merging`). Of the list of merges, the first one has the
       lowest rank. A merge of a and b makes the token spelled a and then b, b
       without the length of `continuing_subword_prefix`.
    With `ignore_merges`, a piece that is itself a token is that token.

Source: `BPE` of Hugging Face tokenizers 0.23.3
(tokenizers/src/models/bpe/model.rs); the idea is that of Sennrich, Haddow and
Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL 2016.

What the source leaves open
    *A pair that is on the list of merges twice*: its last place counts.
    *Bytes of the prefix and the suffix*: a missing character falls back to the
    bytes of all that was looked up, prefix and suffix included, and each of them
    counts as one byte of the piece. Positions may thus lie behind its end.
    *No unknown token, and no bytes*: see `Profile.missing_characters_dropped`.
    Positions are sums of lengths, so they shift where a character vanished.
    *The unknown token itself is missing*: an error, but only when it is needed.
    *Two tokens with one id*: the engine lets the order of a hash table decide
    what the id means. Here it is an error.
    *Dropout*: the engine's random numbers cannot be seeded. Here they are an
    argument.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from bpe_ref.errors import ParameterError, SymbolError, VocabularyError
from bpe_ref.hugging_face.borders import Borders
from bpe_ref.hugging_face.merging import (
    SHORT,
    Draw,
    RankedMerges,
    Symbol,
    merge,
    merge_long,
    merge_naive,
    merge_short,
    merge_with_dropout,
)
from bpe_ref.hugging_face.profile import HUGGING_FACE, Profile
from bpe_ref.hugging_face.shapes import Token
from bpe_ref.merges import TokenId
from bpe_ref.piece_cache import PieceCache

ID_LIMIT: Final = 1 << 32
"""Ids are below this: the engine keeps them in 32 bits."""

_WHOLE: Final = 12  # letters; looking for borders in shorter parts costs more than it saves


@dataclass(frozen=True, eq=False)
class BPE:
    """The model of a tokenizer, as its file describes it.

    Attributes:
        vocab: from token to id.
        merges: pairs of tokens, first merge first.
        dropout: the probability that a merge is passed over, from 0 to 1, or None.
        unk_token: what stands for a missing character, or None.
        continuing_subword_prefix: what a symbol that is not the first of its piece begins with.
        end_of_word_suffix: what the last symbol of a piece ends with.
        fuse_unk: whether neighbouring unknown tokens are one.
        byte_fallback: whether a missing character becomes its bytes.
        ignore_merges: whether a piece that is a token is taken without merging.
        profile: see `profile`.

    Raises `VocabularyError` for merges of tokens that are not there, ids that two tokens have or
    that do not fit in 32 bits, and a dropout out of range.

    >>> model = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    >>> model.tokenize("aba")
    [Token(id=2, string='ab', start=0, end=2), Token(id=0, string='a', start=2, end=3)]

    """

    vocab: Mapping[str, TokenId]
    merges: Sequence[tuple[str, str]] = field(repr=False)
    dropout: float | None = None
    unk_token: str | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    profile: Profile = field(default=HUGGING_FACE, repr=False)

    def __post_init__(self) -> None:
        """Build the tables, so that what is wrong is found at once."""
        if self.dropout is not None and not 0 <= self.dropout <= 1:
            raise VocabularyError(f"dropout must be from 0 to 1, got {self.dropout!r}")
        if self.vocab and not 0 <= min(self.vocab.values()) <= max(self.vocab.values()) < ID_LIMIT:
            raise VocabularyError(
                f"vocab must hold ids from 0 to {ID_LIMIT - 1}, "
                f"got {min(self.vocab.values())} to {max(self.vocab.values())}"
            )
        if len(self.strings) < len(self.vocab):
            token = next(token for token, id_ in self.vocab.items() if self.strings[id_] != token)
            raise VocabularyError(
                f"vocab must give each id to one token, but {self.vocab[token]} "
                f"to both {token!r:.80} and {self.strings[self.vocab[token]]!r:.80}"
            )
        _ = self.ranked

    @cached_property
    def strings(self) -> Mapping[TokenId, str]:
        """From id to token."""
        return {id_: token for token, id_ in self.vocab.items()}

    @cached_property
    def ranked(self) -> RankedMerges:
        """The merges, by ids."""
        vocab = self.vocab
        skipped = len((self.continuing_subword_prefix or "").encode())
        try:
            if not skipped:
                ranks = {
                    (vocab[left], vocab[right]): rank
                    for rank, (left, right) in enumerate(self.merges)
                }
                return RankedMerges(ranks, [vocab[left + right] for left, right in self.merges])
        except KeyError:
            pass  # the slow way finds out which merge it is
        ranks, results = {}, []
        for rank, (left, right) in enumerate(self.merges):
            result = _joined(left, right, skipped, rank)
            for token in (left, right, result):
                if token not in vocab:
                    raise VocabularyError(
                        f"merges[{rank}] must be of tokens and make a token of the vocabulary, "
                        f"but {token!r:.80} is none"
                    )
            ranks[vocab[left], vocab[right]] = rank
            results.append(vocab[result])
        return RankedMerges(ranks, results)

    @cached_property
    def cache(self) -> PieceCache:
        """The tokens of pieces seen before; bounded. Not to be read where there is dropout."""
        return PieceCache(self.tokenize_ids)

    @property
    def drops_merges(self) -> bool:
        """Whether merges are passed over at random, so that a random stream is needed."""
        return bool(self.dropout)

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the tokens of a piece, and the bytes of the piece that each covers.

        `draw` gives the random numbers for dropout, each from 0 up to and without 1; without
        dropout it is not asked. Raises `ParameterError` if it is needed and missing, and
        `SymbolError` for a character that no token can stand for.

        >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=1.0).tokenize("ab", lambda: 0.5)[0]
        Token(id=0, string='a', start=0, end=1)
        """
        strings = self.strings
        tokens: list[Token] = []
        start = 0
        for token, length in self._merged(piece, draw):
            tokens.append(Token(token, strings[token], start, start + length))
            start += length
        return tokens

    def tokenize_ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of the tokens of a piece.

        >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).tokenize_ids("aba")
        [2, 0]
        """
        if self.ignore_merges or self.dropout or not self._is_plain:
            return [token for token, _ in self._merged(piece, draw)]
        if len(piece) <= SHORT:
            return self._part_ids(piece)
        head, *tails = self.borders.cut_before_letter(piece)
        return [*self._long_ids(head), *self._tails.encode(tails)]

    def tokenize_by_definition(self, piece: str) -> list[Symbol]:
        """Return each token and how many bytes it covers, by the definition; dropout apart.

        >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).tokenize_by_definition("aba")
        [(2, 2), (0, 1)]
        """
        if piece and self.ignore_merges and piece in self.vocab:
            return [(self.vocab[piece], len(piece.encode()))]
        return merge_naive(self.ranked, self.symbols(piece))

    def symbols(self, piece: str) -> list[Symbol]:
        """Return what a piece consists of before anything merges.

        Raises `SymbolError` for a character that no token can stand for.

        >>> model = BPE({"<unk>": 0, "<0x61>": 1}, [], unk_token="<unk>", byte_fallback=True)
        >>> model.symbols("ba")
        [(1, 1), (0, 1)]
        """
        vocab = self.vocab
        prefix = self.continuing_subword_prefix or ""
        suffix = self.end_of_word_suffix or ""
        late = self.profile.unknown_after_bytes
        symbols: list[Symbol] = []
        unknown: list[Symbol] = []  # at most one, which may yet grow
        for place, character in enumerate(piece):
            text = prefix + character if place else character
            if place == len(piece) - 1:
                text += suffix
            if text in vocab:
                symbols += [*unknown, (vocab[text], len(character.encode()))]
                unknown = []
            elif (spelled := self._bytes_of(text)) is not None:
                if unknown and not late:
                    symbols += unknown
                    unknown = []
                symbols += spelled
            else:
                unknown = self._unknown(unknown, character, symbols)
        return symbols + unknown

    def _merged(self, piece: str, draw: Draw | None) -> list[Symbol]:
        drops = self.drops_merges
        if self.ignore_merges and not (drops and self.profile.ignore_merges_off_with_dropout):
            whole = self.vocab.get(piece)
            if whole is not None and piece:
                return [(whole, len(piece.encode()))]
        symbols = self.symbols(piece)
        if not drops:
            return merge(self.ranked, symbols)
        if draw is None:
            raise ParameterError("draw", draw, f"must be given, as dropout is {self.dropout}")
        return merge_with_dropout(self.ranked, symbols, self.dropout or 0.0, draw)

    @cached_property
    def borders(self) -> Borders:
        """Where pieces may be cut, if symbols are letters and all pieces merge."""
        made = list(map(self.strings.__getitem__, set(self.ranked.results)))
        return Borders(self.vocab, made, falls_back=self._always_falls_back)

    @cached_property
    def _always_falls_back(self) -> bool:
        """Whether every missing character becomes bytes, and those never merge."""
        byte_tokens = set(self._byte_tokens)
        if not self.byte_fallback or None in byte_tokens:
            return False
        return all(byte_tokens.isdisjoint(pair) for pair in self.ranked.ranks)

    @cached_property
    def _tails(self) -> PieceCache:
        """The tokens of parts seen before, by all but their first letter, which they share."""
        return PieceCache(lambda tail: self._long_ids(self.borders.letter + tail))

    def _long_ids(self, part: str) -> list[TokenId]:
        """Return the tokens of a part that may still be long."""
        if len(part) <= _WHOLE:
            return self._part_ids(part)
        parts = self.borders.cut(part)
        return self._parts.encode(parts) if len(parts) > 1 else self._part_ids(part)

    @cached_property
    def _parts(self) -> PieceCache:
        """The tokens of parts between all borders, seen before."""
        return PieceCache(self._part_ids)

    def _part_ids(self, part: str) -> list[TokenId]:
        """Return the tokens of a part, where symbols are letters and all pieces merge."""
        try:
            tokens = list(map(self.vocab.__getitem__, part))
        except KeyError:  # a missing character
            tokens = [token for token, _ in self.symbols(part)]
        if len(tokens) > SHORT:
            return [token for token, _ in merge_long(self.ranked, [(t, 1) for t in tokens])]
        merge_short(self.ranked, tokens)
        return tokens

    @cached_property
    def _is_plain(self) -> bool:
        """Whether a symbol is its character, wherever in the piece it stands."""
        return not (self.continuing_subword_prefix or self.end_of_word_suffix)

    @cached_property
    def _byte_tokens(self) -> Sequence[TokenId | None]:
        """The token of each byte."""
        return [self.vocab.get(f"<0x{byte:02X}>") for byte in range(256)]

    def _bytes_of(self, text: str) -> list[Symbol] | None:
        """Return the tokens of the bytes of a text that is no token, if there are all of them."""
        if not self.byte_fallback:
            return None
        tokens = [self._byte_tokens[byte] for byte in text.encode()]
        found = [(token, 1) for token in tokens if token is not None]
        return found if len(found) == len(tokens) else None

    def _unknown(
        self, unknown: list[Symbol], character: str, symbols: list[Symbol]
    ) -> list[Symbol]:
        """Return the unknown token still to be added; one that cannot grow goes to `symbols`."""
        if self.unk_token is None:
            if self.profile.missing_characters_dropped:
                return unknown
            raise SymbolError(
                f"a text must be made of characters of the vocabulary, got {character!r}, "
                "and there is no unknown token"
            )
        if self.unk_token not in self.vocab:
            raise SymbolError(
                f"unk_token must be in the vocabulary to stand for {character!r}, "
                f"got {self.unk_token!r:.80}"
            )
        length = len(character.encode())
        if unknown and self.fuse_unk:
            return [(unknown[0][0], unknown[0][1] + length)]
        symbols += unknown
        return [(self.vocab[self.unk_token], length)]


def _joined(left: str, right: str, skipped: int, rank: int) -> str:
    """Return the token that a merge makes."""
    content = right.encode()
    if len(content) < skipped:
        raise VocabularyError(
            f"merges[{rank}] must have a right side no shorter than continuing_subword_prefix, "
            f"got {right!r:.80}"
        )
    return left + content[skipped:].decode(errors="replace")
