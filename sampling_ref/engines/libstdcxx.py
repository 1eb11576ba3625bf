"""GCC's C++ library: the order in which its sorts leave equals.

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
    sort: at the end one stands for the other.
std::partial_sort
    The first `count` items become a heap whose top is the smallest; every later item
    that is greater replaces the top; at the end the heap is sorted.

NaN
    Every comparison with NaN is false. Where all values are NaN, all are equals, and the
    order is as defined as that of any other equals. A row of which only some are NaN has no
    order.
"""

from collections.abc import Sequence
from math import isnan
from typing import TypeAlias

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
    items.sort(key=_value, reverse=True)
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


def _value(item: Item) -> float:
    return item[0]


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
