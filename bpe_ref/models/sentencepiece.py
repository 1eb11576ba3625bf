"""A SentencePiece model of type BPE or unigram: its pieces, and what the file says about text.

Definition
    A *piece* is a string with a score and a kind; its id is its place in the
    list. The kinds:

    normal         made by merging; the higher its score, the earlier
    user-defined   found whole in the text before any merge, and never merged
    unused         merged like a normal one, but taken apart again at the end
    unknown        the one piece for what nothing else stands for
    control        stands for no text, `<s>` for instance
    byte           one of the 256 bytes, `<0x00>` to `<0xFF>`

Source: google/sentencepiece, src/sentencepiece_model.proto and
src/model_interface.cc; the wheel 0.2.3 as executed.

What the source leaves open
    *Control, unknown and byte pieces* are never found in text, whatever their
    strings are; ordinary text cannot become `<s>`.
    *Scores* that are no number order nothing; they are refused here. The
    library takes them, unless the model is a unigram one. Infinite scores are
    refused there, too.
    *More than 64 user-defined pieces of which each is a prefix of the next*:
    the library sees the 64 shortest. Here all of them are seen.

Merging (`algorithm` "bpe")
    The symbols are the user-defined pieces, the longest wherever one starts,
    and between them single characters. Of all adjacent symbols that are not
    user-defined and that, joined, are a normal, user-defined or unused piece,
    the pair with the highest score merges, the leftmost of equal ones; and so
    on until no pair can. At the end every symbol that is an unused piece is
    taken apart into the pair that it was *proposed* as: two adjacent symbols
    that could merge into it. Its parts are taken apart likewise.

Source of that: `Model::SampleEncode` in src/bpe_model.cc of google/sentencepiece (without
sampling); the wheel 0.2.3 as executed.

What it leaves open
    *Proposed as two different pairs.* The library keeps the last one, whether it
    merged or not, anywhere in the text. But there is only one such pair for a
    string, in every text: a run inside a stretch whose borders nothing has crossed
    is the run of that stretch alone (`compatibility` has the argument), so
    two symbols that make up the stretch are always the same two.
    *An unused piece of one character* was never proposed: it is unknown.

The best path (`algorithm` "unigram")
    A text is divided into normal and user-defined pieces, and into unknown characters where no
    such piece is that one character, so that the sum of scores is largest: see `models.unigram`.
    A normal piece has its own score, an unknown character the lowest score of all normal pieces
    minus 10, and a user-defined piece of n bytes 0.1 * (n - 1).

Source of that: `Model::EncodeOptimized` in src/unigram_model.cc of the sdist 0.2.3; the wheel
0.2.3 as executed.

What it leaves open
    *Rounding*: scores and sums are 32-bit floats. A sum beyond 100,000 is subtracted from itself
    and from all sums behind it. So nothing is known about how the sums of two parts add up, and
    no place is a border.
    *User-defined pieces* are not always found, unlike with BPE: only if their score wins.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import isinf
from typing import Final, Literal, TypeAlias

from bpe_ref.components import Draw, Token, WithoutTables
from bpe_ref.errors import VocabularyError
from bpe_ref.models.borders import Borders, joined
from bpe_ref.models.merging import SHORT
from bpe_ref.models.partwise import Partwise
from bpe_ref.models.unigram import UNKNOWN_PENALTY, best_path
from bpe_ref.normalizers.sentencepiece import NormalizationRules, UserDefined
from bpe_ref.vocabulary.byte_alphabet import BYTE_PIECES
from bpe_ref.vocabulary.heap import MergeOf, merge_slots
from bpe_ref.vocabulary.longest_matches import Searcher, searcher_of
from bpe_ref.vocabulary.merges import TokenId

PieceKind: TypeAlias = Literal["normal", "unknown", "control", "user-defined", "unused", "byte"]

ORDINARY_KINDS: Final = frozenset({"normal", "user-defined", "unused"})
"""The kinds that stand for their own string."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry of the vocabulary."""

    text: str
    score: float = 0.0
    kind: PieceKind = "normal"


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """The strings of the pieces that have a part to play. Nothing else tells which ones these are.

    A model need not have any of them but the unknown one, whatever its string.
    """

    bos: str = "<s>"
    eos: str = "</s>"
    pad: str = "<pad>"


