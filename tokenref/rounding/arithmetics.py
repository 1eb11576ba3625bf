"""The named arithmetics: in what numbers, and in which order, programs add up a row.

An answer that all of these give is safe to ask for; where they differ, rounding
decides, and a record says so. Each is what a kind of real program does:

    f64           64 bits, one number after the other. Reference code, and careful CPU code.
    f32.seq.desc  32 bits, one after the other from the largest down: llama.cpp, candle.
    f32.seq.asc   32 bits, one after the other from the smallest up: transformers, vLLM.
    f32.blocked   32 bits, blocks of 256 one after the other, then the sums of the blocks.
    f32.tree      32 bits, Hillis and Steele's parallel scan, "Data Parallel Algorithms",
                  Communications of the ACM 29(12), 1986: what GPUs do.

In 32 bits exp and log are glibc's, in 64 bits they are correctly rounded, so that
the records are the same bytes on every machine.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import Final

from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.numbers.glibc import expf, logf
from sampling_ref.numbers.reals import rounded_exp, rounded_log

BLOCK: Final = 256
"""Numbers of one block of the blocked scan: threads of a usual block on a GPU."""


def running_one_after_the_other(numbers: Sequence[float]) -> list[float]:
    """Return the running sums in 32 bits, each rounded before the next number is added.

    >>> running_one_after_the_other([2.0**24, 1.0, 1.0])[-1] == 2.0**24
    True
    """
    total, sums = array("f", (0.0,)), []
    for number in numbers:
        total[0] += number
        sums.append(total[0])
    return sums


def running_by_blocks(numbers: Sequence[float]) -> list[float]:
    """Return the running sums in 32 bits: within each block, plus the blocks before it.

    >>> running_by_blocks([1.0] * 256 + [2.0**24, 1.0])[-2:] == [2.0**24 + 256, 2.0**24 + 256]
    True
    """
    sums: list[float] = []
    before = 0.0
    for start in range(0, len(numbers), BLOCK):
        own = running_one_after_the_other(numbers[start : start + BLOCK])
        sums += all_to_binary32([before + number for number in own])
        before = to_binary32(before + own[-1])
    return sums


def running_by_tree(numbers: Sequence[float]) -> list[float]:
    """Return the running sums in 32 bits: each number takes on the one 1, 2, 4 ... before it.

    >>> running_by_tree([2.0**24, 1.0, 1.0])[2] == 2.0**24 + 2
    True
    """
    sums, step = list(numbers), 1
    while step < len(sums):
        sums = sums[:step] + all_to_binary32(list(map(add, sums, sums[step:])))
        step *= 2
    return sums


def total_by_blocks(numbers: Sequence[float]) -> float:
    """Return the sum in 32 bits of the sums of the blocks.

    >>> total_by_blocks([2.0**24] + [1.0] * 511) == 2.0**24 + 256
    True
    """
    starts = range(0, len(numbers), BLOCK)
    return sum_in_binary32(sum_in_binary32(numbers[at : at + BLOCK]) for at in starts)


def total_by_tree(numbers: Sequence[float]) -> float:
    """Return the sum in 32 bits of pairs, of pairs of pairs, and so on.

    >>> total_by_tree([2.0**24, 0.0, 1.0, 1.0]) == 2.0**24 + 2
    True
    """
    left = list(numbers)
    while len(left) > 1:
        if len(left) % 2:
            left.append(0.0)
        left = all_to_binary32(list(map(add, left[::2], left[1::2])))
    return left[0]


def _each(function: Callable[[float], float]) -> Callable[[Sequence[float]], list[float]]:
    """Return a function of a row that asks for each different number only once."""

    def of_all(numbers: Sequence[float]) -> list[float]:
        known = {number: function(number) for number in set(numbers)}
        return [known[number] for number in numbers]

    return of_all


def _to_32_bits(numbers: Iterable[float]) -> list[float]:
    return all_to_binary32(list(numbers))


_exponentials_in_32_bits: Final = _each(expf)
_logarithms_in_32_bits: Final = _each(logf)


@dataclass(frozen=True)
class Arithmetic:
    """One way to calculate. `rounded` takes the 64-bit results of one operation on each number."""

    name: str
    about: str
    total: Callable[[Sequence[float]], float]
    running: Callable[[Sequence[float]], list[float]]
    """The sums of the first 1, 2, 3 ... numbers."""

    upwards: bool = False
    """Whether a sorted row is added up from its smallest number."""

    rounded: Callable[[Iterable[float]], list[float]] = _to_32_bits
    exponentials: Callable[[Sequence[float]], list[float]] = _exponentials_in_32_bits
    logarithms: Callable[[Sequence[float]], list[float]] = _logarithms_in_32_bits

    def one(self, number: float) -> float:
        """Return one number, rounded.

        >>> ARITHMETICS["f32.tree"].one(0.1)
        0.10000000149011612
        """
        return self.rounded([number])[0]


ARITHMETICS: Final = {
    each.name: each
    for each in (
        Arithmetic(
            "f64",
            "64 bits, one number after the other",
            lambda numbers: list(accumulate(numbers))[-1],
            lambda numbers: list(accumulate(numbers)),
            rounded=list,
            exponentials=_each(lru_cache(1 << 18)(rounded_exp)),
            logarithms=_each(rounded_log),
        ),
        Arithmetic(
            "f32.seq.desc",
            "32 bits, one number after the other, from the largest down",
            sum_in_binary32,
            running_one_after_the_other,
        ),
        Arithmetic(
            "f32.seq.asc",
            "32 bits, one number after the other, from the smallest up",
            sum_in_binary32,
            running_one_after_the_other,
            upwards=True,
        ),
        Arithmetic(
            "f32.blocked",
            "32 bits, blocks of 256 numbers, then the sums of the blocks",
            total_by_blocks,
            running_by_blocks,
        ),
        Arithmetic("f32.tree", "32 bits, a parallel scan", total_by_tree, running_by_tree),
    )
}
"""Every arithmetic by its name, the one that is nearest to no rounding first."""
