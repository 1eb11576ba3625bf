"""Learn merges from pieces, counting again only what a merge changes.

Source: Zouhar et al., "A Formal Perspective on Byte-Pair Encoding", Findings
of ACL 2023 (https://arxiv.org/abs/2306.16837). What it must compute is in
`learning`; why it does is at `learn_incrementally`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from bpe_ref.learning import BYTES, Learned
from bpe_ref.vocabulary.merges import Pair, TokenId

_NOWHERE = -1  # the neighbour of a piece's first and last slot
_EMPTY = -1  # what a slot holds once its token went into the one before


def learn_incrementally(
    pieces: Mapping[bytes, int], *, max_token_length: int | None = None, min_count: int = 2
) -> Iterator[Learned]:
    """Yield what `learn_naive` yields. O(n log n) for different pieces of n bytes in all.

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
