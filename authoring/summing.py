"""Ten orders in which programs add up a long row in 32 bits, and how far they are apart.

A softmax over 128,256 tokens is a sum of 128,256 numbers. One after another, 32 bits lose some
of them; blocks, lanes and trees lose less. All of these are right. So a record about a long row
allows twice the largest distance of these orders from the exact sum, and a program that leaves out
a block of the row must be farther away than that.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, fsum
from random import Random
from struct import Struct
from types import MappingProxyType
from typing import Final

from tokenref.floats import Type
from tokenref.judging_samplers import logprobs_units, probs_units

_F32: Final = Struct("f")
BLOCK: Final = 256
"""A program that leaves out this many entries must be found, except in 16 bits."""


def forwards(weights: Sequence[float]) -> float:
    """Return the sum, one number after another, rounded to 32 bits each time.

    >>> forwards([2.0**24, 1.0, 1.0]) - 2**24, forwards([1.0, 1.0, 2.0**24]) - 2**24
    (0.0, 2.0)
    """
    pack, unpack = _F32.pack, _F32.unpack
    total = 0.0
    for weight in weights:
        (total,) = unpack(pack(total + weight))
    return total


def tree(weights: Sequence[float]) -> float:
    """Return the sum of the sums of both halves, as a reduction adds them."""
    pack, unpack = _F32.pack, _F32.unpack
    row = list(weights)
    while len(row) > 1:
        row += [0.0] * (len(row) % 2)
        pairs = zip(row[::2], row[1::2], strict=True)
        row = [unpack(pack(left + right))[0] for left, right in pairs]
    return row[0]


def blocks(
    size: int, last: Callable[[Sequence[float]], float] = forwards
) -> Callable[[Sequence[float]], float]:
    """Return a sum of the sums of blocks of this size."""
    return lambda weights: last(
        [forwards(weights[at : at + size]) for at in range(0, len(weights), size)]
    )


def lanes(count: int) -> Callable[[Sequence[float]], float]:
    """Return a sum by threads, each of which takes every `count`-th number, and then a tree."""
    return lambda weights: tree([forwards(weights[lane::count]) for lane in range(count)])


def in_any_order(sums: Sequence[float]) -> float:
    """Return the sum in an order that nobody chose, as atomic additions make it."""
    return forwards(Random(7).sample(list(sums), len(sums)))


ORDERS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = MappingProxyType(
    {
        "one after another": forwards,
        "backwards": lambda weights: forwards(weights[::-1]),
        "a tree": tree,
        "blocks of 32": blocks(32),
        "blocks of 256": blocks(256),
        "blocks of 1,024, then a tree": blocks(1024, tree),
        "blocks of 4,096": blocks(4096),
        "32 lanes, then a tree": lanes(32),
        "1,024 threads, then a tree": lanes(1024),
        "blocks of 256, atomic additions": blocks(256, in_any_order),
    }
)
"""The orders by name."""


def weights_of(row: Sequence[float]) -> list[float]:
    """Return e to the power of each logit less the largest, each rounded to 32 bits.

    >>> weights_of([0.0, float("-inf")])
    [1.0, 0.0]
    """
    largest = max(row)
    of = {logit: _F32.unpack(_F32.pack(exp(logit - largest)))[0] for logit in {*row}}
    return [of[logit] for logit in row]


def apart(row: Sequence[float]) -> float:
    """Return the largest relative distance of a sum in one of the orders from the exact one.

    >>> apart([0.0] * 1000)
    0.0
    """
    weights = weights_of(row)
    exact = fsum(weights)
    return max(abs(order(weights) - exact) for order in ORDERS.values()) / exact


def lightest_block(row: Sequence[float], size: int = BLOCK) -> float:
    """Return the smallest share that a block of the row has."""
    weights = weights_of(row)
    shares = [fsum(weights[at : at + size]) for at in range(0, len(row) - size + 1, size)]
    return min(shares, default=0.0) / fsum(weights)


def _running(weights: Sequence[float]) -> Iterator[list[float]]:
    """Yield running sums in 32 bits: one after another, and in blocks that carry their sum."""
    pack, unpack = _F32.pack, _F32.unpack
    for size in (len(weights), 128, 256, 1024, 4096):
        sums: list[float] = []
        for at in range(0, len(weights), size):
            carry, within = sums[-1] if sums else 0.0, 0.0
            for weight in weights[at : at + size]:
                (within,) = unpack(pack(within + weight))
                sums += unpack(pack(carry + within))
        yield sums


def reached(weights: Sequence[float], share: float, *, strictly: bool) -> set[int]:
    """Return the places at which running sums in 32 bits reach a share of the sum.

    There is one place if it does not matter in which order, and in which blocks, a program adds up.
    `strictly` is for draws, whose token is the first with a larger sum, and otherwise the last
    one that has a weight.

    >>> reached([1.0, 1.0, 2.0], 0.5, strictly=False), reached([1.0, 1.0, 2.0], 0.5, strictly=True)
    ({1}, {2})
    """
    shares = {share * order(weights) for order in ORDERS.values()}
    shares |= {_F32.unpack(_F32.pack(each))[0] for each in shares}
    last = max(place for place, weight in enumerate(weights) if weight)
    find = bisect_right if strictly else bisect_left
    return {min(find(sums, each), last) for sums in _running(weights) for each in shares}


def softmax_units(row: Sequence[float], dtype: Type) -> int:
    """Return by how many units a probability may be off, from the orders of a row's sum.

    >>> softmax_units([0.0] * 1000, "f32"), softmax_units([0.0] * 1000, "bf16")
    (8, 2)
    """
    if dtype != "f32":  # computed in 32 bits, and rounded to fewer
        return 2
    return probs_units(2 * apart(row))


def row_logprobs_units(row: Sequence[float], dtype: Type) -> int:
    """Return by how many units the logarithm of a probability may be off, from the orders.

    >>> row_logprobs_units([0.0] * 1000, "bf16")
    2
    """
    return logprobs_units(row, 2 * apart(row)) if dtype == "f32" else 2
