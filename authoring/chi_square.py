"""The chi-square law, with whole digits on every machine: limits of the records that count draws.

Carl Friedrich Gauss and Karl Pearson's law of a sum of squares; its tail is the incomplete
gamma function (NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov/8.7). All
is computed with 40 decimal digits by series of positive terms, so that limits are the same
numbers wherever they are made.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import count
from math import factorial
from typing import Final

DIGITS: Final = 40
PI: Final = Decimal("3.14159265358979323846264338327950288419716939937511")
STEP: Final = Fraction(1, 1024)
"""Limits are multiples of this."""

MOST: Final = 1 << 24
"""Steps of the largest limit, far beyond what a row of counts may need."""


def upper_tail(x: Decimal, freedom: int) -> Decimal:
    """Return the probability that a chi-square number of so many degrees is above x.

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
    """Yield the tail for so many degrees, for two more, and so on, until it is nearly 1."""
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
        if high > MOST:
            raise ArithmeticError(f"a limit must be below {MOST * STEP}")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _decimal(number: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(number.numerator) / Decimal(number.denominator)
