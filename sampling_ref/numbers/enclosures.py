"""Whole numbers that enclose exponentials and logarithms.

An enclosure of a real number, to `bits` binary places, is a pair of integers with

    low * 2**-bits <= number <= high * 2**-bits

Everything here is arithmetic of integers in which each error is counted, so that the
enclosures hold on every platform. They are close (a few units apart), not the closest.

The method is the usual one (Brent and Zimmermann, "Modern Computer Arithmetic",
Cambridge 2010, chapter 4): take multiples of ln 2 out of the exponent, then a multiple of
1/256 whose exponential is in a table, and use the power series for what is left. A
logarithm starts from the floating-point one and is corrected with an exponential; the
float is a first guess that is checked, never trusted.

How large a number may be
    e**x is refused above x = 2**24, where it would have more than 24 million bits.
"""

from functools import lru_cache
from math import ldexp, log
from typing import Final, NamedTuple

from sampling_ref.errors import ParameterError

LARGEST_EXPONENT: Final = 2**24
"""e**x is not written down for a larger x."""

SLACK: Final = 32
"""How many units the mantissa of `exp_mantissa` may be too low, at most."""

_GUARD: Final = 32
"""Extra binary places for tables and intermediate results."""

_STEPS: Final = 8
"""The table has 2**8 entries."""


def _inverse_hyperbolic_tangent(divisor: int, bits: int) -> tuple[int, int]:
    """Enclose atanh(1/divisor) = 1/d + 1/(3 d^3) + 1/(5 d^5) + ...

    Each of the `count` quotients is at most 1 too low, twice; what is cut off is below the
    first power that has vanished, which is less than one unit.
    """
    power = (1 << bits) // divisor
    low, odd = 0, 1
    while power:
        low += power // odd
        power //= divisor * divisor
        odd += 2
    return low, low + odd + 2


@lru_cache(maxsize=64)
def ln2_bounds(bits: int) -> tuple[int, int]:
    """Enclose ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749).

    >>> low, high = ln2_bounds(64)
    >>> low / 2**64 <= 0.6931471805599453 <= high / 2**64
    True
    """
    places = bits + _GUARD
    first = _inverse_hyperbolic_tangent(26, places)
    second = _inverse_hyperbolic_tangent(4801, places)
    third = _inverse_hyperbolic_tangent(8749, places)
    low = 18 * first[0] - 2 * second[1] + 8 * third[0]
    high = 18 * first[1] - 2 * second[0] + 8 * third[1]
    return low >> _GUARD, -(-high >> _GUARD)


class _Constants(NamedTuple):
    """What `exp_mantissa` needs for one number of binary places."""

    coefficients: tuple[int, ...]
    """1/n! from the highest n that counts down to n = 0, each at most 1 too low."""

    table: tuple[int, ...]
    """exp(j/256), each at most 2 too low."""