@dataclass(frozen=True, eq=False, repr=False)
class SentencePieceModel(WithoutTables):
    """The pieces and the rules. Raises `VocabularyError` for what makes no model.

    >>> pieces = [Piece("<unk>", kind="unknown"), Piece("a"), Piece("aa", -1.0)]
    >>> model = SentencePieceModel(pieces)
    >>> model.ordinary["aa"], model.unknown_id
    (2, 0)
    """

    pieces: Sequence[Piece]
    normalization: NormalizationRules = field(default_factory=NormalizationRules)
    denormalization: NormalizationRules | None = None
    """What becomes of decoded text; None leaves it as it is."""

    byte_fallback: bool = False
    """Whether a character that no piece stands for becomes the pieces of its bytes."""

    unknown_surface: str = " \u2047 "
    """What the unknown piece decodes to."""

    special: SpecialPieces = SpecialPieces()

    algorithm: Literal["bpe", "unigram"] = "bpe"
    """How a text becomes pieces: by merging, or by the best path."""

    ids_by_string: Mapping[str, TokenId] = field(init=False, repr=False)
    """The ids of all pieces by their strings; no two pieces have the same."""

    ordinary: Mapping[str, TokenId] = field(init=False, repr=False)
    """The ids of those that merging can make: normal, user-defined and unused."""

    unknown_id: TokenId = field(init=False, repr=False)

    user_defined: UserDefined = field(init=False, repr=False)
    """The user-defined pieces."""

    def __post_init__(self) -> None:
        """Check the pieces and fill in what follows from them."""
        ids: dict[str, TokenId] = {}
        for token, piece in enumerate(self.pieces):
            _check(piece, token)
            if self.algorithm == "unigram" and isinf(piece.score):
                raise VocabularyError(
                    f"the score of piece {token} must be finite, got {piece.score}"
                )
            if piece.text in ids:
                raise VocabularyError(
                    f"piece {token} must have a string of its own, "
                    f"but {piece.text!r:.80} is also piece {ids[piece.text]}"
                )
            ids[piece.text] = token
        unknown = [token for token, piece in enumerate(self.pieces) if piece.kind == "unknown"]
        if len(unknown) != 1:
            raise VocabularyError(f"a model must have one unknown piece, it has {len(unknown)}")
        self._check_bytes()
        ordinary = {
            text: token for text, token in ids.items() if self.pieces[token].kind in ORDINARY_KINDS
        }
        frozen = frozenset(piece.text for piece in self.pieces if piece.kind == "user-defined")
        object.__setattr__(self, "ordinary", ordinary)
        object.__setattr__(self, "ids_by_string", ids)
        object.__setattr__(self, "unknown_id", unknown[0])
        object.__setattr__(self, "user_defined", UserDefined(frozen))

    def _check_bytes(self) -> None:
        """Raise `VocabularyError` unless there are all byte pieces with fallback, else none."""
        found = {piece.text for piece in self.pieces if piece.kind == "byte"}
        if found and not self.byte_fallback:
            raise VocabularyError("a model without byte_fallback must have no byte pieces")
        if self.byte_fallback and len(found) < len(BYTE_PIECES):
            raise VocabularyError(
                f"a model with byte_fallback must have 256 byte pieces, it has {len(found)}"
            )

    def id_of(self, text: str) -> TokenId:
        """Return the id of a piece by its string; that of the unknown piece where there is none.

        >>> SentencePieceModel([Piece("?", kind="unknown"), Piece("a")]).id_of("b")
        0
        """
        return self.ids_by_string.get(text, self.unknown_id)

    def id_of_symbol(self, symbol: str) -> TokenId:
        """Return the id of what merging ends with: a normal or user-defined piece, or unknown.

        >>> model = SentencePieceModel([Piece("?", kind="unknown"), Piece("a", kind="unused")])
        >>> model.id_of_symbol("a")
        0
        """
        token = self.ordinary.get(symbol, self.unknown_id)
        return self.unknown_id if self.pieces[token].kind == "unused" else token

    def control_id(self, text: str) -> TokenId | None:
        """Return the id of a control piece by its string, or None if it is no control piece."""
        token = self.id_of(text)
        return token if self.pieces[token].kind == "control" else None

    # ---- as the model of a tokenizer

    drops_merges = False

    @property
    def vocab(self) -> Mapping[str, TokenId]:
        """From the string of a piece to its id."""
        return self.ids_by_string

    @cached_property
    def strings(self) -> Mapping[TokenId, str]:
        """From id to the string of a piece."""
        return dict(enumerate(piece.text for piece in self.pieces))

    @property
    def ranks_of_tokens(self) -> Mapping[TokenId, float]:
        """From each token that merging can make to its score, negative; none without merging."""
        if self.algorithm == "unigram":
            return {}
        return {
            token: -self.pieces[token].score
            for string, token in self.ordinary.items()
            if len(string) > 1
        }

    @property
    def unspellable(self) -> frozenset[str]:
        """The control pieces, which no text can become."""
        return frozenset(piece.text for piece in self.pieces if piece.kind == "control")

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the tokens of a normalized text, and the bytes that each covers.

        Unknown symbols next to each other are one token, unless the model has byte fallback. Its
        string is the text that it stands for, not `<unk>`. Of the bytes of a symbol, the last one
        covers the whole symbol, and those before it nothing at its start.
        """
        tokens: list[Token] = []
        start = 0
        waiting: Token | None = None  # an unknown token that may still grow
        for symbol in self._symbols(piece):
            token = self.id_of_symbol(symbol)
            end = start + len(symbol.encode())
            if token == self.unknown_id and not self.byte_fallback:
                before = Token(token, "", start, end) if waiting is None else waiting
                waiting = Token(token, before.string + symbol, before.start, end)
            else:
                if waiting is not None:
                    tokens.append(waiting)
                    waiting = None
                if token == self.unknown_id:
                    tokens += self._byte_tokens(symbol.encode(), start)
                else:
                    tokens.append(Token(token, symbol, start, end))
            start = end
        return tokens if waiting is None else [*tokens, waiting]

    def ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of the tokens of a normalized text.

        >>> pieces = [Piece("<unk>", kind="unknown"), Piece("a"), Piece("aa", -1.0)]
        >>> SentencePieceModel(pieces).ids("aaabc")
        [2, 1, 0]
        """
        if self.algorithm == "unigram":
            return self._ids_of_symbols(self._best_path(piece))
        return self._partwise.ids(piece)

    @cached_property
    def _partwise(self) -> Partwise:
        """The quick way to the ids: part by part, with words that are remembered."""
        return Partwise(lambda part: self._ids_of_symbols(merge(self, part)), self._borders)

    def steps(self, piece: str) -> list[list[TokenId]]:
        """Return the ids of a normalized text after each merge of the definition."""
        if self.algorithm == "unigram":
            return [self.ids(piece)]
        return list(map(self._ids_of_symbols, merge_steps(self, piece)))

    def _symbols(self, piece: str) -> list[str]:
        return merge_heap(self, piece) if self.algorithm == "bpe" else self._best_path(piece)

    def _best_path(self, piece: str) -> list[str]:
        """Return the symbols of a normalized text, unknown characters one by one."""
        searcher, scores, unknown = self._path_tables
        path = best_path(
            piece, searcher, scores.__getitem__, unknown, precision="f", most=_MOST_SUM
        )
        return [piece[start:end] for start, end, _ in path]

    @cached_property
    def _path_tables(self) -> tuple[Searcher, Mapping[str, float], float]:
        """What finds pieces, their scores on a path, and the score of an unknown character."""
        normal = [piece.score for piece in self.pieces if piece.kind == "normal"]
        scores: dict[str, float] = {}
        for piece in self.pieces:
            if piece.kind == "normal":
                scores[piece.text] = piece.score
            elif piece.kind == "user-defined":
                scores[piece.text] = _rounded(_BONUS * (len(piece.text.encode()) - 1))
        unknown = _rounded(min([_LARGEST, *normal]) - UNKNOWN_PENALTY)
        return searcher_of(list(scores)), scores, unknown

    def _ids_of_symbols(self, symbols: Iterable[str]) -> list[TokenId]:
        ids: list[TokenId] = []
        for symbol in symbols:
            token = self.id_of_symbol(symbol)
            if token != self.unknown_id:
                ids.append(token)
            elif self.byte_fallback:
                ids += [self.id_of(BYTE_PIECES[byte]) for byte in symbol.encode()]
            elif not ids or ids[-1] != token:
                ids.append(token)
        return ids

    def _byte_tokens(self, data: bytes, start: int) -> list[Token]:
        """Return the tokens of the bytes of a symbol; the last one covers all of it."""
        last = len(data) - 1
        strings = [BYTE_PIECES[byte] for byte in data]
        return [
            Token(self.id_of(string), string, start, start + len(data) if at == last else start)
            for at, string in enumerate(strings)
        ]

    # ---- the pieces that have a part to play

    @property
    def bos_id(self) -> TokenId | None:
        """The id of the piece that begins a text, or None if the model has none."""
        return self.control_id(self.special.bos)

    @property
    def eos_id(self) -> TokenId | None:
        """The id of the piece that ends a text, or None if the model has none."""
        return self.control_id(self.special.eos)

    @property
    def pad_id(self) -> TokenId | None:
        """The id of the piece that fills up, or None if the model has none."""
        return self.control_id(self.special.pad)

    @property
    def stop_ids(self) -> tuple[TokenId, ...]:
        """The ids at which generation ends, as far as the model file says: its eos, or none."""
        return () if self.eos_id is None else (self.eos_id,)

    def is_border(self, left: str, right: str) -> bool:
        """Return whether no merge ever crosses the place between two characters of a text.

        No piece has them side by side, and they never become one unknown token.

        >>> pieces = [Piece("<unk>", kind="unknown"), Piece("a"), Piece("b"), Piece("ab")]
        >>> model = SentencePieceModel(pieces)
        >>> model.is_border("a", "b"), model.is_border("b", "a")
        (False, True)
        """
        if self.algorithm == "unigram" or left + right in self._borders.joints:
            return False
        return self.byte_fallback or any(
            self.id_of_symbol(character) != self.unknown_id for character in (left, right)
        )

    @cached_property
    def _borders(self) -> Borders:
        """Where a text may be cut before it is merged."""
        kinds = ((text, token, self.pieces[token].kind) for text, token in self.ordinary.items())
        known = {text: token for text, token, kind in kinds if kind != "unused"}
        return Borders(known, joined(self.ordinary), falls_back=self.byte_fallback)

    @cached_property
    def finite_scores(self) -> Mapping[str, float] | None:
        """The score of each string that merging can make; None for one without end, or unused."""
        scores: dict[str, float] = {}
        for text, token in self.ordinary.items():
            piece = self.pieces[token]
            if piece.kind == "unused" or piece.score == _NEVER:
                return None
            scores[text] = piece.score
        return scores


