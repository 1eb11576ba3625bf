"""The sign of a sum of logarithms of rational numbers with rational coefficients.

Entropies of rational probabilities are such sums, so every filter that compares entropies
can be decided exactly where its weights are rational.

When it is zero
    c_1 log a_1 + ... + c_n log a_n = 0 says that a product of powers is 1. Write every a
    as a product of powers of whole numbers above 1 that have no common divisor, two by
    two; then the product is 1 only if the exponents of each of them cancel. Such a base is
    found with greatest common divisors alone, nothing has to be factored (Bach, Driscoll
    and Shallit, "Factor refinement", Journal of Algorithms 15, 1993).

How it ends
    Floats with a bound decide nearly always. Otherwise enclosures become closer; before
    they do so for long, the sum is tested for zero. A sum that is not zero is told from
    zero by enclosures that are close enough; what 16,384 binary places leave open raises
    `UndecidedError`.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import fsum, gcd, log

from sampling_ref.numbers.enclosures import log_bounds
from sampling_ref.numbers.reals import next_bits

Term = tuple[Fraction | int, Fraction | int]
"""A coefficient, and the positive number whose logarithm it multiplies."""


def sign_of_logarithms(terms: Iterable[Term]) -> int:
    """Return the sign (-1, 0 or 1) of the sum of c * log(a) over all terms (c, a).

    >>> sign_of_logarithms([(2, 3), (-1, 9)]), sign_of_logarithms([(1, 3), (-1, 2)])
    (0, 1)
    >>> sign_of_logarithms([(Fraction(1, 2), 4), (1, Fraction(1, 2))])
    0
    """
    gathered: dict[Fraction, Fraction] = {}
    for coefficient, argument in terms:
        number = Fraction(argument)
        gathered[number] = gathered.get(number, Fraction(0)) + coefficient
    left = [(c, a) for a, c in gathered.items() if c and a != 1]
    if not left:
        return 0
    return _sign_of_floats(left) or _sign_of_enclosures(left)


def _sign_of_floats(terms: list[tuple[Fraction, Fraction]]) -> int:
    """Return the sign if floats can tell it, else 0."""
    try:
        parts = [(float(c), log(a.numerator), log(a.denominator)) for c, a in terms]
        total = fsum(c * (above - below) for c, above, below in parts)
        # Two logarithms, a difference, a product: each off by less than 2**-51 of its size.
        error = fsum(abs(c) * (above + below) for c, above, below in parts) * 2.0**-49
    except OverflowError:  # a coefficient that no float can hold
        return 0
    return (total > error) - (total < -error)


def _sign_of_enclosures(terms: list[tuple[Fraction, Fraction]]) -> int:
    if _is_zero(terms):
        return 0
    bits = 128
    while True:
        low = high = Fraction(0)
        for coefficient, argument in terms:
            bounds = log_bounds(argument.numerator, argument.denominator, bits)
            ends = [coefficient * end for end in bounds]
            low += min(ends)
            high += max(ends)
        if low > 0 or high < 0:
            return 1 if low > 0 else -1
        bits = next_bits(bits)


def _is_zero(terms: list[tuple[Fraction, Fraction]]) -> bool:
    wholes = {part for _, argument in terms for part in argument.as_integer_ratio()}
    for divisor in coprime_base(wholes):
        exponent = Fraction(0)
        for coefficient, argument in terms:
            above, below = argument.as_integer_ratio()
            exponent += coefficient * (
                _multiplicity(above, divisor) - _multiplicity(below, divisor)
            )
        if exponent:
            return False
    return True


def _multiplicity(number: int, divisor: int) -> int:
    """Return how often a divisor divides a number."""
    times = 0
    while number % divisor == 0:
        number //= divisor
        times += 1
    return times


def coprime_base(numbers: Iterable[int]) -> list[int]:
    """Return whole numbers above 1, coprime in pairs, of which all given ones are products.

    >>> sorted(coprime_base([12, 18]))
    [2, 3]
    >>> coprime_base([1, 35])
    [35]
    """
    base: list[int] = []
    waiting = list(set(numbers))
    while waiting:
        number = waiting.pop()
        if number == 1:
            continue
        for place, other in enumerate(base):
            common = gcd(number, other)
            if common > 1:
                # The product of everything shrinks by `common` each time, so this ends.
                del base[place]
                waiting += [other // common, common, number // common]
                break
        else:
            base.append(number)
    return base
