"""The orders in which equals are taken, and the largest numbers of a row.

Engines differ in the order of equals more than in anything else, so each order has a name
here. Sorting in Python keeps equals in the order they had, also where `reverse` is set.

The largest numbers
    `largest` returns the first k of `largest_first`. But sorting 128,256 numbers takes ten
    times as long as looking at them, and k is usually small. So the row is cut into chunks,
    and only the chunks with the largest maxima are looked into.

    Why this is the same answer: let t be the k-th largest of the chunks' maxima. At least k
    numbers of the row are t or more, so the k largest are, and so are all equals of the
    k-th. A number that is t or more is in a chunk whose maximum is. Sorting the numbers of
    those chunks that are t or more, in the order of the row, is sorting the part that counts.

The total order of floats
    Rust programs sort by `f32::total_cmp` (IEEE 754-2019, section 5.10, the totalOrder
    predicate; https://doc.rust-lang.org/std/primitive.f32.html#method.total_cmp):

        negative NaN < minus infinity < negative numbers < -0 < +0 < positive numbers
        < plus infinity < positive NaN

    It leaves open where equals go: `max_by` returns the last of them (`last_greatest`),
    `sort_by` keeps them as they were (`greatest_first`). Of two NaNs with the same sign the
    one with the larger significand is farther from zero; a 32-bit NaN keeps its sign and the
    order of its significand as a 64-bit one. An `int` or a `Fraction` lies where it lies
    among the floats, and has one zero, +0.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from heapq import heapify, heapreplace
from math import copysign
from struct import pack, unpack
from types import MappingProxyType
from typing import get_args

from sampling_ref.parameters import read_choice, read_whole
from sampling_ref.row import Candidates, Number, Row, Ties, TokenId


def largest_first(row: Row, ties: Ties = "lowest id") -> list[TokenId]:
    """Return all token ids by falling value, equals in the order in which ties take them.

    The order of this package is by rising id, also where ties are all taken. That by falling
    id is a stable ascending sort read from its end, as PyTorch programs do it.

    >>> largest_first([0.25, 0.5, 0.25]), largest_first([0.25, 0.5, 0.25], "highest id")
    ([1, 0, 2], [1, 2, 0])
    """
    if read_choice("ties", ties, get_args(Ties)) == "highest id":
        return sorted(range(len(row)), key=row.__getitem__)[::-1]
    return sorted(range(len(row)), key=row.__getitem__, reverse=True)


def first_largest(row: Row) -> TokenId:
    """Return the lowest id among the largest values: the usual argmax.

    >>> first_largest([0.25, 0.5, 0.5])
    1
    """
    return row.index(max(row))


def last_largest(row: Row) -> TokenId:
    """Return the highest id among the largest values: what Rust's `max_by` returns.

    >>> last_largest([0.5, 0.5, 0.25])
    1
    """
    return len(row) - 1 - row[::-1].index(max(row))


_CHUNKS_PER_NUMBER = 6


def largest(row: Row, k: int, ties: Ties = "lowest id") -> list[TokenId]:
    """Return the ids of the k largest numbers, largest first; all ids if the row has fewer.

    Equals are in order of id, lowest first or highest first. With "all" they are lowest
    first, and the equals of the last one are taken too. The row must not be empty.

    >>> largest([0.25, 0.5, 0.25, 0.25], 2), largest([0.25, 0.5, 0.25, 0.25], 2, "all")
    ([1, 0], [1, 0, 2, 3])
    >>> largest([0.25, 0.5, 0.25, 0.25], 2, "highest id")
    [1, 3]
    """
    read_choice("ties", ties, get_args(Ties))
    if not read_whole("k", k):
        return []
    size = min(len(row) // (_CHUNKS_PER_NUMBER * k), 64)  # longer ones find their maximum no sooner
    large = list(range(len(row)))
    if size > 1:
        starts = range(0, len(row), size)
        tops = [max(row[start : start + size]) for start in starts]
        limit = sorted(tops, reverse=True)[k - 1]
        large = [
            token
            for start, top in zip(starts, tops, strict=True)
            if top >= limit
            for token, number in enumerate(row[start : start + size], start)
            if number >= limit
        ]
    ordered = in_order(row, large, ties)
    if ties == "all":
        while k < len(ordered) and row[ordered[k]] == row[ordered[k - 1]]:
            k += 1
    return ordered[:k]


def in_order(row: Row, tokens: list[TokenId], ties: Ties) -> list[TokenId]:
    """Return some tokens of a row, given by rising id, largest first.

    >>> in_order([0.25, 0.5, 0.25], [0, 2], "lowest id")
    [0, 2]
    """
    if len(tokens) == len(row):
        return largest_first(row, ties)
    return [tokens[place] for place in largest_first([row[token] for token in tokens], ties)]


def total_order_key(number: Number) -> tuple[int, Number, bool]:
    """Return a key that sorts numbers in the total order.

    It says whether a NaN is below or above the numbers, where a number is, whether it is +0.

    >>> sorted([float("nan"), 0.0, float("-inf"), -0.0, 1.5], key=total_order_key)
    [-inf, -0.0, 0.0, 1.5, nan]
    >>> total_order_key(-0.0) < total_order_key(0) == total_order_key(0.0)
    True
    """
    if not isinstance(number, float):
        return 0, number, number == 0
    if number == number:  # noqa: PLR0124 - only a NaN is unequal to itself
        return 0, float(number), number == 0 and copysign(1.0, number) > 0
    (pattern,) = unpack(">q", pack(">d", number))  # with its sign bit a negative integer
    significand = pattern & (2**52 - 1)
    return (1, significand, False) if pattern >= 0 else (-1, -significand, False)


def last_greatest(row: Row) -> TokenId:
    """Return the highest id among the greatest numbers: `max_by` with `total_cmp`.

    >>> last_greatest([0.5, 2.0, 2.0]), last_greatest([0.0, -0.0])
    (2, 0)
    >>> last_greatest([float("nan"), float("inf")])
    0
    """
    return max(reversed(range(len(row))), key=lambda token: total_order_key(row[token]))


def greatest_first(row: Row) -> list[TokenId]:
    """Return all token ids by falling number, equals by rising id.

    This is what `sort_by` makes of the ids 0, 1, 2, ... with `total_cmp` the other way round.

    >>> greatest_first([0.5, -0.0, 0.0, 0.5])
    [0, 3, 2, 1]
    """
    return sorted(range(len(row)), key=lambda token: total_order_key(row[token]), reverse=True)


def _stably(candidates: Candidates, count: int) -> Candidates:
    return replace(candidates.at(largest(candidates.logits, count)), is_sorted=True)


def _stably_if_cut(candidates: Candidates, count: int) -> Candidates:
    """Sort as programs do that touch nothing where all candidates are wanted."""
    return candidates if count == len(candidates.tokens) else _stably(candidates, count)


def _as_exllamav2(candidates: Candidates, count: int) -> Candidates:
    """Hold the largest in a heap, as the candidates come, and let them out the largest first.

    A newcomer must be larger than the smallest one held; of equals the one of the lowest id
    leaves first, and comes out last.
    """
    if count == len(candidates.tokens):
        return candidates
    pairs = zip(candidates.logits, candidates.tokens, strict=True)
    items = [(logit, token, place) for place, (logit, token) in enumerate(pairs)]
    heap = items[:count]
    heapify(heap)
    for item in items[count:]:
        if item[0] > heap[0][0]:
            heapreplace(heap, item)
    places = [place for _, _, place in sorted(heap, reverse=True)]
    return replace(candidates.at(places), is_sorted=True)


ORDERS: Mapping[str, Callable[[Candidates, int], Candidates]] = MappingProxyType(
    {"sorted": _stably, "sorted if cut": _stably_if_cut, "heap": _as_exllamav2}
)
"""How engines sort their candidates before a step, and leave them sorted: each takes candidates
and how many of the largest are wanted. llama.cpp sorts within its steps: see `llama_cpp_order`."""
