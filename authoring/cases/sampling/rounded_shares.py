"""A row's probabilities in a named arithmetic, and what the rounded filters do with them alike."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeAlias

from authoring.cases.sampling.arithmetics import Arithmetic
from sampling_ref.numbers.orders import Ties, largest, largest_first

Values: TypeAlias = Mapping[str, Any]
"""A step's parameters and choices, under the names of `sampling_ref.STEPS`."""

Kept: TypeAlias = frozenset[int]


@dataclass(frozen=True)
class Shares:
    """The possible tokens of a row by their places, and their probabilities in an arithmetic."""

    arithmetic: Arithmetic
    numbers: tuple[float, ...]
    """The row's own numbers, which order the tokens."""

    shares: Sequence[float]
    slack: float
    """How far off a sum of all shares may be."""

    is_exact: bool
    """Whether the shares and all their sums are exact in every arithmetic."""

    is_logits: bool

    def around(self, number: float, *, is_exact: bool, scale: float = 1.0) -> tuple[float, ...]:
        """Return a number as the arithmetic has it, and what lies around it if it is rounded."""
        rounded = self.arithmetic.one(number)
        if is_exact:
            return (rounded,)
        return rounded, rounded - self.slack * scale, rounded + self.slack * scale


@lru_cache(maxsize=4)
def ordered(numbers: tuple[float, ...], ties: Ties, best: int | None = None) -> list[int]:
    """Return places, the largest number first; every arithmetic asks for the same."""
    return largest_first(numbers, ties) if best is None else largest(numbers, best, ties)


def enough(line: Sequence[float], share: float) -> int:
    """Return how many of a line are surely more than a share: sums do not look further ahead."""
    for place, total in enumerate(accumulate(line)):
        if total > share + 2.0**-8:
            return place + 1
    return len(line)


def count_kept(sums: Sequence[float], limit: float, boundary: str) -> int:
    """Return how many tokens of a walk are kept, by its running sums."""
    if boundary == "within":
        return bisect_right(sums, limit)
    reached = bisect_right(sums, limit) if boundary == "exceed" else bisect_left(sums, limit)
    return min(reached + (boundary != "short"), len(sums))


def at_least(row: Shares, kept: Kept, values: Values) -> Kept:
    """Return the kept places; if they are fewer than `least`, with the leading ones."""
    least = values.get("least", 0)
    if len(kept) >= least:
        return kept
    return kept | frozenset(largest(row.numbers, least, values.get("ties", "lowest id")))


def first_of(row: Shares, order: Sequence[int], count: int, values: Values) -> Kept:
    """Return the first of a line, at least so many, and equals of the last one if all stay."""
    count = max(count, values["least"])
    if values["ties"] == "all" and count > 0:
        while count < len(order) and row.numbers[order[count]] == row.numbers[order[count - 1]]:
            count += 1
    return frozenset(order[:count])


def entropy_of(row: Shares) -> float:
    """Return the entropy in nats."""
    arithmetic = row.arithmetic
    return abs(arithmetic.total(terms_of(row, arithmetic.logarithms(positive(row.shares)))))


def positive(shares: Sequence[float]) -> list[float]:
    """Return shares, those that have no bits left as 1, which adds nothing to an entropy."""
    return [share or 1.0 for share in shares]


def terms_of(row: Shares, logarithms: Sequence[float]) -> list[float]:
    """Return -p log p of each share, given its logarithm."""
    pairs = zip(row.shares, logarithms, strict=True)
    return row.arithmetic.rounded(-share * logarithm for share, logarithm in pairs)