_LARGEST: Final = 2.0**128 - 2.0**104  # the largest 32-bit float, FLT_MAX
_MOST_SUM: Final = 100_000.0
_BONUS: Final = 0.1  # for each byte of a user-defined piece but the first


def _rounded(number: float) -> float:
    """Return the nearest 32-bit float."""
    return array("f", [number])[0]


def _check(piece: Piece, token: TokenId) -> None:
    if not piece.text:
        raise VocabularyError(f"piece {token} must not be empty")
    if "\0" in piece.text:
        raise VocabularyError(f"piece {token} must not hold U+0000, got {piece.text!r:.80}")
    if piece.score != piece.score:  # so only what is not a number is
        raise VocabularyError(f"the score of piece {token} must be a number, got {piece.score}")
    if piece.kind == "byte" and piece.text not in BYTE_PIECES:
        raise VocabularyError(
            f"piece {token} must be a byte from <0x00> to <0xFF>, got {piece.text!r:.80}"
        )


_NEVER: Final = float("-inf")


def merge_steps(model: SentencePieceModel, text: str) -> Iterator[list[str]]:
    """Yield the symbols of a normalized text, what they are after each merge, and in the end.

    This is the definition. O(n²).

    >>> unknown, a, aa = Piece("?", kind="unknown"), Piece("a"), Piece("aa", -1.0)
    >>> list(merge_steps(SentencePieceModel([unknown, a, aa]), "aaa"))
    [['a', 'a', 'a'], ['aa', 'a']]
    """
    symbols = _symbols(model, text)
    halves: dict[str, tuple[str, str]] = {}
    look, note = _rule(model), _rule(model, halves)
    for pair in pairwise(symbols):
        note(*pair)
    while True:
        yield list(symbols)
        candidates = [
            (found[0], left, found[1])
            for left, pair in enumerate(pairwise(symbols))
            if (found := look(*pair)) is not None
        ]
        if not candidates:
            break
        _, left, joined = min(candidates)
        symbols[left : left + 2] = [joined]
        for pair in pairwise(symbols[max(left - 1, 0) : left + 2]):
            note(*pair)
    whole = _without_unused(model, symbols, halves)
    if whole != symbols:
        yield whole