@lru_cache(maxsize=64)
def _constants(bits: int) -> _Constants:
    places = bits + _GUARD
    coefficients = [1 << places]
    number = 0
    # The argument of the series is below 2**-8, so term n is below 2**(-8 n) / n!.
    while coefficients[-1] >> (_STEPS * number):
        number += 1
        coefficients.append(coefficients[-1] // number)
    step = 0
    for coefficient in reversed(coefficients):
        step = coefficient + (step >> _STEPS)
    table = [1 << places]
    while len(table) < 1 << _STEPS:
        table.append(table[-1] * step >> places)
    return _Constants(
        tuple(coefficient >> _GUARD for coefficient in reversed(coefficients)),
        tuple(entry >> _GUARD for entry in table),
    )


def exp_mantissa(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return (m, k) with m * 2**(k-bits) <= e**(numerator/denominator) < (m+SLACK) * 2**(k-bits).

    m has `bits` binary places and lies between 1 and 2, or at most a few units beside that,
    so the enclosure is as close for small exponentials as for large ones.

    >>> mantissa, exponent = exp_mantissa(-3, 1, 64)
    >>> mantissa / 2**64 * 2.0**exponent
    0.049787068367863944

    Why SLACK is enough, in units of 2**-bits: the rest r of the exponent is at most 3 too
    low (the quotient, the product with ln 2, its shift), which makes e**r < 2.1 at most 7
    too low; the series is at most 4 too low (2 for each step, but each step is divided by
    256 by the next one; less than 1 for the terms cut off), the table's entry at most 2,
    the product at most 1: 7 + 4 * 2.1 + 2 * 1.1 + 1 < SLACK.
    """
    coefficients, table = _constants(bits)
    exponent = numerator * 0x171547652B82FE177 // (denominator << 64)  # times 1/ln 2
    extra = exponent.bit_length()
    low, high = ln2_bounds(bits + extra)
    scaled = (numerator << bits) // denominator
    rest = scaled - (max(exponent * low, exponent * high) >> extra) - 1
    while rest < 0:  # the factor above is rounded
        exponent -= 1
        rest += low >> extra
    # A quotient that was too low leaves a rest a little above ln 2, which the table covers.
    place = rest >> (bits - _STEPS)
    rest -= place << (bits - _STEPS)
    series = 0
    for coefficient in coefficients:
        series = coefficient + (series * rest >> bits)
    return table[place] * series >> bits, exponent


def exp_bounds(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Enclose e**(numerator/denominator) to `bits` binary places.

    >>> exp_bounds(0, 1, 8)
    (256, 256)
    >>> low, high = exp_bounds(1, 1, 64)
    >>> low / 2**64 <= 2.718281828459045 <= high / 2**64
    True
    """
    if not numerator:
        return 1 << bits, 1 << bits
    if numerator > LARGEST_EXPONENT * denominator:
        raise ParameterError("exponent", numerator // denominator, "must be at most 2**24")
    # e**x < 2**-bits where x < -0.75 * bits; no digit of it is seen.
    if 4 * numerator < -3 * bits * denominator:
        return 0, 1
    places = max(16, bits + max(0, 3 * numerator // (2 * denominator))) + 8
    mantissa, exponent = exp_mantissa(numerator, denominator, places)
    shift = places - bits - exponent
    return mantissa >> shift, -(-(mantissa + SLACK) >> shift)


def log_bounds(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Enclose the natural logarithm of numerator/denominator > 0 to `bits` binary places.

    >>> log_bounds(1, 1, 8)
    (0, 0)
    >>> low, high = log_bounds(2, 1, 64)
    >>> low / 2**64 <= 0.6931471805599453 <= high / 2**64
    True

    With a guess g: log x = g + log(1 + d), 1 + d = x / e**g, and the series of log(1 + d).
    """
    if numerator <= 0 or denominator <= 0:
        raise ParameterError("logarithm's argument", (numerator, denominator), "must be positive")
    if numerator == denominator:
        return 0, 0
    # x = y * 2**scale with y near 1, so that a float can hold the guess for log y.
    scale = numerator.bit_length() - denominator.bit_length()
    if scale >= 0:
        denominator <<= scale
    else:
        numerator <<= -scale
    places = bits + _GUARD + scale.bit_length()
    guess, guess_scale = log(numerator / denominator).as_integer_ratio()
    ln2_low, ln2_high = ln2_bounds(places)
    mantissa, exponent = exp_mantissa(-guess, guess_scale, places)
    shift = places - exponent
    # The bounds of 1 + d, then of d.
    low = ((numerator * mantissa << places) // denominator >> shift) - (1 << places)
    high = -(-(numerator * (mantissa + SLACK) << places) // denominator >> shift) - (1 << places)
    series = [_log1p_bounds(difference, places) for difference in (low, high)]
    base = (guess << places) // guess_scale
    low = base + series[0][0] + min(scale * ln2_low, scale * ln2_high)
    high = base + 1 + series[1][1] + max(scale * ln2_low, scale * ln2_high)
    drop = places - bits
    return low >> drop, -(-high >> drop)


def _log1p_bounds(difference: int, bits: int) -> tuple[int, int]:
    """Enclose log(1 + d) = d - d^2/2 + d^3/3 - ... for a small d = difference * 2**-bits.

    Each term is at most 2 off by rounding (the power by less than 2, as |d| is below 1/2,
    then the quotient), and what is cut off is below the first power that has vanished.
    """
    if abs(difference) << 16 > 1 << bits:  # pragma: no cover - no C library's log is so far off
        raise AssertionError(f"math.log is off by 2**-16: {ldexp(difference, -bits)}")
    total, power, number = 0, difference, 1
    while power not in {0, -1}:
        total += power // number if number % 2 else -power // number
        power = power * difference >> bits
        number += 1
    error = 4 * number
    return total - error, total + error
