"""The sign of a sum of exponentials with rational exponents and coefficients.

Whether a running sum of weights e**l reaches a share of their total is the question for
the sign of c_1 e**x_1 + ... + c_n e**x_n with rational c and different rational x.

When it is zero
    Only if every coefficient is zero. This is the theorem of Lindemann and Weierstrass in
    Baker's form (Baker, "Transcendental Number Theory", Cambridge 1975, theorem 1.4): the
    exponentials of different algebraic numbers are linearly independent over the
    algebraic numbers. So equality is decided by comparing fractions, and any other sum is
    told from zero by enclosures that are close enough. Floats of 64 bits need at most some
    thousand binary places; what 16,384 leave open raises `UndecidedError`.

How it ends soon
    Terms without weight are dropped first, and the largest exponent that is left is
    subtracted from all. Then a sum such as e**0 - e**0 + e**-1000000 needs no more digits
    than the sum 1.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf

from sampling_ref.numbers.enclosures import SLACK, exp_mantissa
from sampling_ref.numbers.reals import next_bits
from sampling_ref.row import Number, whole_numbers


def sign_of_sum(terms: Mapping[Number, Fraction | int], factor: Fraction | int = 1) -> int:
    """Return the sign (-1, 0 or 1) of the sum of terms[x] * e**(factor * x) over all x.

    An exponent of minus infinity adds nothing.

    >>> sign_of_sum({0.0: 1, 1.0: -1}), sign_of_sum({0.5: 0}), sign_of_sum({1: 10, 3.0: -1})
    (-1, 0, 1)
    """
    left = {x: c for x, c in terms.items() if c and x != -inf}
    if not left:
        return 0
    signs = {c > 0 for c in left.values()}
    if len(signs) == 1:
        return 1 if signs.pop() else -1
    # Whole numbers from here on: the common denominator changes no sign.
    weights = list(zip(left, whole_numbers(list(left.values()))[0], strict=True))
    largest = max(left)
    bits = 64
    while True:
        low, high = _bounds(weights, largest, Fraction(factor), bits)
        if low > 0:
            return 1
        if high < 0:
            return -1
        bits = next_bits(bits)


def _bounds(
    weights: list[tuple[Number, int]], largest: Number, factor: Fraction, bits: int
) -> tuple[int, int]:
    """Enclose the sum of c * e**(factor * (x - largest)) to `bits` binary places."""
    low = high = 0
    for (below, above), (_, coefficient) in zip(
        exponential_bounds([x for x, _ in weights], largest, factor, bits), weights, strict=True
    ):
        if coefficient > 0:
            low += coefficient * below
            high += coefficient * above
        else:
            low += coefficient * above
            high += coefficient * below
    return low, high


def exponential_bounds(
    exponents: Sequence[Number], largest: Number, factor: Fraction, bits: int
) -> list[tuple[int, int]]:
    """Enclose e**(factor * (x - largest)) for each x <= largest to `bits` binary places.

    >>> exponential_bounds([2.0, float("-inf")], 2.0, Fraction(1), 8)
    [(256, 256), (0, 0)]
    """
    found: list[tuple[int, int]] = []
    for x in exponents:
        if x == -inf:
            found.append((0, 0))
            continue
        numerator, denominator = scaled_difference(x, largest, factor)
        if not numerator:
            found.append((1 << bits, 1 << bits))
        elif 4 * numerator < -3 * bits * denominator:  # then it is below 2**-bits
            found.append((0, 1))
        else:
            mantissa, exponent = exp_mantissa(numerator, denominator, bits)
            found.append((mantissa >> -exponent, (mantissa + SLACK >> -exponent) + 1))
    return found


def scaled_difference(x: Number, other: Number, factor: Fraction) -> tuple[int, int]:
    """Return the numerator and a denominator of factor * (x - other), not in lowest terms.

    Looking for lowest terms, as `Fraction` does, takes longer than everything else.

    >>> scaled_difference(1.5, 2.0, Fraction(3, 2))
    (-3, 4)
    """
    numerator, denominator = x.as_integer_ratio()
    above, below = other.as_integer_ratio()
    return (
        (numerator * below - above * denominator) * factor.numerator,
        denominator * below * factor.denominator,
    )