def merge(model: SentencePieceModel, text: str) -> list[str]:
    """Return the symbols of a normalized text by the quickest way: for words that is no heap.

    >>> unknown, a, aa = Piece("?", kind="unknown"), Piece("a"), Piece("aa", -1.0)
    >>> merge(SentencePieceModel([unknown, a, aa]), "aaa")
    ['aa', 'a']
    """
    symbols = _symbols(model, text)
    if model.finite_scores is None or len(symbols) > SHORT or _Whole in map(type, symbols):
        return merge_heap(model, text)
    score_of = model.finite_scores.get
    scores = [score_of(left + right, _NEVER) for left, right in pairwise(symbols)]
    while scores:
        best = max(scores)
        if best == _NEVER:
            break
        at = scores.index(best)
        symbols[at] += symbols.pop(at + 1)
        del scores[at]
        if at < len(scores):
            scores[at] = score_of(symbols[at] + symbols[at + 1], _NEVER)
        if at:
            scores[at - 1] = score_of(symbols[at - 1] + symbols[at], _NEVER)
    return symbols


def merge_heap(model: SentencePieceModel, text: str) -> list[str]:
    """Return the symbols of a normalized text. O(n log n); see `vocabulary.heap`.

    >>> unknown, a, aa = Piece("?", kind="unknown"), Piece("a"), Piece("aa", -1.0)
    >>> merge_heap(SentencePieceModel([unknown, a, aa]), "aaa")
    ['aa', 'a']
    """
    slots: list[str | None] = [*_symbols(model, text)]
    halves: dict[str, tuple[str, str]] = {}
    for _ in merge_slots(_rule(model, halves), slots):
        pass
    return _without_unused(model, [symbol for symbol in slots if symbol is not None], halves)


