"""Rows on which samplers go wrong, and the numbers at which their decisions change.

Independent random floats hardly ever tie, are never minus infinity, and never lie on a threshold.
So rows are drawn in several kinds, and parameters are computed from a row: a sum of some of its
numbers, moved by zero or one step of the type in either direction.

*Dyadic weights* are multiples of 2**-20 that sum to 1. Every sum of some of them is exact in 32
bits, in any order. An engine that decides differently follows another rule; rounding cannot
explain it.
"""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from math import inf, ldexp, nan
from typing import Final

from hypothesis import strategies as st

from tokenref.floats import DIGITS, Type, from_digits, nearest, to_digits
from tokenref.strategies.texts import mostly

UNIT: Final = 20
"""Dyadic weights are multiples of 2 to the power of minus this."""

MOST: Final = 12
"""Default maximum length of a row: long enough for every decision, short enough to read."""

_WHOLE: Final = 1 << UNIT
_COARSE: Final = 1 << (UNIT - 4)
_TIED: Final = (-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0)
_TINY: Final = (ldexp(1, -149), ldexp(1, -126), -ldexp(1, -149), 0.0)


@cache
def dyadic_weights(most: int = MOST) -> st.SearchStrategy[list[float]]:
    """Return a strategy for weights that are multiples of 2**-20 and sum to 1, some of them 0.

    >>> from hypothesis import find
    >>> found = find(dyadic_weights(), lambda weights: len(weights) > 2)
    >>> sum(found), all(weight * 2**20 % 1 == 0 for weight in found)
    (1.0, True)
    """
    coarse = st.integers(0, _WHOLE // _COARSE).map(lambda part: part * _COARSE)
    cuts = mostly(coarse, st.integers(0, _WHOLE), 4)
    between = st.lists(cuts, max_size=most - 1).map(_parts_between)
    equal = st.integers(0, 3).map(lambda power: [ldexp(1, -power)] * 2**power)
    long = st.sampled_from([9, 11]).map(lambda power: [ldexp(1, -power)] * 2**power)
    return mostly(between, mostly(equal, long, 12) if most == MOST else equal, 6)


def _parts_between(cuts: Sequence[int]) -> list[float]:
    ends = [0, *sorted(cuts), _WHOLE]
    parts = [high - low for low, high in pairwise(ends)]
    order = sorted(range(len(parts)), key=lambda place: place * 7 % 5)  # not by size, not by place
    return [ldexp(parts[place], -UNIT) for place in order]


@cache
def logits(
    most: int = MOST, *, dtype: Type = "f32", impossible: bool = True
) -> st.SearchStrategy[list[float]]:
    """Return a strategy for rows of logits: ties, peaks, constant, narrow and wide rows.

    With `impossible` some tokens may be minus infinity, but never all.

    >>> from hypothesis import find
    >>> float("-inf") in find(logits(), lambda row: float("-inf") in row)
    True
    """
    tied = st.sampled_from(_TIED)
    small = st.integers(-160, 160).map(lambda number: number / 8)
    any_number = st.floats(-200, 200, width=32)
    tiny = st.sampled_from(_TINY)
    kinds = [tied, small, any_number, tied | small, mostly(tied, tiny, 3)]
    if impossible:
        kinds += [mostly(tied, st.just(-inf), 4), mostly(any_number, st.just(-inf), 4)]
    rows = st.one_of(*(st.lists(kind, min_size=1, max_size=most) for kind in kinds))
    equal = st.tuples(tied, st.integers(1, most)).map(lambda drawn: [drawn[0]] * drawn[1])
    peaked = st.tuples(rows, st.integers(0, most - 1), st.sampled_from([30.0, 60.0])).map(_peaked)
    drawn = mostly(st.one_of(rows, peaked), equal, 10).filter(lambda row: max(row) > -inf)
    return drawn.map(lambda row: [nearest(number, dtype) for number in row])


def _peaked(drawn: tuple[list[float], int, float]) -> list[float]:
    row, place, peak = drawn
    return [*row[: place % len(row)], peak, *row[place % len(row) + 1 :]]


@cache
def invalid_rows(dtype: Type = "f32") -> st.SearchStrategy[list[float]]:
    """Return a strategy for invalid rows: NaN, plus infinity, no possible token, empty.

    >>> from hypothesis import find
    >>> find(invalid_rows(), lambda row: True)
    []
    """
    broken = st.tuples(
        logits(4, dtype=dtype), st.sampled_from([nan, inf]), logits(4, dtype=dtype)
    ).map(lambda drawn: [*drawn[0], drawn[1], *drawn[2]])
    nothing = st.integers(0, 3).map(lambda size: [-inf] * size)
    return nothing | broken


def stepped(value: float, by: int, dtype: Type = "f32") -> float:
    """Return the floating-point number `by` steps above a nonnegative number.

    >>> stepped(1.0, -1) == 1 - 2**-24, stepped(0.0, -1)
    (True, 0.0)
    """
    bits = int(to_digits([nearest(value, dtype)], dtype), 16) + by
    return from_digits(f"{max(bits, 0):0{DIGITS[dtype]}x}", dtype)[0]


def near_boundary(
    weights: Sequence[float], dtype: Type = "f32", *, low: float = 0.0, high: float = 1.0
) -> st.SearchStrategy[float]:
    """Return a strategy for numbers at which a decision about weights may change.

    A weight, or a sum of the first ones in some order (falling, rising, as they
    are), moved by a step of the type: none, one up, one down. Kept from `low` to `high`.

    >>> from hypothesis import find
    >>> find(near_boundary([0.75, 0.25]), lambda number: number > 0.5) >= 0.75 - 2**-24
    True
    """
    points = sorted({point for point in _points(weights) if low <= point <= high}) or [low]
    steps = st.sampled_from([0, 0, -1, 1])
    moved = st.builds(lambda point, by: stepped(point, by, dtype), st.sampled_from(points), steps)
    return moved.map(lambda number: min(max(number, low), high))


def _points(weights: Sequence[float]) -> list[float]:
    finite = [weight for weight in weights if 0 <= weight < inf]
    orders = (sorted(finite, reverse=True), sorted(finite), finite)
    return [*finite, *(total for order in orders for total in accumulate(order))]


def uniforms(weights: Sequence[float] = (), dtype: Type = "f32") -> st.SearchStrategy[float]:
    """Return a strategy for random numbers in [0, 1): the ends, and where a draw changes.

    >>> from hypothesis import find
    >>> find(uniforms([0.5, 0.5]), lambda number: number > 0)
    0.5
    """
    largest = {"f32": 1 - 2.0**-24, "f64": 1 - 2.0**-53, "f16": 1 - 2.0**-11, "bf16": 1 - 2.0**-8}
    ends = st.sampled_from([0.0, 0.5, 0.25, 0.75, largest[dtype]])
    return near_boundary(weights, dtype, high=largest[dtype]) | ends if weights else ends


@cache
def histories(size: int, most: int = 12) -> st.SearchStrategy[list[int]]:
    """Return a strategy for histories of tokens below `size`; repetitions are common.

    >>> from hypothesis import find
    >>> set(find(histories(9), lambda history: len(history) > 1)) <= set(range(9))
    True
    """
    few = st.integers(0, min(size, 3) - 1)
    short = st.lists(mostly(few, st.integers(0, size - 1), 3), max_size=most)
    long = st.tuples(short, few, st.sampled_from([20, 64])).map(
        lambda drawn: drawn[0] + [drawn[1]] * drawn[2]
    )
    return mostly(short, long, 12)
