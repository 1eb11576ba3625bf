"""Numbers of 32 bits: one rounding after each operation, whatever the operands are."""

import math
import struct
from fractions import Fraction
from math import inf, isnan, nan, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.binary32 import (
    Binary32,
    all_to_binary32,
    quotient,
    sum_in_binary32,
    to_binary32,
)

LARGEST = (2 - 2.0**-23) * 2.0**127
SMALLEST = 2.0**-149
ANY32 = st.floats(width=32, allow_nan=False)
FINITE32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
CLOSE = st.integers(1, 2**24 - 1).map(lambda i: i * 2.0**-20)  # sums of these have many digits


def nearest(number: Fraction) -> float:
    """Return the nearest binary32 number, by comparing with the neighbours."""
    if number < 0:
        return -nearest(-number)
    exponent = -149
    while number >= Fraction(2) ** (exponent + 24):
        exponent += 1
    # round() of a Fraction takes the even one of two equally near integers.
    rounded = round(number / Fraction(2) ** exponent) * Fraction(2) ** exponent
    return float(rounded) if rounded < 2**128 else inf


@given(st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction))
def test_a_rational_number_is_rounded_once(number: Fraction) -> None:
    assert to_binary32(number) == nearest(number)


@given(FINITE32, st.integers(-2, 2), st.sampled_from([1, -1]), st.integers(60, 200))
def test_numbers_beside_a_middle_go_to_their_own_side(
    start: float, steps: int, sign: int, bits: int
) -> None:
    middle = Fraction(start) + Fraction(steps) * Fraction(2) ** -150
    up = abs(Fraction(start)) * Fraction(2) ** -24
    number = middle + up + sign * Fraction(2) ** -bits * up
    assert to_binary32(number) == nearest(number)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1 + Fraction(1, 2**24), 1.0),
        (1 + Fraction(1, 2**24) + Fraction(1, 2**80), 1 + 2.0**-23),
        (1 + Fraction(3, 2**24), 1 + 2.0**-22),
        (1 + Fraction(3, 2**24) - Fraction(1, 2**80), 1 + 2.0**-23),
        (-1 - Fraction(1, 2**24) - Fraction(1, 2**80), -1 - 2.0**-23),
        (2**24 + 1, 2.0**24),
        (2**60 + 2**36 + 1, 2.0**60 + 2.0**37),
        (Fraction(2) ** -150, 0.0),
        (Fraction(2) ** -150 + Fraction(2) ** -300, SMALLEST),
        (10**400, inf),
        (Fraction(-(10**400)), -inf),
        (0, 0.0),
        (Fraction(2) ** 128 - Fraction(2) ** 103, inf),
        (Fraction(2) ** 128 - Fraction(2) ** 103 - 1, LARGEST),
    ],
)
def test_middles_go_to_even_and_huge_numbers_to_infinity(
    number: Fraction | int, expected: float
) -> None:
    assert to_binary32(number) == expected


def test_floats_keep_infinities_nan_and_the_sign_of_zero() -> None:
    assert to_binary32(inf) == inf
    assert to_binary32(-inf) == -inf
    assert isnan(to_binary32(nan))
    assert math.copysign(1, to_binary32(-0.0)) == -1
    assert to_binary32(nextafter(LARGEST, inf)) == LARGEST
    assert to_binary32(LARGEST + 2.0**103) == inf
    assert all_to_binary32([inf, -inf, 1e39, 0.1]) == [inf, -inf, inf, to_binary32(0.1)]


@pytest.mark.parametrize("value", ["1", None, True, b"1", 1j, [1.0]])
def test_what_is_no_number_is_an_error(value: object) -> None:
    with pytest.raises(ParameterError, match="must be an int, a float or a Fraction"):
        to_binary32(value)  # type: ignore[arg-type]


@given(FINITE32 | CLOSE, FINITE32 | CLOSE)
def test_every_operation_is_the_exact_one_rounded_once(left: float, right: float) -> None:
    a, b = Binary32(left), Binary32(right)
    x, y = Fraction(left), Fraction(right)
    assert a + b == nearest(x + y)
    assert a - b == nearest(x - y)
    assert a * b == nearest(x * y)
    if right:
        assert a / b == nearest(x / y)
    if left > 0:
        assert to_binary32(math.sqrt(left)) == root_of(x)


def root_of(number: Fraction) -> float:
    """Return the binary32 number nearest to a square root."""
    scaled = number * Fraction(4) ** 200  # an integer, and 100 digits of its root
    return nearest(Fraction(2 * math.isqrt(int(scaled)) + 1, 2 ** (200 + 1)))


@given(ANY32, st.integers(-5, 5) | st.floats(-5, 5) | st.fractions(-5, 5))
def test_other_operands_are_converted_first(left: float, right: float | Fraction) -> None:
    a, b = Binary32(left), Binary32(right)
    for result, expected in [
        (a + right, a + b),
        (right + a, b + a),
        (a - right, a - b),
        (right - a, b - a),
        (a * right, a * b),
        (right * a, b * a),
        (a / right, a / b),
        (right / a, b / a),
        (-a, Binary32(-left)),
        (+a, a),
        (abs(a), Binary32(abs(left))),
    ]:
        assert isinstance(result, Binary32)
        assert struct.pack("f", result) == struct.pack("f", expected) or isnan(expected)
    assert (a < right, a <= right, a > right, a >= right) == (a < b, a <= b, a > b, a >= b)
    assert (a == right, a != right) == (a == b, a != b)


def test_comparisons_and_hashes_are_those_of_binary32() -> None:
    tenth = Binary32(0.1)
    assert tenth == 0.1
    assert float(tenth) != 0.1
    assert hash(Binary32(0.5)) == hash(0.5)
    assert sorted([Binary32(2), Binary32(1)]) == [1, 2]
    assert not tenth < 0.1
    assert tenth >= 0.1
    assert sum([tenth] * 10) == 1.0000001192092896


def test_other_operands_than_numbers_are_left_to_python() -> None:
    assert Binary32(1) != "1"
    for wrong in ("1", None):
        with pytest.raises(TypeError):
            Binary32(1) + wrong
        with pytest.raises(TypeError):
            assert Binary32(1) < wrong


def test_division_by_zero_gives_what_ieee_754_says() -> None:
    assert Binary32(1) / 0 == inf
    assert Binary32(-1) / 0 == -inf
    assert 1 / Binary32(-0.0) == -inf
    assert isnan(Binary32(0) / 0)
    assert isnan(quotient(nan, 0.0))
    assert quotient(inf, 0.0) == inf
    assert quotient(3.0, 2.0) == 1.5
    assert Binary32(3e38) * 2 == inf


@given(st.lists(CLOSE | FINITE32, max_size=20))
def test_a_sum_goes_from_left_to_right(numbers: list[float]) -> None:
    total = Binary32(0)
    for number in numbers:
        total = total + number
    expected = sum_in_binary32(numbers)
    assert total == expected or isnan(expected)