class _Whole(str):
    """A user-defined piece in a text: it never merges."""

    __slots__ = ()


def _symbols(model: SentencePieceModel, text: str) -> list[str]:
    """Return what merging starts with."""
    if not model.user_defined.pieces:
        return list(text)
    symbols: list[str] = []
    start = 0
    while start < len(text):
        length = model.user_defined.length_at(text, start)
        symbols.append(_Whole(text[start : start + length]) if length else text[start])
        start += length or 1
    return symbols


def _rule(model: SentencePieceModel, halves: dict[str, tuple[str, str]] | None = None) -> MergeOf:
    """Return what tells the rank of two neighbours and what they make; it notes its halves."""

    def merge_of(left: str, right: str) -> tuple[float, str] | None:
        joined = left + right
        token = model.ordinary.get(joined)
        if token is None or isinstance(left, _Whole) or isinstance(right, _Whole):
            return None
        if halves is not None:
            halves[joined] = (left, right)
        return -model.pieces[token].score, joined

    return merge_of


def _without_unused(
    model: SentencePieceModel, symbols: list[str], halves: Mapping[str, tuple[str, str]]
) -> list[str]:
    """Return the symbols with the unused ones taken apart."""
    whole: list[str] = []
    waiting = symbols[::-1]  # a stack, the first symbol on top
    while waiting:
        symbol = waiting.pop()
        if symbol in halves and model.pieces[model.ordinary[symbol]].kind == "unused":
            left, right = halves[symbol]
            waiting += [right, left]
        else:
            whole.append(symbol)
    return whole
