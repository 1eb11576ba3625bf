"""llama.cpp's order of candidates: it sorts them step by step, with GCC's C++ library.

The engine draws along its list of candidates, and cuts equals where its sort has left them.
So its rows sort where the engine sorts, and leave the list as the engine leaves it. Decisions
are those of the arithmetic, exact (`LLAMA_EXACT`) or in 32 bits (`LLAMA_32`).

Falling order (`llama_token_data_array_partial_sort` and its `_inplace` in
src/llama-sampler.cpp)
    For at most 128 wanted candidates std::partial_sort on all of them. For more, the logits
    are thrown into 128 buckets of width 0.15625 from -10 to 10. Buckets are taken from the
    top until there are enough candidates; all but the last one are sorted by std::sort, the
    last one by std::partial_sort.
The index of a bucket
    6.4 * logit + 64 in binary32, cut towards zero, then brought into 0 to 127.
Huge logits
    An index beyond 32 bits has no meaning in C++. On x86-64 it becomes the smallest integer:
    bucket 0. A logit above 335,544,256 is thus treated as the *smallest*. So it is here.
Top-p
    At most 1,024 unsorted candidates are sorted as top-k would. Of more, the 256 largest are
    taken by buckets; if their sum does not suffice, all are sorted by buckets.
Removed candidates
    What top-n-sigma removes, and what a logit bias bans, stays in the list at minus infinity.
    It counts where the engine counts candidates: for `min_keep`, for the largest entropy of
    the dynamic temperature, and for whether there is anything to do.
Not a number
    Beside an impossible candidate the engine's entropy of typical is 0 times infinity. No
    distance is smaller than another then, and the candidates are cut in the order in which
    std::sort leaves equals. That follows from the formulas and not from rounding, so it is
    the same in both arithmetics.

GCC's C++ library: the order in which its sorts leave equals.

The C++ standard says what is sorted, and leaves open where equals end up. An engine that
draws from a sorted list makes that visible. So here are the two algorithms of
libstdc++ (bits/stl_algo.h and bits/stl_heap.h of GCC, unchanged for decades,
https://gcc.gnu.org/onlinedocs/libstdc++/), for falling order: a comes before b if a > b.

std::sort
    Introsort (David R. Musser, "Introspective sorting and selection algorithms", Software:
    Practice and Experience 27(8), 1997): quicksort around the median of the second,
    the middle and the last item; a range that is halved badly too often is heap-sorted; ranges
    of at most 16 items are left as they are, and one insertion sort at the end finishes
    all of them. Insertion sort keeps equals in the order they have, and so does Python's
    sort: at the end Python's is used.
std::partial_sort
    The first `count` items become a heap whose top is the smallest; every later item
    that is greater replaces the top; at the end the heap is sorted.

NaN
    Every comparison with NaN is false. Where all values are NaN, all are equals, and the
    order is as defined as that of any other equals. A row of which only some are NaN has no
    order.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, isnan, nan
from operator import itemgetter
from typing import TypeAlias

from sampling_ref.numbers.binary32 import all_to_binary32, to_binary32
from sampling_ref.numbers.exact import Exact, ExactRow
from sampling_ref.numbers.llama32 import Llama32, Llama32Row
from sampling_ref.numbers.protocol import (
    Compared,
    OfAll,
    Row,
    Surprise,
    Threshold,
    Walk,
    Width,
    refuse,
)
from sampling_ref.random.uniforms import libstdcxx_double, libstdcxx_float
from sampling_ref.row import Candidates, Number, Ties

Item: TypeAlias = tuple[float, int]
"""A value, and the position it came from."""

_SMALL = 16  # ranges up to this size are left to the last insertion sort


def order_of_sort(values: Sequence[float]) -> list[int]:
    """Return the positions of all values in the order in which std::sort leaves them.

    >>> order_of_sort([0.25, 0.5, 0.25])
    [1, 0, 2]
    >>> order_of_sort([0.0] * 17)
    [8, 16, 15, 14, 13, 12, 11, 10, 9, 0, 7, 6, 5, 4, 3, 2, 1]
    """
    if len(set(values)) == len(values) and not isnan(sum(values)):
        # Without equals there is only one order, and Python finds it faster.
        return sorted(range(len(values)), key=values.__getitem__, reverse=True)
    items = [(value, position) for position, value in enumerate(values)]
    rounds_left = 2 * (len(items).bit_length() - 1)
    _quicksort(items, 0, len(items), rounds_left)
    items.sort(key=itemgetter(0), reverse=True)
    return [position for _, position in items]


def order_of_partial_sort(values: Sequence[float], count: int) -> list[int]:
    """Return the positions of the `count` largest values as std::partial_sort leaves them.

    >>> order_of_partial_sort([0.25, 0.5, 0.25], 2)
    [1, 0]
    """
    if count == len(values) and len(set(values)) == count and not isnan(sum(values)):
        # Without equals there is only one order, and Python finds it faster.
        return sorted(range(count), key=values.__getitem__, reverse=True)
    items = [(value, position) for position, value in enumerate(values)]
    heap = items[:count]
    _make_heap(heap)
    if heap:
        for item in items[count:]:
            if item[0] > heap[0][0]:
                _sink(heap, 0, count, item)
    _sort_heap(heap)
    return [position for _, position in heap]


def _quicksort(items: list[Item], first: int, last: int, rounds_left: int) -> None:
    """Order `items[first:last]` up to ranges of 16."""
    while last - first > _SMALL:
        if rounds_left == 0:
            heap = items[first:last]
            _make_heap(heap)
            _sort_heap(heap)
            items[first:last] = heap
            return
        rounds_left -= 1
        _median_to_front(items, first, first + 1, first + (last - first) // 2, last - 1)
        cut = _partition(items, first + 1, last, items[first][0])
        _quicksort(items, cut, last, rounds_left)
        last = cut


def _median_to_front(items: list[Item], front: int, a: int, b: int, c: int) -> None:
    """Swap the median of the items at a, b and c to the front; which one, if equals, matters."""
    if items[a][0] > items[b][0]:
        if items[b][0] > items[c][0]:
            median = b
        elif items[a][0] > items[c][0]:
            median = c
        else:
            median = a
    elif items[a][0] > items[c][0]:
        median = a
    elif items[b][0] > items[c][0]:
        median = c
    else:
        median = b
    items[front], items[median] = items[median], items[front]


def _partition(items: list[Item], left: int, right: int, pivot: float) -> int:
    """Bring what is greater than the pivot in front; return where the others begin.

    Items equal to the pivot are swapped too. The median of three sees to it that neither
    walk leaves the range.
    """
    while True:
        while items[left][0] > pivot:
            left += 1
        right -= 1
        while pivot > items[right][0]:
            right -= 1
        if left >= right:
            return left
        items[left], items[right] = items[right], items[left]
        left += 1


def _make_heap(heap: list[Item]) -> None:
    """Order a list so that no item is greater than its children (at 2i + 1 and 2i + 2)."""
    for parent in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, parent, len(heap), heap[parent])


def _sort_heap(heap: list[Item]) -> None:
    """Turn a heap into a falling list: the smallest goes to the end, again and again."""
    for end in range(len(heap) - 1, 0, -1):
        item = heap[end]
        heap[end] = heap[0]
        _sink(heap, 0, end, item)


def _sink(heap: list[Item], hole: int, size: int, item: Item) -> None:
    """Put an item into the heap `heap[:size]` in place of the one at `hole`.

    The hole first goes down to the bottom, to the smaller child each time, the right one of
    equals. From there the item rises.
    """
    start = hole
    while 2 * hole + 2 < size:
        child = 2 * hole + 2
        if heap[child][0] > heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if 2 * hole + 2 == size:  # a left child alone
        heap[hole] = heap[2 * hole + 1]
        hole = 2 * hole + 1
    while hole > start and heap[(hole - 1) // 2][0] > item[0]:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = item


_BUCKETS = 128
_SCALE = to_binary32(6.4)
_MIDDLE = 64.0
_END_OF_INTEGERS = 2.0**31

_MANY = 1024
_FIRST_TRY = 256


def falling_positions(logits: Sequence[float], count: int) -> list[int]:
    """Return the positions of the `count` largest logits, as the engine orders them.

    >>> falling_positions([0.5, 1.5, 0.5], 2)
    [1, 0]
    """
    if count <= _BUCKETS:
        return order_of_partial_sort(logits, count)
    return falling_positions_by_buckets(logits, count)


def falling_positions_by_buckets(logits: Sequence[float], count: int) -> list[int]:
    """Return the same by way of the buckets, however few are wanted.

    >>> falling_positions_by_buckets([0.5, 1.5, 0.5], 2)
    [1, 0]
    """
    buckets: list[list[int]] = [[] for _ in range(_BUCKETS)]
    for position, bucket in enumerate(_bucket_indices(logits)):
        buckets[bucket].append(position)
    positions: list[int] = []
    for members in reversed(buckets):
        values = [logits[position] for position in members]
        wanted = count - len(positions)
        if len(members) >= wanted:
            order = order_of_partial_sort(values, wanted)
            return positions + [members[place] for place in order]
        positions += [members[place] for place in order_of_sort(values)]
    return positions


def _bucket_indices(logits: Sequence[float]) -> list[int]:
    scaled = all_to_binary32([_SCALE * logit for logit in logits])
    return [
        max(0, min(_BUCKETS - 1, int(number))) if abs(number) < _END_OF_INTEGERS else 0
        for number in all_to_binary32([number + _MIDDLE for number in scaled])
    ]


class LlamaWalk(Walk):
    """The walk of top-p: the 256 largest of more than 1,024 candidates first, then all."""

    def __init__(self, candidates: Candidates) -> None:
        super().__init__(candidates.logits, nan, "lowest id")
        self._floats = candidates.floats()
        size = len(self._floats)
        self.is_first_try = not candidates.is_sorted and size > _MANY
        if candidates.is_sorted:
            self.places = list(range(size))
        elif self.is_first_try:
            self.places = falling_positions_by_buckets(self._floats, _FIRST_TRY)
        else:
            self.places = falling_positions(self._floats, size)

    def __len__(self) -> int:
        """Return how many candidates there are."""
        return len(self.values)

    def go_on(self) -> None:
        """Sort all candidates."""
        if self.is_first_try:
            self.places = falling_positions_by_buckets(self._floats, len(self._floats))
            self.is_first_try = False

    def first(self, count: int) -> Collection[int]:
        if count > len(self.places):
            self.go_on()
        return self.places[:count]


class LlamaOrder(Row):
    """A row in llama.cpp's order; mixed into the row of an arithmetic."""

    def possible(self) -> list[int]:
        """Return all places: an impossible candidate stays one."""
        return list(range(len(self.values)))

    def ordered(self) -> Row:
        if self.candidates.is_sorted:
            return self
        order = falling_positions(self.candidates.floats(), len(self.values))
        found = replace(self.candidates.at(order), is_sorted=True, whole=self.candidates.whole)
        return type(self)(found)  # type: ignore[call-arg] # of the mix

    def falling(self, ties: Ties) -> Walk:
        """Return the walk of top-p."""
        return LlamaWalk(self.candidates)

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        """Return where the running sum reaches a share; of the 256 largest first."""
        if not isinstance(walk, LlamaWalk):
            return super().reaching(walk, share, strictly=strictly, of=of)
        end = super().reaching(walk.places, share, strictly=strictly)
        if end is None and walk.is_first_try:
            walk.go_on()
            end = super().reaching(walk.places, share, strictly=strictly)
        return end

    def nearest(self, distances: Sequence[float], ties: Ties) -> list[int]:
        """Return the order in which std::sort leaves the distances."""
        return order_of_sort([-distance for distance in distances])

    def largest(self, count: int, ties: Ties) -> list[int]:
        """Return the places of the largest logits; exactly `count`, as the sort leaves them."""
        count = min(count, len(self.values))
        if self.candidates.is_sorted:
            return list(range(count))
        return falling_positions(self.candidates.floats(), count)

    def last_of(self, places: Sequence[int], ties: Ties) -> list[int]:
        """Return the last place of a sorted row."""
        return [places[-1]]

    def keep(self, places: Iterable[int], order: str = "") -> Candidates:
        """Return the kept candidates in the order of the sort, if there was one."""
        if not order:
            return self.candidates.at(sorted(places))
        return replace(self.candidates.at(list(places)), is_sorted=order == "falling")

    def keep_at_least(
        self, threshold: Threshold, *, strictly: bool, least: int, ties: Ties
    ) -> Candidates:
        """Return the candidates above a threshold: sort them only if they are too few.

        Otherwise unsorted candidates stay in their order. Mirostat 2 always sorts. A sorted
        list is cut at the first candidate that does not pass.
        """
        if not self.candidates.is_sorted and not isinstance(threshold, Surprise):
            kept = self.at_least(threshold, strictly=strictly)
            if len(kept) >= max(1, least):
                return self.keep(kept)
        row = self.ordered()
        passing = set(row.at_least(threshold, strictly=strictly))
        count = 1
        while count < len(row.values) and (count in passing or count < least):
            count += 1
        return row.keep(range(count))


