r"""Long pieces: where they begin, how they grow, and how texts that share them are counted.

A text that is one long word has no safe cut. But a letter after many letters only makes the last
piece longer, and a piece that grows is counted in constant time by `growing.encoders`. So long
pieces take linear time where the model merges bytes and the pattern is one of those below, or there
is none. Other pieces are counted again with every character, which is quadratic in the length of
the longest piece. (Without a pre-tokenizer, a piece is what lies between two safe cuts.)

Runs
    Each pattern has sets of characters, its *runs*, for which this holds: if the last `REACH`
    characters and a new one are of one run, the new one makes the last piece longer and changes
    nothing else.

Proofs
    gpt2. A piece is a contraction, a run of one class (letters, numbers, others) with at most one
    space before it, or white space. The longest contraction has three characters, so the fourth of
    a run is not in one.
    cl100k, llama3, voyage3. The same, but numbers are cut after three or one, and a run of others
    may end in line ends, so blanks and line ends are runs of their own.
    o200k, tekken. A word changes where upper case follows lower case, so that lower and upper case
    are runs of their own, and others may end in slashes.
    In all, what a run may follow has been decided by its fourth character.

With normalization (NFC)
    The right one of two characters must begin anew (`begins_anew`), and neither may change by
    itself. Then what is before the place is normalized as if it were alone.

Special tokens
    One may end with the new character. It does not if no special token has the last two characters
    next to each other, or is the last one alone.

Checked in tests/test_cutting.py for all texts of five characters, one or two of each kind, and by
Hypothesis.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from bpe_ref.added_tokens import AddedVocabulary, Recognised, Treatment
from bpe_ref.components import Draw, Model, Normalizer, PreTokenizer, steps_of
from bpe_ref.given_text import any_surrogate, without_surrogates
from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import ByteBPE
from bpe_ref.normalizers.nfc import PinnedNFC, nfc
from bpe_ref.normalizers.normalization_forms import NFC, begins_anew
from bpe_ref.patterns.matches import Regex
from bpe_ref.patterns.registered import PATTERNS
from bpe_ref.patterns.rust import to_oniguruma
from bpe_ref.patterns.unicode_tables import category, white_space
from bpe_ref.pre_tokenizers.byte_level import GPT2_PATTERN, ByteLevel
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.vocabulary import (
    TextRules,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.vocabulary.byte_alphabet import BYTE_OF_LETTER, from_letters, to_letters
from bpe_ref.vocabulary.merges import ByConcatenation, TokenId

REACH: Final = 4
"""So many characters of one run tell that the next one belongs to it."""

LONG: Final = 64
"""Pieces of this many letters or more are counted byte by byte; shorter ones anew, as fast."""

LETTERS_FIRST: Final = 8
"""Letters per token of the vocabulary that are encoded before tables for long pieces are built."""

_TOKENS_LOOKED_AT: Final = 64  # in the time that building tables for one takes

_MOST_KEPT: Final = 4
_BYTES: Final = 256
_GPT2: Final = ("luo", "n", "mpqs", "br")
_CL100K: Final = ("luo", "mpqs", "b", "r")
_O200K: Final = ("lo", "u", "pq", "s", "b", "r")


@cache
def _runs() -> Mapping[str, tuple[str, ...]]:
    """Return the runs of each pattern, in both dialects; each run as letters of `kind_of`."""
    by_name = {
        "gpt2": _GPT2,
        "cl100k": _CL100K,
        "llama3": _CL100K,
        "voyage3": _CL100K,
        "o200k": _O200K,
        "tekken": _O200K,
    }
    as_they_are = {PATTERNS[name].source: runs for name, runs in by_name.items()}
    written = {to_oniguruma(source): runs for source, runs in as_they_are.items()}
    return MappingProxyType({**as_they_are, **written, GPT2_PATTERN: _GPT2})


_SIGNS: Final = {"\r": "r", "\n": "r", "'": "q", "/": "s"}
_KINDS: Final = {"Ll": "l", "Lu": "u", "Lt": "u", "L": "o", "M": "m", "N": "n", "Cs": "x"}


@lru_cache(maxsize=1 << 16)
def kind_of(character: str) -> str:
    r"""Return the kind of a character, one letter.

    l lower case (Ll), u upper and title case (Lu, Lt), o other letters (Lm, Lo),
    m marks (M), n numbers (N), b blanks (white space but \r and \n), r \r and \n,
    q the apostrophe, s the slash, p everything else. x are surrogates, which are
    no characters: nothing is known about them.

    >>> "".join(map(kind_of, "aB\u4f60\u0301 1\n\t'/!"))
    'luombnrbqsp'
    """
    if character in _SIGNS:
        return _SIGNS[character]
    if character in white_space():
        return "b"
    name = category(ord(character))
    return _KINDS.get(name) or _KINDS.get(name[0], "p")


def runs_of(source: str) -> Sequence[str] | None:
    """Return the runs of a pattern; None if none are known.

    >>> runs_of("[a-z]+") is None
    True
    """
    return _runs().get(source)


def in_one_run(runs: Sequence[str], characters: Iterable[str]) -> bool:
    """Return whether all the characters are of one run.

    >>> in_one_run(runs_of(GPT2_PATTERN), "aaaab")
    True
    """
    kinds = set(map(kind_of, characters))
    return any(map(kinds.issubset, runs))


class LastPiece(NamedTuple):
    """The last piece of a text."""

    piece: str
    """The piece; empty if the text ends otherwise, or normalization changed the piece."""

    others: int
    """The number of all other tokens."""

    total: int
    """The number of all tokens."""


@dataclass(frozen=True)
class LongPieces:
    """What is known about the pieces of a tokenizer that merges bytes."""

    count: Callable[[str], int]
    special_spans: Callable[[str], Sequence[tuple[int, int]]]
    """Where the special tokens are in a text without surrogates."""

    specials: frozenset[str]
    cut: Callable[[str], list[str]]
    """From text without special tokens to its pieces, normalized."""

    count_piece: Callable[[str], int]
    runs: Sequence[str] | None
    """None if there is no pattern, and all that is no special token is one piece."""

    normalized: bool
    merging: "Merging"

    @cached_property
    def special_pairs(self) -> frozenset[str]:
        """Every two characters next to each other in some special token."""
        return frozenset(a + b for text in self.specials for a, b in pairwise(text))

    def last_piece(self, text: str) -> LastPiece:
        """Return the last piece, and how many tokens are before it."""
        joined = without_surrogates(text)
        spans = self.special_spans(joined)
        pieces = self.cut(joined[spans[-1][1] if spans else 0 :])[-1:]
        total, piece = self.count(text), "".join(pieces)
        if not text.endswith(piece):
            piece = ""
        inside = self.count_piece(piece) if piece else 0
        return LastPiece(piece, total - inside, total)

    def joins(self, near: Sequence[str], character: str) -> bool:
        """Return whether the character makes the last piece longer, and does nothing else.

        `near` are at least the last `REACH` characters, all of that piece.
        """
        if near[-1] + character in self.special_pairs or character in self.specials:
            return False
        if self.normalized and not _keeps(near[-1], character):
            return False
        if self.runs is not None:
            return in_one_run(self.runs, (*near, character))
        return not any_surrogate(near[-1] + character)

    def settled(self, text: str) -> int:
        """Return the last known place where counts add up, however the text goes on; or 0.

        What follows counts as if it were alone, though the place need not be a safe cut.

        The end of a special token is one if no special token that starts
        before it could still become a longer one. So is a border between two
        numbers, if no special token has both.
        """
        if without_surrogates(text) != text:
            return 0
        longest_special = max(map(len, self.specials), default=0)
        ends = [end for _, end in self.special_spans(text)]
        found = max((end for end in ends if end + longest_special <= len(text)), default=0)
        piece = self.last_piece(text).piece
        border = len(text) - len(piece)
        if piece and border > found and self.runs is not None:
            left, right = text[border - 1], text[border]
            kept = not self.normalized or _keeps(left, right)
            in_special = left + right in self.special_pairs
            # numbers are counted from the first one of their run on
            if kept and not in_special and kind_of(left) == kind_of(right) == "n":
                return border
        return found

    def piece_counter(self) -> "PieceCounter":
        """Return an empty piece to which text can be appended."""
        return PieceCounter(self.merging, AppendEncoder(self.merging.vocabulary))


@dataclass(frozen=True)
class PieceCounter:
    """A piece that grows character by character and can be shortened again."""

    merging: "Merging"
    encoder: AppendEncoder
    sizes: list[int] = field(default_factory=list)
    """After each character: the number of bytes."""

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self.sizes)

    def push(self, text: str) -> None:
        """Append text."""
        for character in text:
            self.encoder.extend(character.encode())
            self.sizes.append(len(self.encoder))

    def truncate(self, length: int) -> None:
        """Keep as many characters."""
        del self.sizes[length:]
        self.encoder.truncate(self.sizes[-1] if self.sizes else 0)

    def count(self) -> int:
        """Return the number of tokens: one if the piece is a token and is taken whole."""
        vocabulary, whole_piece = self.merging
        may_be_whole = whole_piece and len(self.encoder) <= vocabulary.remember(_longest_token)
        if may_be_whole and self.encoder.piece.decode("latin-1") in vocabulary.ids:
            return 1
        return self.encoder.token_count


def _longest_token(vocabulary: Vocabulary) -> int:
    return max(map(len, vocabulary.tokens.values()), default=0)


def _keeps(left: str, right: str) -> bool:
    """Return whether NFC changes neither of two characters, nor moves anything between them."""
    return begins_anew(right) and all(
        nfc(one) == one and category(ord(one)) != "Cn" for one in (left, right)
    )


class CountingModel:
    """A model that returns as many ids as another one, and remembers the long pieces it counted.

    If a piece is a beginning of one of the last ones (an end, unless `forwards`), or one of them
    with more behind it (before it), only what is new is encoded. So texts that begin alike (end
    alike) are counted in little more time than it takes to cut them into pieces.

    This needs tables, and those of a large vocabulary take seconds to build. So they only have the
    tokens that are made of the symbols of these pieces: others take part in no merge. There are
    none until the model has encoded `LETTERS_FIRST` letters per such token, which takes no longer.

    A symbol is a byte if the model is one of bytes, and otherwise a character. The tables are those
    for bytes in any case: each of up to 256 characters is written as one of them.
    """

    def __init__(self, model: Model, *, forwards: bool) -> None:
        """Take the model."""
        self.model, self._forwards = model, forwards
        self._encoder = AppendEncoder if forwards else PrependEncoder
        self._kept: list[tuple[str, AppendEncoder | PrependEncoder]] = []
        self._used: frozenset[str] = frozenset()
        self._written: Mapping[int, int] = {}  # from each of these characters to its byte
        self._merging: Vocabulary | None = None  # of these symbols
        self._encoded = 0
        self._look_from = LETTERS_FIRST * len(model.strings) // _TOKENS_LOOKED_AT

    def __getattr__(self, name: str) -> Any:
        """Return what the model has."""
        return getattr(self.model, name)

    def ids(self, piece: str, draw: Draw | None = None) -> Sequence[TokenId]:
        """Return the ids of a short piece, or as many zeros as a long one has ids."""
        if len(piece) < LONG or self._is_taken_whole(piece):
            return self.model.ids(piece, draw)
        begins = str.startswith if self._forwards else str.endswith
        for kept, encoder in self._kept:
            if begins(kept, piece):
                return [0] * encoder.count_of(len(self._content(piece)))
        merging = self._merging_of(frozenset(piece))
        if merging is None:
            self._encoded += len(piece)
            return self.model.ids(piece, draw)
        shorter = [one for one in self._kept if begins(piece, one[0])]
        kept, encoder = shorter[0] if shorter else ("", self._encoder(merging))
        encoder.truncate(len(self._content(kept)))  # an error may have left more
        encoder.extend(
            self._content(piece[len(kept) :] if self._forwards else piece[: len(piece) - len(kept)])
        )
        others = [one for one in self._kept if one[1] is not encoder]
        self._kept = [(piece, encoder), *others[: _MOST_KEPT - 1]]
        return [0] * encoder.token_count

    def _is_taken_whole(self, piece: str) -> bool:
        if isinstance(self.model, ByteBPE):
            return self.model.whole_token(piece.encode()) is not None
        return (
            isinstance(self.model, BPE) and self.model.ignore_merges and piece in self.model.vocab
        )

    def _content(self, piece: str) -> bytes:
        if isinstance(self.model, ByteBPE):
            return piece.encode()
        return piece.translate(self._written).encode("latin-1")

    def _merging_of(self, used: frozenset[str]) -> Vocabulary | None:
        """Return how the symbols of a piece merge, once tables are worth their time."""
        if not self._used >= used:
            if self._encoded < self._look_from:
                return None
            self._used |= used
            self._written = {ord(one): number for number, one in enumerate(sorted(self._used))}
            self._merging, self._kept = _merging_of_part(self.model, self._used), []
            self._look_from += self._encoded
        merging = self._merging
        if merging is None or self._encoded < LETTERS_FIRST * max(_BYTES, len(merging.tokens)):
            return None
        return merging


class Countable(Protocol):
    """A tokenizer that neither truncates nor pads."""

    @property
    def model(self) -> Model:
        """What turns pieces into tokens."""

    @property
    def normalizer(self) -> Normalizer | None:
        """What changes a text first."""

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """What cuts a text into pieces."""

    @property
    def added(self) -> AddedVocabulary:
        """The added tokens with their ids."""

    def treatment(self, special: Recognised) -> Treatment:
        """Return what `special` means for the added tokens."""

    def replace(self, **components: Any) -> "Countable":
        """Return the tokenizer with other components."""

    def encode(
        self, text: str, *, add_special_tokens: bool = True, special: Recognised = "recognise"
    ) -> list[TokenId]:
        """Return the ids of a text."""


def long_pieces_of(
    tokenizer: Countable,
    treatment: Treatment,
    count: Callable[[str], int],
    spans: Callable[[str], Sequence[tuple[int, int]]],
    merging: "Merging | None",
) -> LongPieces | None:
    """Return what is known about long pieces; None if nothing is.

    The text may be normalized to NFC, and is cut by a known pattern or not at all. Nothing may be
    put in front of it, and no added token may ask for the characters around it.
    """
    normalizer, tokens = tokenizer.normalizer, tokenizer.added.tokens.values()
    normalized = normalizer is not None
    if not all(isinstance(step, NFC | PinnedNFC) for step in steps_of(normalizer)):
        return None
    if any(token.single_word or token.lstrip or token.rstrip for token in tokens):
        return None
    if normalized and any(token.normalized for token in tokens):
        return None  # long pieces would have to know where normalization moves them
    cutting = _cutting(tokenizer.pre_tokenizer)
    if cutting is None:
        return None
    runs, cut_text = cutting
    if merging is None:
        return None
    specials = frozenset(tokenizer.added.ids) - treatment.ordinary
    of_bytes = isinstance(tokenizer.model, ByteBPE)

    def cut(text: str) -> list[str]:
        return cut_text(text if normalizer is None else normalizer.normalize_text(text))

    def count_piece(piece: str) -> int:
        return len(tokenizer.model.ids(piece if of_bytes else to_letters(piece.encode())))

    return LongPieces(count, spans, specials, cut, count_piece, runs, normalized, merging)


def _uncut(text: str) -> list[str]:
    return [text] if text else []


def _cutting(
    pre_tokenizer: PreTokenizer | None,
) -> tuple[Sequence[str] | None, Callable[[str], list[str]]] | None:
    """Return the runs, and what cuts a text into pieces that are not yet written in letters.

    The runs are None without a pattern. None if the pattern is not known, or if there are others.
    """
    match steps_of(pre_tokenizer):
        case [] | [ByteLevel(add_prefix_space=False, use_regex=False)]:
            return None, _uncut
        case [ByteLevel(add_prefix_space=False) as step]:
            source, cut = GPT2_PATTERN, step.plain_pieces
        case [Pattern(pattern=source, cut_text=cut)]:
            pass
        case [
            Split(Regex(source), cut_text=cut, behavior="Isolated")
            | Split(Regex(source), cut_text=cut, behavior="Removed", invert=True),
            ByteLevel(add_prefix_space=False, use_regex=False),
        ] if source != PATTERNS["cl100k"].source:  # whose {1,3}+ means something else there
            pass
        case _:
            return None
    runs = runs_of(source)
    return None if runs is None else (runs, cut)


class Merging(NamedTuple):
    """How a model merges the bytes of a piece."""

    vocabulary: Vocabulary
    whole_piece: bool
    """Whether a piece that is a token is taken whole."""


def merges_symbols(model: Model) -> bool:
    """Return whether a model merges bytes or characters, wherever in a piece they are."""
    return isinstance(model, ByteBPE) or (
        isinstance(model, BPE) and model.spells_alike and not model.drops_merges
    )


def has_symbols_for_bytes(model: Model) -> bool:
    """Return whether a model merges, and every byte is a symbol by itself."""
    return merges_symbols(model) and (not isinstance(model, BPE) or model.spells_bytes)


def merging_of(model: Model, used: frozenset[int] | None = None) -> Merging | None:
    """Return how a model merges bytes; None if not every byte is a symbol by itself.

    If it is known which bytes are used, tokens of others are left out.
    """
    if isinstance(model, ByteBPE):
        whole = model.vocabulary
        return Merging(whole if used is None else _part_of(whole, used), model.whole_piece)
    if not isinstance(model, BPE) or not has_symbols_for_bytes(model):
        return None
    letters = BYTE_OF_LETTER.keys() if used is None else {*to_letters(bytes(used))}
    tokens = {*BYTE_OF_LETTER}
    pairs = [pair for pair in model.merges if used is None or letters >= {*pair[0], *pair[1]}]
    for left, right in pairs:
        tokens |= {left, right, left + right}
    if model.ignore_merges:
        tokens |= {token for token in model.vocab if letters >= set(token)}
    try:
        merges = [(from_letters(left), from_letters(right)) for left, right in pairs]
    except KeyError:  # a merge that no piece of bytes can have
        return None
    ids = {from_letters(token): model.vocab[token] for token in tokens if token}
    text = TextRules(whole_piece=model.ignore_merges)
    return Merging(vocabulary_by_pair(ids, merges, text=text), model.ignore_merges)


def _merging_of_part(model: Model, used: frozenset[str]) -> Vocabulary | None:
    """Return how a model merges the symbols of these characters; None if that is not known.

    It is not if there are too many characters, or if one of them is not a token.
    """
    if isinstance(model, ByteBPE):
        return _part_of(model.vocabulary, frozenset("".join(used).encode()))
    if not isinstance(model, BPE) or len(used) > _BYTES or not used <= model.vocab.keys():
        return None
    pairs = [pair for pair in model.merges if all(pair) and used.issuperset("".join(pair))]
    tokens = used.union(*((left, right, left + right) for left, right in pairs))
    written = {ord(one): number for number, one in enumerate(sorted(used))}

    def content(text: str) -> bytes:
        return text.translate(written).encode("latin-1")

    ids = {content(token): model.vocab[token] for token in tokens}
    return vocabulary_by_pair(ids, [(content(left), content(right)) for left, right in pairs])


def _part_of(vocabulary: Vocabulary, used: frozenset[int]) -> Vocabulary:
    """Return the vocabulary without the longer tokens that have other bytes."""
    tokens, rule = vocabulary.tokens, vocabulary.rule
    ids = {
        content: token
        for token, content in tokens.items()
        if len(content) == 1 or used.issuperset(content)
    }
    if isinstance(rule, ByConcatenation):
        ranks = {content: rule.ranks[token] for content, token in ids.items()}
        return vocabulary_by_concatenation(ranks, ids=ids) if ids else vocabulary
    pairs = ((tokens[left], tokens[right]) for left, right in rule.merges)
    return vocabulary_by_pair(ids, [pair for pair in pairs if b"".join(pair) in ids])
