"""How counts of draws are judged: bins, a limit, and what the judgement can find.

The risk of a false alarm
    18 records of the operation `stat` share one in a million. No run has all of these: 10 of them
    follow the standard rule, and no engine's own profile has more than 3. That leaves 5 / 18 of the
    millionth in any run by rules and one engine's profile. The other records that count draws, all
    of them by rules, share that.

The chi-square law
    The law of a sum of squares (Carl Friedrich Gauss, Karl Pearson); its tail is the incomplete
    gamma function (NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov/8.7). All
    is computed with 40 decimal digits by series of positive terms, so that limits are the same
    numbers on every machine.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import count, product
from math import factorial, sqrt
from typing import Any, Final

from tokenref.floats import floats
from tokenref.verdicts import Stat

EXPECTED: Final = 20
"""Draws that each bin must expect."""

SURE: Final = 64
"""A token that is expected so often must come: it is missed once in e**64 times."""

POWER: Final = Fraction(99, 100)


def bins_of(shares: Sequence[Fraction], draws: int) -> list[list[int]]:
    """Return the tokens that have a share in bins, by falling share; light ones are pooled.

    >>> bins_of([Fraction(1, 4), Fraction(1, 2), Fraction(1, 8), Fraction(1, 8)], 100)
    [[1], [0], [2, 3]]
    """
    order = sorted((token for token in range(len(shares)) if shares[token]),
                   key=lambda token: (-shares[token], token))  # fmt: skip
    bins: list[list[int]] = [[]]
    expected = Fraction(0)
    for token in order:
        if expected >= EXPECTED:
            bins.append([])
            expected = Fraction(0)
        bins[-1].append(token)
        expected += shares[token] * draws
    if expected < EXPECTED and len(bins) > 1:
        last = bins.pop()
        bins[-1] += last
    return bins


def judged(
    shares: Sequence[Fraction],
    draws: int,
    records: int,
    *,
    outcomes: Sequence[Sequence[int]] | None = None,
) -> Stat:
    """Return the verdict on draws from a law, one of `records` records that share the risk.

    With `outcomes` the shares are those of lists of tokens.
    """
    bins = bins_of(shares, draws)
    weights = [sum((shares[token] for token in tokens), start=Fraction(0)) for tokens in bins]
    alpha = Fraction(1, 10**6 * records)
    freedom = len(bins) - 1
    most = limit(alpha, freedom)
    lists: dict[str, Any] = {} if outcomes is None else {"outcomes": list(map(list, outcomes))}
    return Stat(
        **lists,
        bins=bins,
        shares=floats([float(weight) for weight in weights], "f64"),
        never=[token for token, share in enumerate(shares) if not share],
        must=[token for token, share in enumerate(shares) if share * draws >= SURE],
        limit=floats([float(most)], "f64"),
        least=floats([float(least(alpha, freedom))], "f64"),
        alpha=f"1e-6/{records}",
        power=_power(bins, weights, draws, float(effect(freedom, most, POWER))),
    )


def judged_pairs(shares: Sequence[Fraction], rows: int, draws: int, records: int) -> Stat:
    """Return the verdict on rows of one law in batches: that any two of them are independent.

    Each two rows of a call are a test, and each row of a call with each of the next, of which
    there are half as many; the record's risk is divided among all of them.
    """
    tokens = [token for token, share in enumerate(shares) if share]
    outcomes = list(product(tokens, repeat=2))
    joint = [shares[one] * shares[other] for one, other in outcomes]
    bins = bins_of(joint, draws // 2)
    weights = [sum((joint[pair] for pair in pairs), start=Fraction(0)) for pairs in bins]
    tests = rows * (rows - 1) // 2 + rows * rows
    alpha = Fraction(1, 10**6 * records * tests)
    freedom = len(bins) - 1
    most = limit(alpha, freedom)
    needed = float(effect(freedom, most, POWER))
    same = _copied(bins, outcomes, joint)
    found = [_percent(min(sqrt(needed / (times * same)), 1)) for times in (draws, draws // 2)]
    return Stat(
        outcomes=list(map(list, outcomes)),
        bins=bins,
        shares=floats([float(weight) for weight in weights], "f64"),
        never=[],
        must=[pair for pair, share in enumerate(joint) if share * (draws // 2) >= SURE],
        limit=floats([float(most)], "f64"),
        least=floats([float(least(alpha, freedom))], "f64"),
        alpha=f"1e-6/{records}",
        power=f"{draws} calls of {rows} rows find with 99 %: two rows that share their random "
        f"numbers in {found[0]} of the calls, two of calls that follow each other in {found[1]}.",
    )


def _copied(
    bins: Sequence[Sequence[int]], outcomes: Sequence[Sequence[int]], joint: Sequence[Fraction]
) -> float:
    """Return the noncentrality per call of a row that copies another one in all calls."""
    one = {token: sum(p for pair, p in zip(outcomes, joint, strict=True) if pair[0] == token)
           for token, _ in outcomes}  # fmt: skip
    same = [one[a] if a == b else Fraction(0) for a, b in outcomes]
    total = Fraction(0)
    for pairs in bins:
        expected = sum((joint[pair] for pair in pairs), start=Fraction(0))
        excess = sum((same[pair] for pair in pairs), start=-expected)
        total += excess * excess / expected
    return float(total)


def _power(
    bins: Sequence[Sequence[int]], weights: Sequence[Fraction], draws: int, needed: float
) -> str:
    """Return which changes are found with 99 %, from the noncentrality needed for that.

    Shares q instead of p have the noncentrality draws * sum of (q - p)**2 / p. One bin whose
    share p is off by a part d, all others making room evenly: draws * p * d**2 / (1 - p).
    """
    size = sum(map(len, bins))
    heavy, light = float(weights[0]), float(weights[-1])
    leak = sum((len(tokens) / size - float(p)) ** 2 / float(p)
               for tokens, p in zip(bins, weights, strict=True))  # fmt: skip
    says = [
        f"the likeliest bin off by {_percent(sqrt(needed * (1 - heavy) / heavy / draws))}",
        f"the least likely one by {_percent(sqrt(needed * (1 - light) / light / draws))}",
    ]
    if leak > 0 and sqrt(needed / draws / leak) <= 1:
        found = _percent(sqrt(needed / draws / leak))
        says.append(f"a part of {found} drawn evenly instead")
    return f"{draws} draws find with 99 %: {', '.join(says)}."


def _percent(part: float) -> str:
    percent = 100 * part
    return f"{percent:.2g} %" if percent < 99.5 else f"{round(percent / 10) * 10} %"


OTHERS: Final = 100
"""Each record of another operation than `stat` has 1e-6 divided by this."""

MOST: Final = int(Fraction(5, 18) * OTHERS)
"""Maximum number of such records: with more, the risk of a run would exceed 1e-6."""


DIGITS: Final = 40
PI: Final = Decimal("3.14159265358979323846264338327950288419716939937511")
STEP: Final = Fraction(1, 1024)
"""Limits are multiples of this."""

MOST_STEPS: Final = 1 << 24
"""Steps of the largest limit, far beyond what a row of counts may need."""


def upper_tail(x: Decimal, freedom: int) -> Decimal:
    """Return the probability that a chi-square number with `freedom` degrees is above x.

    >>> round(upper_tail(Decimal("3.841458820694124"), 1), 6), round(upper_tail(Decimal(2), 2), 6)
    (Decimal('0.050000'), Decimal('0.367879'))
    """
    with localcontext() as context:
        context.prec = DIGITS
        return 1 - _lower(Decimal(freedom) / 2, x / 2, freedom)


def _lower(a: Decimal, x: Decimal, freedom: int) -> Decimal:
    """Return the regularised lower incomplete gamma function, by DLMF 8.7.1."""
    if x == 0:
        return Decimal(0)
    total = term = _density(a, x, freedom)
    for n in count(1):
        term = term * x / (a + n)
        total += term
        if n > x and term < total.scaleb(-DIGITS):
            return total
    raise AssertionError("the series has no end")


def _density(a: Decimal, x: Decimal, freedom: int) -> Decimal:
    """Return x**a e**-x / Gamma(a + 1), where a is half the degrees of freedom."""
    half, odd = divmod(freedom, 2)
    if not odd:
        gamma = Decimal(factorial(half))
    else:  # Gamma(n + 1/2), n = half + 1
        n = half + 1
        gamma = Decimal(factorial(2 * n)) / (4**n * factorial(n)) * PI.sqrt()
    return (a * x.ln() - x).exp() / gamma


def limit(alpha: Fraction, freedom: int) -> Fraction:
    """Return a number that is exceeded with probability at most alpha; the least such step.

    >>> float(limit(Fraction(1, 20), 1))
    3.841796875
    """
    wanted = _decimal(alpha)
    return _first(lambda steps: upper_tail(_decimal(steps * STEP), freedom) <= wanted) * STEP


def least(alpha: Fraction, freedom: int) -> Fraction:
    """Return a number that is undercut with probability at most alpha; the greatest such step.

    >>> float(least(Fraction(1, 20), 10))
    3.939453125
    """
    wanted = _decimal(alpha)
    above = _first(lambda steps: 1 - upper_tail(_decimal(steps * STEP), freedom) > wanted)
    return max(above - 1, 0) * STEP


def effect(freedom: int, above: Fraction, power: Fraction) -> Fraction:
    """Return the noncentrality at which `above` is exceeded with a probability of `power`.

    The noncentral law is a mixture of chi-square laws whose degrees grow by two, with weights
    of a Poisson law: n draws from shares q instead of p have n times the sum of (q - p)**2 / p.

    >>> round(float(effect(1, limit(Fraction(1, 20), 1), Fraction(99, 100))), 1)
    18.4
    """
    with localcontext() as context:
        context.prec = DIGITS
        tails = list(_tails(freedom, _decimal(above) / 2))

        def is_enough(steps: int) -> bool:
            mean = _decimal(steps * STEP) / 2
            weight, missed = (-mean).exp(), Decimal(0)
            for j, tail in enumerate(tails):
                missed += weight * (1 - tail)
                weight = weight * mean / (j + 1)
            return 1 - missed >= _decimal(power)

        return _first(is_enough) * STEP


def _tails(freedom: int, x: Decimal) -> Iterator[Decimal]:
    """Yield the tail for `freedom` degrees, for two more, and so on, until it is nearly 1."""
    a = Decimal(freedom) / 2
    term = _density(a, x, freedom)
    tail = 1 - _lower(a, x, freedom)
    while tail < 1 - Decimal("1e-12"):
        yield tail
        tail += term
        a += 1
        term = term * x / a


def _first(holds: Callable[[int], bool]) -> int:
    """Return the first number of steps from 1 on for which something holds, as for all after."""
    high = 1
    while not holds(high):
        high *= 2
        if high > MOST_STEPS:
            raise ArithmeticError(f"a limit must be below {MOST_STEPS * STEP}")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _decimal(number: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(number.numerator) / Decimal(number.denominator)
