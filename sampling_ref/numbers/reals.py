"""Real numbers that are computed as closely as a question about them needs.

A `Real` is a formula: rational numbers, + - * /, exp, log. Asked for a
comparison or a float, it is enclosed between integers (interval arithmetic; Moore,
"Interval Analysis", Prentice-Hall 1966) with ever more binary places until the enclosure
decides. The formulas of the literature can then be written as they are printed, and no
decision is a guess.

What is exact
    Rational numbers stay rational under + - * /. So do e**0, log 1, zero times anything, a
    number minus itself and a number divided by itself.

What stays undecided
    Two formulas of one value cannot always be recognised as equal. When two numbers that
    are not both rational agree to 200 significant decimal digits, or both are below
    2**-8192, `UndecidedError` is raised. A wrong answer is never given.

Infinities
    There are none: a weight of minus infinity has no term in a formula.

Rounding to the nearest float
    (IEEE 754-2019, section 4.3.1: ties to even.) A number at or beyond the largest float and
    half its last place becomes infinite; small ones become subnormal, then zero, which has no
    sign here. Rounding is monotone: where both ends of an enclosure become the same float, so
    does every number between them, and the float is right. Otherwise a closer enclosure is
    needed.
    e**x for rational x other than 0, and the logarithm of a rational number other than 1, are
    never in the middle of two floats (Ziv, "Fast evaluation of elementary mathematical
    functions with correctly rounded last bit", ACM Transactions on Mathematical Software 17,
    1991): close enough enclosures decide.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import inf
from operator import ge, gt, le, lt
from typing import Any, Final, TypeAlias

from sampling_ref.errors import ParameterError, UndecidedError
from sampling_ref.numbers.enclosures import (
    LARGEST_EXPONENT,
    SLACK,
    exp_bounds,
    exp_mantissa,
    log_bounds,
)
from sampling_ref.parameters import is_finite, read_fraction
from sampling_ref.row import Number


def nearest(numerator: int, denominator: int) -> float:
    """Return the float nearest to numerator/denominator; Python divides integers so.

    >>> nearest(1, 3), nearest(-(10**400), 1), nearest(-1, 10**400)
    (0.3333333333333333, -inf, 0.0)
    """
    try:
        return numerator / denominator + 0.0  # zero has no sign
    except OverflowError:
        return inf if numerator > 0 else -inf


def nearest_to_enclosed(low: int, high: int, bits: int) -> float | None:
    """Return the float nearest to each number from low * 2**-bits to high * 2**-bits.

    None if they are nearest to different floats.

    >>> nearest_to_enclosed(255, 257, 8), nearest_to_enclosed(2**80 - 1, 2**80 + 1, 80)
    (None, 1.0)
    """
    up, denominator = max(-bits, 0), 1 << max(bits, 0)
    found = nearest(low << up, denominator)
    return found if found == nearest(high << up, denominator) else None


Bounds: TypeAlias = tuple[int, int] | None
"""An enclosure; None where so few binary places say nothing (a divisor that may be zero)."""


def nearest_below(numerator: int, denominator: int) -> float:
    """Return the float nearest to numbers that lie below numerator/denominator, but hardly.

    It is another float than the one nearest to the number itself only in the middle of two.

    >>> nearest_below(1, 1), nearest_below(2**54 + 2, 2**54), nearest_below(2**54 + 6, 2**54)
    (1.0, 1.0, 1.0000000000000002)
    """
    # Middles are multiples of 2**-1075, so none lies between the number and this one.
    return nearest((numerator << 1076) - 1, denominator << 1076)


_FIRST_BITS: Final = 64
_LAST_BITS: Final = 8192
_MOST_BITS: Final = 16384


def next_bits(bits: int) -> int:
    """Return twice as many binary places; UndecidedError if a search has used 16,384.

    >>> next_bits(64)
    128
    """
    if bits >= _MOST_BITS:
        raise UndecidedError(f"{bits} binary places do not decide between two answers")
    return 2 * bits


_AGREEMENT: Final = 10**200


def rounded_exp(x: Number) -> float:
    """Return the float nearest to e**x; of minus infinity it is 0.

    >>> rounded_exp(0), rounded_exp(1.0), rounded_exp(float("-inf")), rounded_exp(1000)
    (1.0, 2.718281828459045, 0.0, inf)
    """
    if x == -inf:
        return 0.0
    exponent = read_fraction("exponent", x)
    if exponent == 0:
        return 1.0
    if abs(exponent) >= 746:
        return inf if exponent > 0 else 0.0
    bits = 96
    while True:
        mantissa, shift = exp_mantissa(*exponent.as_integer_ratio(), bits)
        found = nearest_to_enclosed(mantissa, mantissa + SLACK, bits - shift)
        if found is not None:
            return found
        bits = next_bits(bits)


def rounded_log(x: Number) -> float:
    """Return the float nearest to the natural logarithm of x; of 0 it is minus infinity.

    >>> rounded_log(1), rounded_log(2.0), rounded_log(0)
    (0.0, 0.6931471805599453, -inf)
    """
    number = read_fraction("logarithm's argument", x)
    if number < 0:
        raise ParameterError("logarithm's argument", x, "must not be negative")
    if number == 0:
        return -inf
    bits = 96
    while True:
        found = nearest_to_enclosed(*log_bounds(*number.as_integer_ratio(), bits), bits)
        if found is not None:
            return found
        bits = next_bits(bits)


def _comparison(relation: Callable[[int, int], bool]) -> Callable[[Any, "Real | Number"], bool]:
    """Return a method that compares, or raises `UndecidedError`."""

    def compared(self: "Real", other: "Real | Number") -> bool:
        return relation(_compare(self, as_real(other)), 0)

    return compared


class Real:
    """A computable real number.

    >>> two = Real(2)
    >>> two.log().exp() > 1.9999, float(two.log()), Real(0).exp() == 1
    (True, 0.6931471805599453, True)
    >>> two.log().exp() > 2
    Traceback (most recent call last):
    sampling_ref.errors.UndecidedError: two numbers near 2.0 agree to 200 digits
    """

    __slots__ = ("combine", "exact", "known", "parts")

    exact: Fraction | None
    """The number itself where it is known to be rational, else None."""

    parts: "tuple[Real, ...]"
    """The numbers that a formula is made of."""

    combine: Callable[..., Bounds] | None
    """From a number of binary places and the parts' enclosures to one of the formula."""

    known: tuple[int, Bounds]
    """The closest enclosure so far, behind its number of binary places."""

    def __init__(self, number: Number) -> None:
        self.known = 0, None
        self.parts = ()
        self.combine = None
        if not is_finite(number):
            raise ParameterError("number", number, "must be a finite number")
        self.exact = Fraction(number)

    # ---------------------------------------------------------------- formulas

    def __add__(self, other: "Real | Number") -> "Real":
        """Return the sum."""
        other = as_real(other)
        if self.exact is not None and other.exact is not None:
            return Real(self.exact + other.exact)
        return formula(_sum, self, other)

    __radd__ = __add__

    def __neg__(self) -> "Real":
        """Return the number with the other sign."""
        return Real(-self.exact) if self.exact is not None else formula(_negative, self)

    def __sub__(self, other: "Real | Number") -> "Real":
        """Return the difference; a number minus itself is exactly 0."""
        return Real(0) if self is other else self + -as_real(other)

    def __mul__(self, other: "Real | Number") -> "Real":
        """Return the product; zero times anything is exactly 0."""
        other = as_real(other)
        if self.exact is not None and other.exact is not None:
            return Real(self.exact * other.exact)
        if self.exact == 0 or other.exact == 0:
            return Real(0)
        return formula(_product, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: "Real | Number") -> "Real":
        """Return the quotient; a divisor that is exactly 0 is refused."""
        other = as_real(other)
        if other.exact == 0:
            raise ParameterError("divisor", 0, "must not be zero")
        if self.exact is not None and other.exact is not None:
            return Real(self.exact / other.exact)
        if self.exact == 0:
            return Real(0)
        return Real(1) if self is other else formula(_quotient, self, other)

    def __rsub__(self, other: Number) -> "Real":
        """Return the difference."""
        return as_real(other) - self

    def __rtruediv__(self, other: Number) -> "Real":
        """Return the quotient."""
        return as_real(other) / self

    def exp(self) -> "Real":
        """Return e to this power; an exponent above 2**24 is refused."""
        if self.exact == 0:
            return Real(1)
        if self.exact is not None and self.exact > LARGEST_EXPONENT:
            raise ParameterError("exponent", self.exact, "must be at most 2**24")
        return formula(_exponential, self)

    def log(self) -> "Real":
        """Return the natural logarithm; a number that is not positive is refused."""
        if self.exact is not None and self.exact <= 0:
            raise ParameterError("logarithm's argument", self.exact, "must be positive")
        return Real(0) if self.exact == 1 else formula(_logarithm, self)

    # --------------------------------------------------------------- questions

    def bounds(self, bits: int) -> Bounds:
        """Enclose this number with `bits` binary places in every step of its formula.

        The formula is walked with a stack of its own: sums may be long.

        >>> Real(0.75).bounds(8)
        (192, 192)
        """
        waiting = [self]
        while waiting:
            number = waiting[-1]
            missing = [part for part in number.parts if part.known[0] < bits]
            if number.known[0] >= bits or not missing:
                waiting.pop()
                if number.known[0] < bits:
                    number.known = bits, _enclosed(number, bits)
            else:
                waiting += missing
        return _with_places(self.known, bits)

    def __eq__(self, other: object) -> bool:
        """Decide, or raise UndecidedError."""
        if not isinstance(other, Real | int | float | Fraction):
            return NotImplemented
        return _compare(self, as_real(other)) == 0

    __lt__, __le__, __gt__, __ge__ = map(_comparison, (lt, le, gt, ge))

    __hash__ = None  # type: ignore[assignment] # equality may be undecided

    def __float__(self) -> float:
        """Return the nearest float; UndecidedError if it may be one of two."""
        if self.exact is not None:
            return nearest(self.exact.numerator, self.exact.denominator)
        bits = 2 * _FIRST_BITS  # with fewer, a sum of many terms is seldom close enough
        while bits <= _LAST_BITS:
            bounds = self.bounds(bits)
            rounded = None if bounds is None else nearest_to_enclosed(*bounds, bits)
            if rounded is not None:
                return rounded
            bits *= 2
        raise UndecidedError("a number cannot be told from the middle of two floats, or from zero")

    def __repr__(self) -> str:
        """Return the rational, or the nearest float."""
        return f"Real({self.exact})" if self.exact is not None else f"Real(about {float(self)!r})"


