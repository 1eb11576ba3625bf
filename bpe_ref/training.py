"""Learn a vocabulary from text.

    Start with a token for each byte, and with every piece of the text as a
    sequence of these. Count all adjacent pairs. The most frequent one becomes
    the next token: merge it everywhere, left to right. Repeat.

Source: Sennrich et al., "Neural Machine Translation of Rare Words with Subword
Units", ACL 2016, section 3.2 and algorithm 1 (https://aclanthology.org/P16-1162).
`learn_naive` is that definition; `learn_incrementally` is the quick one.

What the source leaves open

Ties
    Of equally frequent pairs the one with the lowest left id comes first, and
    of those the one with the lowest right id. Bytes have the ids 0 to 255 and
    every new token gets the next id, so older tokens win. The order of the
    texts therefore does not matter. (Hugging Face's trainer and rustbpe choose
    the same way, with bytes in another order; minbpe and tiktoken's
    educational module take the pair that was seen first.)

Overlapping occurrences
    Every place counts: `aaa` holds (a, a) twice, although only one of the two
    can be merged. That is what the source's own code counts.

Merging a pair that overlaps itself
    From left to right: `aaa` becomes aa a, as when encoding.

A new token that is a token already
    cannot come up. Merging everywhere, pair by pair, is what encoding does
    with the tokens so far. What encoding makes of a stretch of bytes, as long
    as no merge crosses its borders, depends on the stretch alone. So wherever
    two adjacent tokens spell the same bytes, they are the same two tokens; and
    once they are merged, no others ever come to spell these bytes. It follows
    that to count pairs and to count what they spell is the same, and that
    encoding *by concatenation* arrives at exactly the state training left.

Borders of pieces
    Nothing is merged across them: pairs are counted inside a piece. A piece
    that occurs ten times counts ten times.

When to stop
    When there are `size` tokens, or when no pair is left that occurs at least
    `min_count` times and spells at most `max_token_length` bytes. Too little
    text makes a smaller vocabulary, not an error: `len(vocabulary.tokens)`
    tells. Without any text there are the 256 bytes.

Special tokens
    do not count towards `size`; their ids follow the last token that was
    learned. In the texts they are ordinary text.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import islice, pairwise
from typing import Final, NamedTuple

from bpe_ref.errors import ParameterError
from bpe_ref.merges import Pair, TokenId
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import TextRules, Vocabulary, vocabulary_by_concatenation

BYTES: Final = 256
"""How many tokens there are before anything is learned."""

_NOWHERE = -1  # the neighbour of a piece's first and last slot
_EMPTY = -1  # what a slot holds once its token went into the one before


class Learned(NamedTuple):
    """A pair that was merged, and how often it occurred just before."""

    left: TokenId
    right: TokenId
    occurrences: int


@dataclass(frozen=True)
class TrainingProgress:
    """How far a training is: reported after every text read and every token learned.

    >>> TrainingProgress(texts=1, pieces=40, tokens=256, size=300, count=0).tokens
    256
    """

    texts: int
    """How many texts have been read."""

    pieces: int
    """How many different pieces they hold."""

    tokens: int
    """How many tokens there are, without special ones; 256 while texts are being read."""

    size: int
    """How many are wanted."""

    count: int
    """How often the last pair that was merged occurred; 0 before the first."""


def train(
    texts: Iterable[str],
    size: int,
    *,
    text_rules: TextRules | None = None,
    special_tokens: Sequence[str] = (),
    max_token_length: int | None = None,
    min_count: int = 2,
    progress: Callable[[TrainingProgress], None] | None = None,
) -> Vocabulary:
    """Learn a vocabulary of `size` tokens, whose pairs merge by concatenation.

    Ids are ranks: first the 256 bytes, then what was learned, in that order.
    `max_token_length` is in bytes. Texts are read one at a time, and only the
    different pieces and their counts are kept. To stop early, let `progress`
    raise. Raises `ParameterError`, and `PatternError` for a bad pattern.

    >>> vocabulary = train(["aaabdaaabac"], 259)
    >>> [vocabulary.tokens[token] for token in range(256, 259)]
    [b'aa', b'ab', b'aaab']
    """
    _check(size, special_tokens, max_token_length, min_count)
    if isinstance(texts, str):
        raise ParameterError("texts", type(texts), "must be several texts, not one")
    tokens = [bytes([byte]) for byte in range(BYTES)]
    untrained = _vocabulary(tokens, text_rules, special_tokens)

    # cut by the tokenizer itself, so that training sees the pieces that encoding will see
    cut = Tokenizer(untrained).pieces
    read = 0
    pieces: Counter[bytes] = Counter()
    for text in texts:
        pieces.update(piece.encode() for piece in cut(text))
        read += 1
        if progress is not None:
            progress(TrainingProgress(read, len(pieces), BYTES, size, 0))

    learning = learn_incrementally(pieces, max_token_length=max_token_length, min_count=min_count)
    for left, right, count in islice(learning, size - BYTES):
        tokens.append(tokens[left] + tokens[right])
        if progress is not None:
            progress(TrainingProgress(read, len(pieces), len(tokens), size, count))

    return _vocabulary(tokens, text_rules, special_tokens)


def learn_naive(
    pieces: Mapping[bytes, int], *, max_token_length: int | None = None, min_count: int = 2
) -> Iterator[Learned]:
    """Yield the pairs to merge, in order, until none is left. O(text) for each.

    `pieces` are different pieces and how often each occurs. The tokens are
    numbered 0 to 255 for the bytes, then 256 and on for what each pair makes.

    >>> list(learn_naive({b"abab": 1, b"b": 7}))
    [Learned(left=97, right=98, occurrences=2)]
    """
    lengths = [1] * BYTES
    limit = float("inf") if max_token_length is None else max_token_length
    states = [(list(piece), occurrences) for piece, occurrences in pieces.items()]
    while True:
        counts: Counter[Pair] = Counter()
        for tokens, occurrences in states:
            for pair in pairwise(tokens):
                counts[pair] += occurrences

        candidates = [
            (-count, left, right)
            for (left, right), count in counts.items()
            if count >= min_count and lengths[left] + lengths[right] <= limit
        ]
        if not candidates:
            return
        negative_count, left, right = min(candidates)
        yield Learned(left, right, -negative_count)

        result = len(lengths)
        lengths.append(lengths[left] + lengths[right])
        states = [
            (merge_everywhere(tokens, (left, right), result), occurrences)
            for tokens, occurrences in states
        ]


def merge_everywhere(tokens: Sequence[TokenId], pair: Pair, result: TokenId) -> list[TokenId]:
    """Return the tokens with `result` in place of `pair`, from left to right.

    >>> merge_everywhere([7, 7, 7, 8, 7, 7], (7, 7), 9)
    [9, 7, 8, 9]
    """
    merged: list[TokenId] = []
    place = 0
    while place < len(tokens):
        if tuple(tokens[place : place + 2]) == pair:
            merged.append(result)
            place += 2
        else:
            merged.append(tokens[place])
            place += 1
    return merged


def learn_incrementally(
    pieces: Mapping[bytes, int], *, max_token_length: int | None = None, min_count: int = 2
) -> Iterator[Learned]:
    """Yield what `learn_naive` yields. O(n log n) for different pieces of n bytes in all.

    Source: Zouhar et al., "A Formal Perspective on Byte-Pair Encoding",
    Findings of ACL 2023 (https://arxiv.org/abs/2306.16837).

    Invariant
        Each pair that can still be chosen is in the heap once, with *at least*
        the number of its occurrences.

    Why this is the same answer
        Merging a pair makes new neighbours of the new token only. So whatever
        else was counted never rises, and an entry that was right when it was
        made can later only promise too much. An entry that holds what it
        promises comes before all others, and they hold no more than they
        promise: it is the most frequent pair, and the lowest of equals.

    >>> list(learn_incrementally({b"abab": 1, b"b": 7}))
    [Learned(left=97, right=98, occurrences=2)]
    """
    lengths = [1] * BYTES
    limit = float("inf") if max_token_length is None else max_token_length
    text = _lay_out(pieces)
    heap: list[tuple[int, Pair]] = []

    def enter(pair: Pair) -> None:
        """Restore the invariant for a pair that is not in the heap."""
        left, right = pair
        if text.counts[pair] >= min_count and lengths[left] + lengths[right] <= limit:
            heappush(heap, (-text.counts[pair], pair))

    for pair in text.counts:
        enter(pair)

    while heap:
        negative_count, pair = heappop(heap)
        if text.counts[pair] != -negative_count:
            enter(pair)  # it promised too much
            continue
        left, right = pair
        yield Learned(left, right, -negative_count)
        result = len(lengths)
        lengths.append(lengths[left] + lengths[right])
        for new_pair in text.merge(pair, result):
            enter(new_pair)


@dataclass(eq=False)
class _Layout:
    """All different pieces, one after the other, and where in them each pair occurs.

    Representation
        There is a slot for each byte. A merged token is in the slot where it
        starts, and its other slots are empty. `following` and `previous` link
        the slots of a piece that are not empty.

    Invariant
        `counts` says how often each pair occurs. `places` has every slot where
        it occurs (and some where it no longer does), from left to right: the
        merges that fill it go from left to right. For `aaa` that decides.
    """

    slots: list[TokenId] = field(default_factory=list)
    following: list[int] = field(default_factory=list)
    previous: list[int] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    """Slot to the number of times that its piece occurs."""

    counts: defaultdict[Pair, int] = field(default_factory=lambda: defaultdict(int))
    places: defaultdict[Pair, list[int]] = field(default_factory=lambda: defaultdict(list))

    def enter(self, slot: int) -> Pair:
        """Count the pair whose left token is in `slot`."""
        pair = self.slots[slot], self.slots[self.following[slot]]
        self.counts[pair] += self.weights[slot]
        self.places[pair].append(slot)
        return pair

    def merge(self, pair: Pair, result: TokenId) -> set[Pair]:
        """Put `result` in place of `pair` everywhere; return the pairs that are new."""
        left, right = pair
        slots, counts = self.slots, self.counts
        new_pairs: set[Pair] = set()
        for slot in self.places.pop(pair):
            gone = self.following[slot]
            if slots[slot] != left or gone == _NOWHERE or slots[gone] != right:
                continue  # no longer here

            before, after = self.previous[slot], self.following[gone]
            slots[slot], slots[gone] = result, _EMPTY
            self.following[slot] = after
            if before != _NOWHERE:
                counts[slots[before], left] -= self.weights[slot]
                new_pairs.add(self.enter(before))
            if after != _NOWHERE:
                self.previous[after] = slot
                counts[right, slots[after]] -= self.weights[slot]
                new_pairs.add(self.enter(slot))
        del counts[pair]
        return new_pairs


def _lay_out(pieces: Mapping[bytes, int]) -> _Layout:
    """Return the layout of pieces nothing in which is merged yet."""
    text = _Layout()
    for piece, occurrences in pieces.items():
        start, end = len(text.slots), len(text.slots) + len(piece)
        text.slots.extend(piece)
        for slot in range(start, end):
            text.previous.append(slot - 1 if slot > start else _NOWHERE)
            text.following.append(slot + 1 if slot + 1 < end else _NOWHERE)
            text.weights.append(occurrences)
    for slot, after in enumerate(text.following):
        if after != _NOWHERE:
            text.enter(slot)
    return text


def _vocabulary(
    tokens: Sequence[bytes], text_rules: TextRules | None, special_tokens: Sequence[str]
) -> Vocabulary:
    """Return the vocabulary of these tokens, ids in order, special tokens last."""
    return vocabulary_by_concatenation(
        {content: rank for rank, content in enumerate(tokens)},
        text=text_rules,
        special_tokens={text: token for token, text in enumerate(special_tokens, len(tokens))},
    )


def _check(
    size: int, special_tokens: Sequence[str], max_token_length: int | None, min_count: int
) -> None:
    """Raise `ParameterError` for what cannot be asked for."""
    if type(size) is not int or size < BYTES:
        raise ParameterError("size", size, f"must be a whole number from {BYTES}")
    if type(min_count) is not int or min_count < 1:
        raise ParameterError("min_count", min_count, "must be a whole number from 1")
    if max_token_length is not None and (type(max_token_length) is not int or max_token_length < 1):
        raise ParameterError(
            "max_token_length", max_token_length, "must be a whole number from 1, or None"
        )
    if isinstance(special_tokens, str) or not all(
        isinstance(text, str) and text for text in special_tokens
    ):
        raise ParameterError("special_tokens", special_tokens, "must be texts that are not empty")
    if len(set(special_tokens)) < len(special_tokens):
        raise ParameterError("special_tokens", special_tokens, "must be different texts")
