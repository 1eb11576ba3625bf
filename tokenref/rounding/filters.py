"""Filters as programs calculate them: in a named arithmetic, and a little beside it.

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

Each filter yields sets of kept places: the one that the arithmetic gives, and those that it would
give if the number that decides were off by the slack, either way. What happens at ties, boundaries
and so on is what the values say, as for the steps of `sampling_ref`; only the numbers are rounded.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from math import frexp, inf, sqrt
from operator import add
from typing import Any, Final, TypeAlias

from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.numbers.glibc import expf, logf
from sampling_ref.numbers.orders import largest, largest_first
from sampling_ref.numbers.reals import rounded_exp, rounded_log
from sampling_ref.row import Ties

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


# ---- rows and lines

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
    """Return the first `count` of a line (at least `least`), and ties of the last if all stay."""
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


# ---- filters


def top_p(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what top-p keeps."""
    share, boundary = float(values["p"]), values["boundary"]
    if share == 0 and values["zero"] == "off":
        yield frozenset(range(len(row.shares)))
        return
    if share >= 1 and boundary == "reach":  # programs leave the step out
        yield frozenset(range(len(row.shares)))
        return
    if boundary == "fitting":
        for most in row.around(share, is_exact=row.is_exact):
            yield at_least(row, _fitting(row, most), values)
        return
    order = ordered(row.numbers, values["ties"])
    limits = row.around(share, is_exact=row.is_exact)
    if row.arithmetic.upwards:
        for limit in limits:
            yield first_of(row, order, _count_upwards(row, order, limit, boundary), values)
        return
    line = [row.shares[place] for place in order]
    sums = row.arithmetic.running(line[: enough(line, max(limits))])
    for limit in limits:
        yield first_of(row, order, count_kept(sums, limit, boundary), values)


def _count_upwards(row: Shares, order: Sequence[int], limit: float, boundary: str) -> int:
    """Return the same by running sums from the smallest share up, compared with 1 - p."""
    sums = row.arithmetic.running([row.shares[place] for place in reversed(order)])
    rest = row.arithmetic.one(1 - limit)
    if boundary == "reach":
        return max(1, len(order) - bisect_right(sums, rest))  # programs force the last one
    if boundary == "exceed":
        return max(1, len(order) - bisect_left(sums, rest))
    return len(order) - bisect_left([0.0, *sums[:-1]], rest)  # by what comes after each


def _fitting(row: Shares, most: float) -> Kept:
    heap: list[tuple[float, int]] = []
    running = 0.0
    for place, share in enumerate(row.shares):
        heappush(heap, (share, place))
        running = row.arithmetic.one(running + share)
        while running > most and len(heap) > 1:
            running = row.arithmetic.one(running - heappop(heap)[0])
    return frozenset(place for _, place in heap)


# ---- one threshold for all


def _passing(row: Shares, limit: float, values: Values, *, strictly: bool = False) -> Kept:
    passing = [place for place, share in enumerate(row.shares) if share >= limit]
    if strictly:
        passing = [place for place in passing if row.shares[place] > limit]
    return at_least(row, frozenset(passing), values)


