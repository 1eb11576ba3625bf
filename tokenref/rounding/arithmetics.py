"""The arithmetics in which programs calculate filters, and a row in which a little is moved.

An *arithmetic* says in what numbers, and in which order, a program adds up a row. An answer that
all of these give is safe to ask for; where they differ, rounding decides, and a record says so.
Each is what a kind of real program does:

    f64           64 bits, one number after the other. Reference code, and careful CPU code.
    f32.seq.desc  32 bits, one after the other from the largest down: llama.cpp, candle.
    f32.seq.asc   32 bits, one after the other from the smallest up: transformers, vLLM.
    f32.blocked   32 bits, blocks of 256 one after the other, then the sums of the blocks.
    f32.tree      32 bits, Hillis and Steele's parallel scan, "Data Parallel Algorithms",
                  Communications of the ACM 29(12), 1986: what GPUs do.

In 32 bits exp and log are glibc's, in 64 bits they are correctly rounded, so that the records are
the same bytes on every machine.

The rules are those of `sampling_ref.steps`. `Rounded` is one of their arithmetics, as
`sampling_ref.numbers` has others. Its row moves the number that decides by the slack, either way.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import frexp, inf, sqrt
from operator import add, ge, gt
from typing import Final, TypeAlias

from sampling_ref.numbers.binary32 import Binary32, all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.numbers.exact import HeldWeights
from sampling_ref.numbers.glibc import expf, logf
from sampling_ref.numbers.protocol import (
    Compared,
    Held,
    Numbers,
    OfAll,
    OfEntropy,
    OfLargest,
    OfLargestSquared,
    Row,
    Sigma,
    Threshold,
    Walk,
    refuse,
)
from sampling_ref.numbers.reals import rounded_exp, rounded_log
from sampling_ref.row import Candidates

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
        sums = sums[:step] + all_to_binary32(map(add, sums, sums[step:]))
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
        left = all_to_binary32(map(add, left[::2], left[1::2]))
    return left[0]


OfRow: TypeAlias = Callable[[Sequence[float]], list[float]]


def _remembered(function: OfRow) -> OfRow:
    """Return a function of a row that keeps its last answers: a rule runs often on one row."""
    kept = lru_cache(maxsize=8)(function)
    return lambda numbers: kept(tuple(numbers))


def _each(function: Callable[[float], float]) -> OfRow:
    """Return a function of a row that asks for each different number only once."""

    def of_all(numbers: Sequence[float]) -> list[float]:
        known = {number: function(number) for number in set(numbers)}
        return [known[number] for number in numbers]

    return _remembered(of_all)


_exponentials_in_32_bits: Final = _each(expf)
_logarithms_in_32_bits: Final = _each(logf)
_running_in_sequence: Final = _remembered(running_one_after_the_other)


@dataclass(frozen=True)
class Arithmetic:
    """One way to calculate. `rounded` takes the 64-bit results of one operation on each number."""

    name: str
    about: str
    total: Callable[[Sequence[float]], float]
    running: OfRow
    """The sums of the first 1, 2, 3 ... numbers."""

    upwards: bool = False
    """Whether a sorted row is added up from its smallest number."""

    rounded: Callable[[Iterable[float]], list[float]] = all_to_binary32
    exponentials: OfRow = _exponentials_in_32_bits
    logarithms: OfRow = _logarithms_in_32_bits

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
            _remembered(lambda numbers: list(accumulate(numbers))),
            rounded=list,
            exponentials=_each(rounded_exp),
            logarithms=_each(rounded_log),
        ),
        Arithmetic(
            "f32.seq.desc",
            "32 bits, one number after the other, from the largest down",
            sum_in_binary32,
            _running_in_sequence,
        ),
        Arithmetic(
            "f32.seq.asc",
            "32 bits, one number after the other, from the smallest up",
            sum_in_binary32,
            _running_in_sequence,
            upwards=True,
        ),
        Arithmetic(
            "f32.blocked",
            "32 bits, blocks of 256 numbers, then the sums of the blocks",
            total_by_blocks,
            _remembered(running_by_blocks),
        ),
        Arithmetic(
            "f32.tree", "32 bits, a parallel scan", total_by_tree, _remembered(running_by_tree)
        ),
    )
}
"""Every arithmetic by its name, the one that is nearest to no rounding first."""


FEWEST: Final = 64
"""A shorter row has the margin of a row with this many tokens."""

UNIT: Final = 2.0**-24
"""A unit of rounding in 32 bits."""


def is_dyadic(row: Sequence[float]) -> bool:
    """Return whether probabilities are multiples of 2**-20 that sum to 1.

    Then every sum of some of them is exact in 32 bits.

    >>> is_dyadic([0.5, 0.25, 0.25]), is_dyadic([0.3, 0.7]), is_dyadic([0.5, 0.25])
    (True, False, False)
    """
    scaled = [number * 2**20 for number in row]
    return all(number % 1 == 0 for number in scaled) and sum(scaled) == 2**20


def _is_whole(logits: Sequence[float], mean: float, variance: float) -> bool:
    """Return whether mean, squares and deviation are short enough that nothing is rounded."""
    short = all(number * 64 % 1 == 0 and abs(number) < 64 for number in (*logits, mean))
    return short and sqrt(variance) * 64 % 1 == 0


@dataclass(frozen=True)
class Move:
    """How far the numbers that decide are moved, in units of the slack: 0, -1 or 1."""

    limit: int = 0
    entropy: int = 0
    """Of typical, whose entropy puts the tokens in their order."""

    by_logits: bool = False
    """Whether min-p compares logits, as llama.cpp and mlx-lm do, and not probabilities."""


class RoundedRow(Row):
    """The possible tokens of a row, with their probabilities in an arithmetic."""

    values: Sequence[float]
    move = Move()

    def __init__(
        self, candidates: Candidates, arithmetic: Arithmetic, size: int, *, is_weights: bool
    ) -> None:
        """Take the row's own numbers, which order the tokens, and how many the whole row has."""
        self.candidates = candidates
        self.values = numbers = tuple(map(float, candidates.logits))
        self.impossible = -inf
        self.arithmetic = arithmetic
        self._slack = sqrt(max(size, FEWEST)) * UNIT
        if is_weights:
            self.is_exact = is_dyadic(numbers)
            total = 1.0 if self.is_exact else float(sum(map(Fraction, numbers)))
            weights: Sequence[float] = numbers
        else:
            self.is_exact = min(numbers) == max(numbers) and not len(numbers) & (len(numbers) - 1)
            best = max(numbers)
            weights = arithmetic.exponentials(arithmetic.rounded(x - best for x in numbers))
            total = arithmetic.total(weights)
        self.shares = arithmetic.rounded(weight / total for weight in weights)

    def moved(self, move: Move) -> "RoundedRow":
        """Return the row with the numbers that decide moved."""
        row = copy(self)
        row.move = move
        return row

    def _moved(self, number: float, by: int, *, is_exact: bool, scale: float = 1.0) -> float:
        """Return a number as the arithmetic has it, moved if it is rounded."""
        return self.arithmetic.one(number) + (0 if is_exact else by * self._slack * scale)

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        limit = self._moved(float(share), self.move.limit, is_exact=self.is_exact)
        places = walk.places if isinstance(walk, Walk) else walk
        if isinstance(walk, Walk) and self.arithmetic.upwards:
            return self._reaching_upwards(places, limit, strictly=strictly)
        sums = self.arithmetic.running([self.shares[place] for place in places])
        index = (bisect_right if strictly else bisect_left)(sums, limit)
        return index if index < len(sums) else None

    def _reaching_upwards(
        self, places: Sequence[int], limit: float, *, strictly: bool
    ) -> int | None:
        """Return the same by running sums from the smallest share up, compared with 1 - share."""
        sums = self.arithmetic.running([self.shares[place] for place in reversed(places)])
        rest = self.arithmetic.one(1 - limit)
        if strictly and rest <= 0:
            return None
        removed = (bisect_left if strictly else bisect_right)(sums, rest)
        return max(len(places) - 1 - removed, 0)  # programs force the last one

    def held(self, share: Fraction) -> Held:
        most = self._moved(float(share), self.move.limit, is_exact=self.is_exact)
        kind = float if self.arithmetic.rounded is list else Binary32
        return HeldWeights(self.shares, most, kind)

    def at_least(self, threshold: Threshold, *, strictly: bool) -> list[int]:
        numbers, limit = self._compared(threshold)
        above = gt if strictly else ge
        return [place for place, number in enumerate(numbers) if above(number, limit)]

    def _compared(self, threshold: Threshold) -> tuple[Sequence[float], float]:
        """Return the numbers that a threshold is compared with, and the moved threshold."""
        one, top, by = self.arithmetic.one, max(self.shares), self.move.limit
        match threshold:
            case OfAll(share):
                limit, is_exact = float(share), self.is_exact
                return self.shares, self._moved(limit, by, is_exact=is_exact, scale=limit)
            case OfLargest(share) if share and self.move.by_logits:
                (logarithm,) = self.arithmetic.logarithms([one(float(share))])
                return self.values, one(max(self.values) + logarithm)
            case OfLargest(share):
                limit = one(one(float(share)) * top)
                is_exact = self.is_exact and limit == float(share) * top
                limit = self._moved(limit, by, is_exact=is_exact, scale=limit)
                return self.shares, min(limit, top) if share <= 1 else limit  # the largest stays
            case OfLargestSquared(factor):
                limit = one(one(float(factor)) * one(top * top))
                is_exact = self.is_exact and limit == float(factor) * top * top
                return self.shares, self._moved(limit, by, is_exact=is_exact, scale=limit)
            case OfEntropy(cutoff, coefficient, argument):
                entropy = abs(self.arithmetic.total(self._terms(self.shares)))
                power = sqrt(argument) if coefficient == Fraction(1, 2) else float(argument)
                scaled = one(one(power) * one(rounded_exp(-entropy)))
                is_exact = self.is_exact and cutoff < scaled * (1 - 4 * self._slack)
                limit = min(float(cutoff), scaled)
                scale = limit * (1 + entropy)
                return self.shares, self._moved(limit, by, is_exact=is_exact, scale=scale)
            case Sigma(multiple, deviation):
                return self.values, self._below_the_largest(float(multiple), deviation)
            case _:
                raise refuse("numbers", self.arithmetic.name, "a rule on surprises")

    def _below_the_largest(self, multiple: float, deviation: str) -> float:
        """Return the largest logit less a multiple of the deviation, moved."""
        arithmetic, logits, best = self.arithmetic, self.values, max(self.values)
        if len(logits) == 1:
            return best
        mean = arithmetic.one(arithmetic.total(logits) / len(logits))
        distances = arithmetic.rounded(logit - mean for logit in logits)
        squares = arithmetic.rounded(distance * distance for distance in distances)
        count = len(logits) - (deviation == "sample")
        variance = arithmetic.one(arithmetic.total(squares) / count)
        width = arithmetic.one(arithmetic.one(multiple) * arithmetic.one(sqrt(variance)))
        is_exact = multiple == 0 or _is_whole(logits, mean, variance)
        scale = abs(best) + width
        return self._moved(best - width, self.move.limit, is_exact=is_exact, scale=scale)

    def distances(self) -> list[float]:
        is_flat = min(self.values) == max(self.values)
        entropy = self.arithmetic.total(self._terms(self.shares))
        middle = self._moved(entropy, self.move.entropy, is_exact=is_flat, scale=1 + entropy)
        pairs = zip(self.shares, self._logarithms(self.shares), strict=True)
        return self.arithmetic.rounded(
            abs(-logarithm - middle) if share else inf for share, logarithm in pairs
        )

    def _terms(self, shares: Sequence[float]) -> list[float]:
        """Return -p log p of each share; a share that has no bits left adds nothing."""
        pairs = zip(shares, self._logarithms(shares), strict=True)
        return self.arithmetic.rounded(-share * logarithm for share, logarithm in pairs)

    def _logarithms(self, shares: Sequence[float]) -> list[float]:
        return self.arithmetic.logarithms([share or 1.0 for share in shares])

    def entropy_within(self, line: Sequence[int], alpha: Fraction, *, entropy: str) -> int:
        if alpha == 1:
            return len(line)
        arithmetic = self.arithmetic
        shares = [self.shares[place] for place in line]
        total = arithmetic.total(shares)
        shares = arithmetic.rounded(share / total for share in shares)
        terms = self._terms(shares)
        sums, whole = arithmetic.running(terms), arithmetic.total(terms)
        if entropy == "own":
            masses = arithmetic.running(shares)
            logs = arithmetic.logarithms(masses)
            sums = arithmetic.rounded(
                part / mass + log for part, mass, log in zip(sums, masses, logs, strict=True)
            )
        limit = float(alpha) * whole
        return bisect_right(
            sums, self._moved(limit, self.move.limit, is_exact=False, scale=1 + whole)
        )

    def bends_within(self, line: Sequence[int], share: Fraction) -> int | None:
        rounded = self.arithmetic.rounded
        steps = rounded(self.shares[one] - self.shares[two] for one, two in pairwise(line))
        bends = rounded(abs(one - two) for one, two in pairwise(steps))
        total = self.arithmetic.total(bends)
        if total == 0:
            return None
        is_exact = self.is_exact and frexp(total)[0] == 0.5  # a power of two
        sums = self.arithmetic.running(rounded(bend / total for bend in bends))
        scale = 1 + 8 / total
        limit = self._moved(float(share), self.move.limit, is_exact=is_exact, scale=scale)
        return bisect_right(sums, limit)


class Rounded(Numbers):
    """The arithmetic of one row."""

    def __init__(self, row: RoundedRow) -> None:
        self._row = row

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        return self._row
