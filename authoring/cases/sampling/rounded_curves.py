"""Filters by entropies, deviations and curves as programs calculate them; see `rounded_filters`."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import frexp, inf, sqrt

from authoring.cases.sampling.rounded_shares import (
    Kept,
    Shares,
    Values,
    count_kept,
    enough,
    first_of,
    ordered,
    positive,
    terms_of,
)


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
    """Say whether mean, squares and deviation are numbers so short that nothing is rounded."""
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