class LlamaExactRow(LlamaOrder, ExactRow):
    """Exact decisions in llama.cpp's order."""

    def distances(self) -> list[float]:
        """Return ranks, or NaN for all beside an impossible candidate."""
        return [nan] * len(self.values) if -inf in self.values else super().distances()

    def at_least(self, threshold: Threshold, *, strictly: bool) -> list[int]:
        """Return the places above a threshold; a share of 0 is reached by impossible ones too."""
        if isinstance(threshold, OfAll) and threshold.share == 0:
            return self.possible()
        return super().at_least(threshold, strictly=strictly)


class Llama32OrderedRow(LlamaOrder, Llama32Row):
    """Decisions in 32 bits in llama.cpp's order."""


class LlamaExact(Exact):
    """Exact arithmetic in llama.cpp's order."""

    sorts = True

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        if compared == "whole shares":
            raise refuse("base", "the whole row", "llama.cpp's order")
        return LlamaExactRow(candidates)


class LlamaRounded(Llama32):
    """llama.cpp's 32-bit floats and its order; random numbers are made of the engine's words."""

    sorts = True
    row = Llama32OrderedRow

    def uniform(self, number: Number, width: Width) -> Number:
        """Return the number that the C++ library makes of one word, or of two.

        A number that it has made already stays as it is.
        """
        if width == "f32":
            return libstdcxx_float(int(number * 2**32))
        high, low = divmod(int(number * 2**64), 2**32)
        return libstdcxx_double(low, high)


LLAMA_EXACT = LlamaExact()
"""Exact arithmetic in llama.cpp's order."""

LLAMA_32 = LlamaRounded()
"""llama.cpp's 32-bit floats in its order: the same bits as the engine."""
