"""Filters as programs calculate them: in a named arithmetic, and a little beside it.

Each function yields sets of kept places: the one that the arithmetic gives, and those
that it would give if the number that decides were off by the slack, either way. What
happens at ties, boundaries and so on is what the values say, as for the steps of
`sampling_ref`; only the numbers are rounded.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from math import sqrt
from types import MappingProxyType
from typing import Final

from authoring.cases.sampling.rounded_curves import tail_free, top_h, top_n_sigma, typical
from authoring.cases.sampling.rounded_shares import (
    Kept,
    Shares,
    Values,
    at_least,
    count_kept,
    enough,
    entropy_of,
    first_of,
    ordered,
)
from sampling_ref.numbers.rounding import rounded_exp


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


ROUNDED: Final[Mapping[str, Callable[[Shares, Values], Iterator[Kept]]]] = MappingProxyType(
    {
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
)
"""The filters that compare numbers which programs round. Top-k compares the row's own."""
