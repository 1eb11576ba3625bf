# ruff: noqa: D105 - an operator of a number needs no words; what all of them do is said below
"""Numbers of 32 bits, rounded after every operation, as engines compute with them.

Definition: binary32 of IEEE 754-2019 (IEEE Standard for Floating-Point Arithmetic, section
3.6, https://doi.org/10.1109/IEEESTD.2019.8766229): 24 significant bits, exponents from -126
to 127, subnormal numbers below, infinities above. A result is the number nearest to the
exact result; of two that are equally near it is the one whose last bit is 0.

One rounding by way of 64 bits
    Python computes with binary64. To compute there and round the result to binary32 rounds
    twice, which in general is not the same as once. For + - * / and square roots of binary32
    numbers it is, because 53 >= 2 * 24 + 2 (Samuel A. Figueroa, "When is double rounding
    innocuous?", SIGNUM Newsletter 30(3), 1995, https://doi.org/10.1145/221332.221334):
    such a result is either exact in 53 bits, or too far from the middle between two binary32
    numbers for the first rounding to reach it.

One rounding of any rational number
    `to_binary32` also takes an `int` or a `Fraction`. There the first rounding could
    reach the middle, so it is made *to odd*: of the two binary64 neighbours of an inexact
    number it takes the odd one, which is never a middle and lies on the right side of it.

Mixed operands
    `Binary32` converts the other operand first. A language that promotes to 64 bits does
    something else: write that out with plain floats and one `to_binary32` at its end.
    Fractions on the left side of an operator come to the same, but a comparison with a
    `Fraction` on the left side is Python's own, which is exact.

Other operators
    `**`, `//`, `%` and the functions of `math` give plain floats of 64 bits.
"""

from array import array
from collections.abc import Callable, Iterable
from fractions import Fraction
from math import copysign, inf, isnan, nan, nextafter, ulp
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any, Self

from sampling_ref.errors import ParameterError
from sampling_ref.row import Number


def to_binary32(number: Number) -> float:
    """Return the binary32 number nearest to a number, as a float.

    >>> to_binary32(0.1)
    0.10000000149011612
    >>> to_binary32(1e39), to_binary32(Fraction(1, 2))
    (inf, 0.5)
    >>> to_binary32("one")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: number must be an int, a float or a Fraction, got 'one'
    """
    if isinstance(number, float):
        return array("f", (number,))[0]
    if type(number) not in {int, Fraction}:
        raise ParameterError("number", number, "must be an int, a float or a Fraction")
    try:
        near = float(number)
    except OverflowError:
        return inf if number > 0 else -inf
    error = number - Fraction(near)
    if error and not near / ulp(near) % 2:  # take the odd neighbour
        near = nextafter(near, inf if error > 0 else -inf)
    return array("f", (near,))[0]


def all_to_binary32(numbers: Iterable[float]) -> list[float]:
    """Return the binary32 numbers nearest to floats; a whole row at the speed of C.

    >>> all_to_binary32([0.5, 1 + 2.0**-24, 1 + 3 * 2.0**-24])
    [0.5, 1.0, 1.000000238418579]
    """
    return array("f", numbers).tolist()


def sum_in_binary32(numbers: Iterable[float]) -> float:
    """Return the sum of binary32 numbers, added from left to right, rounded after each.

    The order matters: small numbers after a large one are lost.

    >>> sum_in_binary32([2.0**24, 1.0, 1.0]), sum_in_binary32([1.0, 1.0, 2.0**24])
    (16777216.0, 16777218.0)
    """
    total = array("f", (0.0,))
    for number in numbers:
        total[0] += number  # the sum is exact or innocuously rounded in binary64; see above
    return total[0]


def _operand(other: object) -> float | None:
    """Return the other operand as a binary32 number, or None if it is no number."""
    if isinstance(other, Binary32):
        return float(other)
    if isinstance(other, float | int | Fraction):
        return to_binary32(int(other) if isinstance(other, bool) else other)
    return None


def quotient(dividend: float, divisor: float) -> float:
    """Return a quotient as IEEE 754 defines it, division by zero included.

    >>> quotient(1.0, -0.0), quotient(0.0, 0.0)
    (-inf, nan)
    """
    if divisor:
        return dividend / divisor
    if dividend == 0 or isnan(dividend):
        return nan
    return copysign(inf, copysign(1.0, dividend) * copysign(1.0, divisor))


def _operation(
    calculate: Callable[[float, float], float],
) -> tuple[Callable[[Any, object], "Binary32"], Callable[[Any, object], "Binary32"]]:
    """Return an operator of `Binary32`, and the one for a `Binary32` on the right."""

    def forwards(self: float, other: object) -> "Binary32":
        right = _operand(other)
        return NotImplemented if right is None else Binary32(calculate(float(self), right))

    def backwards(self: float, other: object) -> "Binary32":
        left = _operand(other)
        return NotImplemented if left is None else Binary32(calculate(left, float(self)))

    return forwards, backwards


def _comparison(relation: Callable[[float, float], bool]) -> Callable[[Any, object], bool]:
    def compared(self: float, other: object) -> bool:
        right = _operand(other)
        return NotImplemented if right is None else relation(float(self), right)

    return compared


class Binary32(float):
    """A binary32 number: the results of + - * / and of signs are binary32 numbers too.

    >>> Binary32(0.1) + Binary32(0.2)
    Binary32(0.30000001192092896)
    >>> Binary32(1) / 3, 1 - Binary32(0.1) == 0.9
    (Binary32(0.3333333432674408), True)

    Division by zero gives infinities or NaN, as IEEE 754 has it. Equality converts the
    other number too, so keep numbers of one kind in sets and dictionaries.
    """

    __slots__ = ()

    def __new__(cls, number: Number) -> Self:
        """Round any number to binary32."""
        return super().__new__(cls, to_binary32(number))

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        return f"Binary32({float(self)!r})"

    def __neg__(self) -> "Binary32":
        return Binary32(-float(self))

    def __pos__(self) -> "Binary32":
        return self

    def __abs__(self) -> "Binary32":
        return Binary32(abs(float(self)))

    __add__, __radd__ = _operation(add)
    __sub__, __rsub__ = _operation(sub)
    __mul__, __rmul__ = _operation(mul)
    __truediv__, __rtruediv__ = _operation(quotient)
    __eq__, __ne__, __lt__, __le__, __gt__, __ge__ = map(_comparison, (eq, ne, lt, le, gt, ge))


def product_of_power(multiplier: Number, base: Number, exponent: int) -> Number:
    """Return multiplier * base**exponent.

    The power of 32-bit numbers is rounded to 64 bits, as the C library's `pow` does it, and
    the product to 32.

    >>> product_of_power(Fraction(1, 2), Fraction(3), 2)
    Fraction(9, 2)
    >>> product_of_power(Binary32(0.5), Binary32(3.0), 2)
    Binary32(4.5)
    """
    if isinstance(base, Binary32):
        return Binary32(float(multiplier) * float(Fraction(base) ** exponent))
    return multiplier * base**exponent