def min_p(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what min-p keeps: by probabilities, and by logits as llama.cpp and mlx-lm do."""
    m, top = float(values["m"]), max(row.shares)
    strictly = values["equality"] == "removed"
    least = max(values["least"], int(values["above_one"] == "best"))
    values = {**values, "least": least}
    if m == 0:
        yield frozenset(range(len(row.shares)))
        return
    one = row.arithmetic.one
    threshold = one(one(m) * top)
    is_exact = row.is_exact and threshold == m * top
    for limit in row.around(threshold, is_exact=is_exact, scale=threshold):
        level = min(limit, top) if m <= 1 else limit  # never above the largest
        yield _passing(row, level, values, strictly=strictly)
    if row.is_logits:
        best = max(row.numbers)
        level = one(best + row.arithmetic.logarithms([one(m)])[0])
        passing = frozenset(
            place
            for place, logit in enumerate(row.numbers)
            if logit > level or (logit == level and not strictly)
        )
        yield at_least(row, passing, values)


def epsilon(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what epsilon keeps."""
    cutoff = float(values["cutoff"])
    for limit in row.around(cutoff, is_exact=row.is_exact, scale=cutoff):
        yield _passing(row, limit, values, strictly=values["equality"] == "removed")


def eta(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what eta keeps."""
    arithmetic, cutoff = row.arithmetic, float(values["cutoff"])
    scale = sqrt(cutoff) if values["scale"] is None else float(values["scale"])
    entropy = entropy_of(row)
    scaled = arithmetic.one(arithmetic.one(scale) * arithmetic.one(rounded_exp(-entropy)))
    is_exact = row.is_exact and cutoff < scaled * (1 - 4 * row.slack)
    threshold = min(cutoff, scaled)
    for limit in row.around(threshold, is_exact=is_exact, scale=threshold * (1 + entropy)):
        yield _passing(row, limit, values, strictly=values["equality"] == "removed")


def top_a(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what top-a keeps."""
    one, top = row.arithmetic.one, max(row.shares)
    threshold = one(one(float(values["a"])) * one(top * top))
    is_exact = row.is_exact and threshold == float(values["a"]) * top * top
    for limit in row.around(threshold, is_exact=is_exact, scale=threshold):
        yield _passing(row, limit, values)


def xtc(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what XTC leaves, where its coin says that it acts."""
    threshold, every = float(values["threshold"]), frozenset(range(len(row.shares)))
    for limit in row.around(threshold, is_exact=row.is_exact, scale=threshold):
        top = _passing(row, limit, {}, strictly=values["equality"] == "does not")
        lowest = min((row.numbers[place] for place in top), default=0.0)
        last = [place for place in top if row.numbers[place] == lowest]
        if values["ties"] != "all" and last:
            last = [max(last) if values["ties"] == "highest id" else min(last)]
        staying = every - top | frozenset(last) | top & frozenset(values["protected"])
        yield staying if len(staying) >= values["least"] else every


# ---- entropies, deviations and curves


def top_n_sigma(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what top-n-sigma keeps."""
    arithmetic, logits, n = row.arithmetic, row.numbers, float(values["n"])
    best, every = max(logits), frozenset(range(len(logits)))
    if len(logits) == 1 or (n == 0 and values["zero"] == "off"):
        yield every
        return
    mean = arithmetic.one(arithmetic.total(logits) / len(logits))
    squares = arithmetic.rounded(
        distance * distance for distance in arithmetic.rounded(logit - mean for logit in logits)
    )
    count = len(logits) - (values["deviation"] == "sample")
    variance = arithmetic.one(arithmetic.total(squares) / count)
    width = arithmetic.one(arithmetic.one(n) * arithmetic.one(sqrt(variance)))
    is_exact = n == 0 or _is_whole(logits, mean, variance)
    for limit in row.around(best - width, is_exact=is_exact, scale=abs(best) + width):
        yield frozenset(place for place in every if logits[place] >= limit)


def _is_whole(logits: Sequence[float], mean: float, variance: float) -> bool:
    """Return whether mean, squares and deviation are short enough that nothing is rounded."""
    short = all(number * 64 % 1 == 0 and abs(number) < 64 for number in (*logits, mean))
    return short and sqrt(variance) * 64 % 1 == 0


def typical(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what typical keeps."""
    arithmetic, mass = row.arithmetic, float(values["mass"])
    logarithms = arithmetic.logarithms(positive(row.shares))
    entropy = arithmetic.total(terms_of(row, logarithms))
    sign = -1 if values["ties"] == "highest id" else 1
    places = [place * sign for place in range(len(row.shares))]
    is_flat = min(row.numbers) == max(row.numbers)
    for middle in row.around(entropy, is_exact=is_flat, scale=1 + entropy):
        far = arithmetic.rounded(
            abs(-logarithm - middle) if share else inf
            for share, logarithm in zip(row.shares, logarithms, strict=True)
        )
        order = [place * sign for _, place in sorted(zip(far, places, strict=True))]
        line = [row.shares[place] for place in order]
        limits = row.around(mass, is_exact=row.is_exact)
        sums = arithmetic.running(line[: enough(line, max(limits))])
        for limit in limits:
            count = len(order) if mass == 1 and values["boundary"] == "reach" else 0
            count = max(count or count_kept(sums, limit, values["boundary"]), 0)
            if values["ties"] == "all" and count:
                while count < len(order) and far[order[count]] == far[order[count - 1]]:
                    count += 1
            yield frozenset(order[: max(count, values["least"])])


def top_h(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what top-h keeps."""
    arithmetic, alpha = row.arithmetic, float(values["alpha"])
    order = ordered(row.numbers, values["ties"], values["best"])
    line = [row.shares[place] for place in order]
    total = arithmetic.total(line)
    line = arithmetic.rounded(share / total for share in line)
    logarithms = arithmetic.logarithms(positive(line))
    terms = arithmetic.rounded(-share * log for share, log in zip(line, logarithms, strict=True))
    sums, whole = arithmetic.running(terms), arithmetic.total(terms)
    if values["entropy"] == "own":
        masses = arithmetic.running(line)
        logs = arithmetic.logarithms(masses)
        sums = arithmetic.rounded(
            part / mass + log for part, mass, log in zip(sums, masses, logs, strict=True)
        )
    if alpha == 1:
        yield frozenset(order)
        return
    for limit in row.around(alpha * whole, is_exact=False, scale=1 + whole):
        yield first_of(row, order, count_kept(sums, limit, "within"), values)


def tail_free(row: Shares, values: Values) -> Iterator[Kept]:
    """Yield what comes before the tail."""
    arithmetic = row.arithmetic
    order = ordered(row.numbers, values["ties"])
    line = [row.shares[place] for place in order]
    steps = arithmetic.rounded(one - two for one, two in pairwise(line))
    bends = arithmetic.rounded(abs(one - two) for one, two in pairwise(steps))
    if not bends:
        yield frozenset(order)
        return
    total = arithmetic.total(bends)
    if total == 0:
        flat = len(bends) if values["cut"] == "centred" else int(float(values["z"]) * len(bends))
        yield _before(row, order, flat, len(bends), values)
        return
    is_power_of_two = frexp(total)[0] == 0.5
    is_exact = row.is_exact and is_power_of_two
    sums = arithmetic.running(arithmetic.rounded(bend / total for bend in bends))
    scale = 1 + 8 / total
    for limit in row.around(float(values["z"]), is_exact=is_exact, scale=scale):
        yield _before(row, order, bisect_right(sums, limit), len(bends), values)


def _before(row: Shares, order: Sequence[int], before: int, bends: int, values: Values) -> Kept:
    if values["cut"] == "counted":
        return first_of(row, order, len(order) if before == bends else before, values)
    return first_of(row, order, before + 1, values)


ROUNDED: Final[Mapping[str, Callable[[Shares, Values], Iterator[Kept]]]] = {
    "top_p": top_p,
    "min_p": min_p,
    "typical": typical,
    "epsilon": epsilon,
    "eta": eta,
    "top_n_sigma": top_n_sigma,
    "top_a": top_a,
    "top_h": top_h,
    "tail_free": tail_free,
    "xtc": xtc,
}
"""The filters that compare numbers which programs round. Top-k compares the row's own."""
