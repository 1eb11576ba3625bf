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
    *No unknown token, and no bytes*: the library drops the character; without its
    quirks it is an error (`Quirks.missing_characters_dropped`).
    Positions are sums of lengths, so they shift where a character vanished.
    *The unknown token itself is missing*: an error, but only when it is needed.
    *Two tokens with one id*: the engine lets the order of a hash table decide
    what the id means. Here it is an error.
    *Dropout*: the engine's random numbers cannot be seeded. Here they are an
    argument.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, islice, product, repeat
from typing import Final

from bpe_ref.components import Draw, Token, WithoutTables
from bpe_ref.errors import ParameterError, SymbolError, VocabularyError
from bpe_ref.models.borders import BETWEEN, Borders, CharacterBorders, first_letter, joined
from bpe_ref.models.merging import (
    SHORT,
    RankedMerges,
    Symbol,
    merge,
    merge_long,
    merge_short,
    merge_steps,
    merge_with_dropout,
    ranked_merges,
)
from bpe_ref.models.partwise import Partwise, parts_of_text
from bpe_ref.models.piece_cache import LONGEST_PIECE, PieceCache
from bpe_ref.models.word_level import checked_strings
from bpe_ref.quirks import HUGGING_FACE, Quirks
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE, from_letters, to_letters
from bpe_ref.vocabulary.merges import TokenId

_LAST: Final = LETTER_OF_BYTE[0xFF]


