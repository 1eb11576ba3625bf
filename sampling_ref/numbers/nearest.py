"""The float nearest to a real number of which an enclosure is known.

IEEE 754-2019, section 4.3.1: round to nearest, ties to even. A number at or beyond the
largest float and half its last place becomes infinite; small ones become subnormal, then
zero. Rounding is monotone: where both ends of an enclosure become the same float, so does
every number between them, and the float is right. Otherwise a closer enclosure is needed.

Zero
    has no sign here: what is too small for a float becomes 0.0, never -0.0.
"""

from math import inf, ldexp
from typing import Final, NamedTuple


class Format(NamedTuple):
    """A binary format: digits of the mantissa, smallest and largest exponent.

    Finite numbers are whole multiples of 2**smallest and below 2**largest.
    """

    digits: int
    smallest: int
    largest: int


_LARGE: Final = 1000
_SMALL: Final = -1000

BINARY64: Final = Format(53, -1074, 1024)
BINARY32: Final = Format(24, -149, 128)


def nearest(numerator: int, denominator: int, form: Format = BINARY64) -> float:
    """Return the number of a format that is nearest to numerator/denominator.

    >>> nearest(1, 3), nearest(-(10**400), 1), nearest(-1, 10**400)
    (0.3333333333333333, -inf, 0.0)
    >>> nearest(2**24 + 1, 2**24, BINARY32), nearest(3, 2**150, BINARY32) == 2.0**-148
    (1.0, True)
    """
    if numerator < 0:
        return 0.0 - nearest(-numerator, denominator, form)
    # The last place that can be kept: `digits` below the leading one, if not subnormal.
    place = numerator.bit_length() - denominator.bit_length() - form.digits
    place = max(place, form.smallest)
    up, down = max(-place, 0), max(place, 0)
    units, rest = divmod(numerator << up, denominator << down)
    if units >> form.digits:  # the leading one stood one place higher than the lengths say
        place += 1
        rest += (units & 1) * (denominator << down)
        units >>= 1
        down, denominator = 0, (denominator << down) * 2
    half = 2 * rest - (denominator << down)
    if half > 0 or (half == 0 and units & 1):
        units += 1
    if units.bit_length() + place > form.largest:
        return inf
    return ldexp(units, place)


def nearest_to_enclosed(low: int, high: int, bits: int, form: Format = BINARY64) -> float | None:
    """Return the float nearest to each number from low * 2**-bits to high * 2**-bits.

    None if they are nearest to different floats.

    >>> nearest_to_enclosed(255, 257, 8), nearest_to_enclosed(2**80 - 1, 2**80 + 1, 80)
    (None, 1.0)
    """
    if form is BINARY64 and low > 0 and high.bit_length() < _LARGE:
        # Python rounds an int to the nearest float, ties to even; if the float is neither
        # subnormal nor infinite, scaling it changes no digit.
        length = low.bit_length()
        if length - bits > _SMALL and high.bit_length() - bits < _LARGE:
            scaled = float(low)
            return ldexp(scaled, -bits) if scaled == float(high) else None
    numerators = (low, high) if bits >= 0 else (low << -bits, high << -bits)
    denominator = 1 << max(bits, 0)
    first, second = (nearest(numerator, denominator, form) for numerator in numerators)
    return first if first == second else None