def as_real(number: "Real | Number") -> Real:
    """Return the number itself if it is a `Real`, else as one.

    >>> as_real(0.5)
    Real(1/2)
    """
    return number if isinstance(number, Real) else Real(number)


def sum_of(numbers: Iterable["Real | Number"]) -> Real:
    """Return the sum of many numbers, as one formula.

    >>> sum_of([0.5, Real(1), Fraction(1, 2)])
    Real(2)
    """
    rational = Fraction(0)
    others: list[Real] = []
    for number in map(as_real, numbers):
        if number.exact is not None:
            rational += number.exact
        else:
            others.append(number)
    return formula(_sum, Real(rational), *others) if others else Real(rational)


def formula(combine: Callable[..., Bounds], *parts: Real) -> Real:
    """Return the number that a function encloses, given binary places and the parts' enclosures.

    >>> from sampling_ref.numbers.enclosures import ln2_bounds
    >>> float(formula(ln2_bounds))
    0.6931471805599453
    """
    number = Real(0)
    number.exact, number.combine, number.parts = None, combine, parts
    return number


def _compare(first: Real, second: Real) -> int:
    """Return the sign of first - second."""
    if first is second:
        return 0
    if first.exact is not None and second.exact is not None:
        return (first.exact > second.exact) - (first.exact < second.exact)
    bits = _FIRST_BITS
    while bits <= _LAST_BITS:
        one, two = first.bounds(bits), second.bounds(bits)
        bits *= 2
        if one is None or two is None:
            continue
        if one[0] > two[1]:
            return 1
        if one[1] < two[0]:
            return -1
        apart = max(one[1], two[1]) - min(one[0], two[0])
        size = max(one[0], -one[1], two[0], -two[1])
        if apart * _AGREEMENT < size:
            near = nearest(one[0], 1 << (bits // 2))
            raise UndecidedError(f"two numbers near {near!r} agree to 200 digits")
    raise UndecidedError("two numbers cannot be told apart")


# ------------------------------------------------------------------ interval arithmetic


def _enclosed(number: Real, bits: int) -> Bounds:
    """Enclose a number whose parts are enclosed."""
    if number.exact is not None:
        scaled = number.exact.numerator << bits
        return scaled // number.exact.denominator, -(-scaled // number.exact.denominator)
    assert number.combine is not None, "rational or a formula"  # noqa: S101 - nothing else is made
    bounds = [_with_places(part.known, bits) for part in number.parts]
    return None if any(bound is None for bound in bounds) else number.combine(bits, *bounds)


def _with_places(known: tuple[int, Bounds], bits: int) -> Bounds:
    """Return an enclosure with as many places or fewer."""
    return None if known[1] is None else _coarser(known[1], known[0] - bits)


def _coarser(bounds: tuple[int, int], shift: int) -> tuple[int, int]:
    return bounds[0] >> shift, -(-bounds[1] >> shift)


def _sum(_: int, *terms: tuple[int, int]) -> Bounds:
    return sum(low for low, _ in terms), sum(high for _, high in terms)


def _negative(_: int, one: tuple[int, int]) -> Bounds:
    return -one[1], -one[0]


def _product(bits: int, one: tuple[int, int], two: tuple[int, int]) -> Bounds:
    corners = [first * second for first in one for second in two]
    return _coarser((min(corners), max(corners)), bits)


def _quotient(bits: int, one: tuple[int, int], two: tuple[int, int]) -> Bounds:
    if two[0] <= 0 <= two[1]:
        return None
    floors = [(first << bits) // second for first in one for second in two]
    ceilings = [-((-first << bits) // second) for first in one for second in two]
    return min(floors), max(ceilings)


def _exponential(bits: int, one: tuple[int, int]) -> Bounds:
    low, high = one
    limit = LARGEST_EXPONENT << bits
    if high > limit >= low:
        return None
    return exp_bounds(low, 1 << bits, bits)[0], exp_bounds(high, 1 << bits, bits)[1]


def _logarithm(bits: int, one: tuple[int, int]) -> Bounds:
    low, high = one
    if low <= 0 < high:
        return None
    return log_bounds(low, 1 << bits, bits)[0], log_bounds(high, 1 << bits, bits)[1]