@dataclass(frozen=True, eq=False, repr=False)
class BPE(WithoutTables):
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
        quirks: see `quirks`.

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
    quirks: Quirks = field(default=HUGGING_FACE, repr=False)

    def __post_init__(self) -> None:
        """Build the tables, so that what is wrong is found at once."""
        if self.dropout is not None and not 0 <= self.dropout <= 1:
            raise VocabularyError(f"dropout must be from 0 to 1, got {self.dropout!r}")
        _ = self.strings
        _ = self.ranked

    @cached_property
    def strings(self) -> Mapping[TokenId, str]:
        """From id to token."""
        return checked_strings(self.vocab)

    @cached_property
    def ranked(self) -> RankedMerges:
        """The merges, by ids."""
        skipped = len((self.continuing_subword_prefix or "").encode())
        return ranked_merges(self.vocab, self.merges, skipped)

    @property
    def ranks_of_tokens(self) -> Mapping[TokenId, float]:
        """From each token that merging makes to its rank."""
        ranks: dict[TokenId, float] = {}
        for rank, result in enumerate(self.ranked.results):
            ranks.setdefault(result, rank)
        return ranks

    @cached_property
    def drops_merges(self) -> bool:
        """Whether merges are passed over at random, so that a random stream is needed."""
        return bool(self.dropout)

    @cached_property
    def always_merges(self) -> bool:
        """Whether symbols are letters wherever they stand and all pieces merge: see `borders`."""
        return self.spells_alike and not self.ignore_merges and not self.drops_merges

    @cached_property
    def spells_alike(self) -> bool:
        """Whether symbols are letters wherever they stand."""
        return not (self.continuing_subword_prefix or self.end_of_word_suffix)

    @cached_property
    def spells_bytes(self) -> bool:
        """Whether each letter of the byte alphabet is a token."""
        return all(letter in self.vocab for letter in LETTER_OF_BYTE)

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the tokens of a piece, and the bytes of the piece that each covers.

        `draw` gives the random numbers for dropout, each from 0 up to and without 1; without
        dropout it is not asked. Raises `ParameterError` if it is needed and missing, and
        `SymbolError` for a character that no token can stand for.

        >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=1.0).tokenize("ab", lambda: 0.5)[0]
        Token(id=0, string='a', start=0, end=1)
        """
        return self._tokens(piece, draw) if self.drops_merges else list(self._pieces[piece])

    def _tokens(self, piece: str, draw: Draw | None = None) -> list[Token]:
        if len(piece) > SHORT and self.always_merges:
            ids = self.ids(piece)
            lengths = list(map(self._lengths.get, ids, repeat(0)))
            if 0 not in lengths and sum(lengths) == len(piece.encode()):
                return self._covering(ids, lengths)  # they tell what they cover
        symbols = self._merged(piece, draw)
        return self._covering([id_ for id_, _ in symbols], [length for _, length in symbols])

    def content_of(self, token: TokenId) -> bytes:
        """Return the bytes that a token covers. Raises `KeyError` if they differ.

        >>> BPE({"é": 0}, []).content_of(0) == "é".encode()
        True
        """
        length, string = self._lengths[token], self.strings[token]
        if not length:
            raise KeyError(token)
        content = string.encode()
        return content if length == len(content) else bytes.fromhex(string[3:5])

    def _covering(self, ids: Sequence[TokenId], lengths: Sequence[int]) -> list[Token]:
        """Return consecutive tokens, each of which covers the given number of bytes."""
        ends = list(accumulate(lengths, initial=0))
        strings = map(self.strings.__getitem__, ids)
        return list(map(Token, ids, strings, ends, islice(ends, 1, None)))

    @cached_property
    def _lengths(self) -> Mapping[TokenId, int]:
        """How many bytes each token covers, but for those that may cover different numbers."""
        made = set(self.ranked.results)
        lengths = {id_: len(token.encode()) for token, id_ in self.vocab.items()}
        if self.byte_fallback:
            lengths |= {
                id_: 0 if id_ in made else 1 for id_ in self._byte_tokens if id_ is not None
            }
        return lengths | {self.vocab.get(self.unk_token or "", -1): 0}

    @cached_property
    def _pieces(self) -> PieceCache[Token]:
        return PieceCache(self._tokens)

    def ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of the tokens of a piece.

        >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).ids("aba")
        [2, 0]
        """
        if "partwise" in vars(self) and not self.spells_bytes:  # short parts may be known, too
            return self.partwise.ids(piece)
        if self.drops_merges or not self.spells_alike:
            return [token for token, _ in self._merged(piece, draw)]
        if self.ignore_merges and piece in self.vocab:
            return [self.vocab[piece]] if piece else []
        if self.ignore_merges or len(piece) <= self._most_at_once:
            return self._merged_ids(piece)
        return self.partwise.ids(piece)

    @cached_property
    def _most_at_once(self) -> int:
        """The letters up to which a piece is merged in one go.

        A model of bytes mostly gets what a pattern cut. Its few longer pieces take less time than
        `borders`, which text that is one piece needs.
        """
        return 16 * (LONGEST_PIECE if self.spells_bytes else 1)

    def _merged_ids(self, part: str) -> list[TokenId]:
        """Return the ids of a part of a piece, merged in one go."""
        try:
            tokens = list(map(self.vocab.__getitem__, part))
        except KeyError:  # a missing character
            tokens = [token for token, _ in self.symbols(part)]
        if len(tokens) > SHORT:
            return [token for token, _ in merge_long(self.ranked, [(t, 1) for t in tokens])]
        merge_short(self.ranked, tokens)
        return tokens

    def symbols(self, piece: str) -> list[Symbol]:
        """Return what a piece consists of before anything merges.

        Raises `SymbolError` for a character that no token can stand for.

        >>> model = BPE({"<unk>": 0, "<0x61>": 1}, [], unk_token="<unk>", byte_fallback=True)
        >>> model.symbols("ba")
        [(1, 1), (0, 1)]
        """
        vocab, late = self.vocab, self.quirks.unknown_after_bytes
        prefix, suffix = self.continuing_subword_prefix or "", self.end_of_word_suffix or ""
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

    @cached_property
    def _byte_tokens(self) -> Sequence[TokenId | None]:
        return [self.vocab.get(f"<0x{byte:02X}>") for byte in range(256)]

    @cached_property
    def _always_falls_back(self) -> bool:
        """Whether every missing character becomes bytes, none of them in a pair that merges."""
        tokens = set(self._byte_tokens)
        if not self.byte_fallback or None in tokens:
            return False
        if self.spells_alike and "<0x" not in self._made:
            return True  # a merge of such a token makes one that contains its string
        return tokens.isdisjoint(chain.from_iterable(self.ranked.ranks))

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
            if self.quirks.missing_characters_dropped:
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

    def steps(self, piece: str) -> list[list[TokenId]]:
        """Return the ids of a piece after each merge of the definition.

        >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).steps("aba")
        [[0, 1, 0], [2, 0]]
        """
        if piece and self.ignore_merges and piece in self.vocab:
            return [[self.vocab[piece]]]
        states = merge_steps(self.ranked, self.symbols(piece))
        return [[token for token, _ in state] for state in states]

    def last_steps(self, piece: str) -> list[list[TokenId]]:
        """Return the last of `steps`, and if it is one token that a merge makes, the one before.

        >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).last_steps("ab")
        [[0, 1], [2]]
        """
        if piece and self.ignore_merges and piece in self.vocab:
            return [[self.vocab[piece]]]
        tokens = [token for token, _ in self.symbols(piece)]
        merge_short(self.ranked, tokens, until=1)
        made = self.ranked.merge(*tokens) if len(tokens) == 2 else None
        return [tokens] if made is None else [tokens, [made[1]]]

    def _merged(self, piece: str, draw: Draw | None) -> list[Symbol]:
        drops = self.drops_merges
        if self.ignore_merges and not (drops and self.quirks.ignore_merges_off_with_dropout):
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

        def joints() -> set[str]:
            """Return the letters where halves meet: halves are letters, or made of halves."""
            return {left[-1] + right[0] for left, right in self.merges if left and right}

        falls_back = self._always_falls_back
        return Borders(self.vocab, self._made, joints, self._longest_run, falls_back=falls_back)

    @cached_property
    def _made(self) -> str:
        """The tokens that merges make, `joined`."""
        return joined(map(self.strings.__getitem__, set(self.ranked.results)))

    @property
    def _longest_run(self) -> int:
        """The length up to which each run of the first letter, from 2 on, has borders; or 0."""
        letter = first_letter(self._made)
        if letter not in self.vocab:
            return 0
        runs = re.findall(f"{re.escape(letter) * 2}+(?s:.)", self._made)
        ends = self._made.count(BETWEEN + letter * 2), sum(run[-1] == BETWEEN for run in runs)
        if ends != (len(runs), len(runs)):
            return 0
        ids = [self.vocab[run] for run in {letter, *(run[:-1] for run in runs)}]
        within = max(self.ranked.ranks.get(pair, -1) for pair in product(ids, ids))
        mixed = (
            rank
            for rank, (left, right) in enumerate(self.merges)
            if letter in left + right and {*left, *right} != {letter}
        )
        if within > next(mixed, len(self.merges)):
            return 0
        length = 1
        while self._merged_ids(letter * (length + 1)) == [self.vocab.get(letter * (length + 1))]:
            length += 1
        return length if length > 1 else 0

    def ids_of_text(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of a piece that the model gets as the letters of its bytes.

        >>> vocab = {letter: byte for byte, letter in enumerate(LETTER_OF_BYTE)}
        >>> BPE(vocab, []).ids_of_text("é") == list("é".encode())
        True
        """
        parts = None if piece.isascii() else self._by_characters
        if parts is None or self.ignore_merges:
            letters = to_letters(piece.encode())
            if parts is None or letters in self.vocab:
                return self.ids(letters, draw)
        return parts(piece)

    @cached_property
    def _by_characters(self) -> Callable[[str], list[TokenId]] | None:
        """What merges text part by part; None if a byte may be no token, or not all pieces merge.

        With `ignore_merges` it is for pieces that are no token.
        """
        if self.drops_merges or not self.spells_alike or not self.spells_bytes:
            return None
        try:
            made = from_letters(self._made.replace(BETWEEN, _LAST))
        except KeyError:  # a token of other letters
            return None

        borders = CharacterBorders(made.split(b"\xff"))  # a byte that no text contains
        return parts_of_text(lambda part: self._merged_ids(to_letters(part.encode())), borders)

    @cached_property
    def partwise(self) -> Partwise:
        """What merges long pieces part by part, if the model `always_merges`."""
        return Partwise(self._merged_ids, self.borders)

    def is_border(self, left: str, right: str) -> bool:
        """Return whether no merge ever crosses the place between two characters of a piece.

        See `borders` for the proof. If pieces that are tokens are taken whole, cutting must not
        leave such a token alone either, unless merging makes it.

        >>> model = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
        >>> model.is_border("a", "b"), model.is_border("b", "a"), model.is_border("b", "?")
        (False, True, False)
        """
        if self.drops_merges or not self.spells_alike:
            return False
        if not self.borders.is_border(left, right):
            return False
        return not self.ignore_merges or not any(
            left == token[-1] or right == token[0] or left + right in token
            for token in self._unmade
        )

    @property
    def gives_a_token(self) -> bool:
        """Whether every character that is no token becomes at least one of its own.

        >>> BPE({"?": 0}, [], unk_token="?").gives_a_token, BPE({"a": 0}, []).gives_a_token
        (True, False)
        """
        unknown = bool(self.unk_token) and self.unk_token in self.vocab and not self.fuse_unk
        return unknown or self._always_falls_back

    @cached_property
    def _unmade(self) -> list[str]:
        """The tokens of several characters that merging does not make of themselves."""
        merging = replace(self, ignore_merges=False)
        unmade: list[str] = []
        for token, id_ in self.vocab.items():
            try:
                made = merging.ids(token)
            except SymbolError:
                continue  # so no text has this piece
            if token and made != [id_]:
                unmade.append(token)
        return unmade
