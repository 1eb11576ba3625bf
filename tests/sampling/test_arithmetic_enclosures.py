"""Enclosures enclose, and are close; floats are the nearest ones.

The judge is `decimal`, whose exp and ln are correctly rounded and share no code with ours.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from struct import pack, unpack

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.enclosures import (
    SLACK,
    _log1p_bounds,
    exp_bounds,
    exp_mantissa,
    ln2_bounds,
    log_bounds,
)
from sampling_ref.numbers.reals import nearest, nearest_to_enclosed

BITS = st.sampled_from([1, 8, 64, 96, 128, 250, 700])
PARTS = st.integers(1, 10**6) | st.integers(1, 2**60)
WITNESS = Context(prec=400, Emin=-(10**6), Emax=10**6)


def decimal_of(number: Fraction) -> Decimal:
    with localcontext(WITNESS):
        return Decimal(number.numerator) / number.denominator


def units(number: Decimal, bits: int) -> Decimal:
    with localcontext(WITNESS):
        return number * Decimal(2) ** bits


@given(st.integers(-(10**9), 10**9), PARTS, BITS)
@example(1, 10**30, 64)
@example(-1, 10**30, 64)
@example(-5000, 1, 64)
def test_an_enclosure_of_exp_holds_it_and_is_close(top: int, bottom: int, bits: int) -> None:
    x = Fraction(top, bottom)
    if abs(x) > 400:
        x /= 10**7
    low, high = exp_bounds(x.numerator, x.denominator, bits)
    with localcontext(WITNESS):
        truth = units(decimal_of(x).exp(WITNESS), bits)
        assert low <= truth <= high
    assert high - low <= 2


@given(st.integers(-(10**9), 10**9), PARTS, st.sampled_from([16, 64, 96, 128, 250, 700]))
@example(177445678, 256000000, 64)
def test_a_mantissa_of_exp_is_less_than_the_slack_too_low(top: int, bottom: int, bits: int) -> None:
    x = Fraction(top, bottom)
    if abs(x) > 10**5:
        x /= 10**7
    mantissa, exponent = exp_mantissa(x.numerator, x.denominator, bits)
    with localcontext(WITNESS):
        truth = units(decimal_of(x).exp(WITNESS), bits - exponent)
        assert mantissa <= truth < mantissa + SLACK
    assert (1 << bits) - SLACK <= mantissa <= (2 << bits) + SLACK


@given(st.integers(0, 700))
def test_an_enclosure_of_ln_2_holds_it(bits: int) -> None:
    low, high = ln2_bounds(bits)
    with localcontext(WITNESS):
        assert low <= units(Decimal(2).ln(WITNESS), bits) <= high
    assert high - low <= 2


@given(PARTS, PARTS, BITS)
@example(2**61 - 1, 2**61, 64)
@example(2**200 + 1, 2**200, 64)
@example(10**300, 1, 64)
@example(1, 10**300, 64)
@example(10**400, 1, 64)
def test_an_enclosure_of_log_holds_it_and_is_close(top: int, bottom: int, bits: int) -> None:
    low, high = log_bounds(top, bottom, bits)
    with localcontext(WITNESS):
        assert low <= units(decimal_of(Fraction(top, bottom)).ln(WITNESS), bits) <= high
    assert high - low <= 2


@given(st.integers(-(2**24), 2**24))
def test_the_series_of_a_logarithm_near_one_counts_its_errors(difference: int) -> None:
    low, high = _log1p_bounds(difference, 40)
    with localcontext(WITNESS):
        truth = units((1 + Decimal(difference) / 2**40).ln(WITNESS), 40)
        assert low <= truth <= high
    assert high - low <= 40


def test_an_exponential_of_millions_of_digits_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^exponent must be at most 2\*\*24, got 16777217$"):
        exp_bounds(2**24 + 1, 1, 8)


@pytest.mark.parametrize(("top", "bottom"), [(0, 1), (-1, 1), (1, 0)])
def test_a_logarithm_of_nothing_is_refused(top: int, bottom: int) -> None:
    with pytest.raises(ParameterError, match="must be positive"):
        log_bounds(top, bottom, 8)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_nearest_to_itself(number: float) -> None:
    assert nearest(*number.as_integer_ratio()) == number


@given(st.integers(-(10**40), 10**40), st.integers(1, 10**40))
@example(1, 2**1075)
@example(3, 2**1075)
@example(2**53 + 1, 1)
@example(2**53 + 3, 1)
@example(2**54 - 1, 2**1074)
@example(2**53 - 1, 2**1075)
def test_no_float_is_nearer_than_the_nearest(top: int, bottom: int) -> None:
    number, found = Fraction(top, bottom), nearest(top, bottom)
    for beside in (math.nextafter(found, math.inf), math.nextafter(found, -math.inf)):
        assert abs(Fraction(found) - number) <= abs(Fraction(beside) - number)


@given(st.floats(0, allow_infinity=False), st.integers(-3, 3))
@example(2.0**-1074, 0)
@example((2 - 2.0**-52) * 2.0**1023, 0)
@example(0.0, 1)
def test_the_middle_of_two_floats_rounds_to_even(number: float, beside: int) -> None:
    """The neighbours come from the bit patterns, so no arithmetic is shared."""
    (pattern,) = unpack("<Q", pack("<d", number))
    (above,) = unpack("<d", pack("<Q", pattern + 1))
    after = Fraction(2**1024 if above == math.inf else above)
    middle = (Fraction(number) + after) / 2 + Fraction(beside, 2**1100)
    rounds_up = beside > 0 or (beside == 0 and pattern % 2 == 1)
    assert nearest(middle.numerator, middle.denominator) == (above if rounds_up else number)


def test_half_a_place_beyond_the_largest_float_is_infinite() -> None:
    place = 2 ** (1024 - 53)
    border = 2**1024 - place // 2
    assert nearest(border, 1) == math.inf
    assert nearest(-border, 1) == -math.inf
    assert nearest(border - 1, 1) == 2**1024 - place


@given(st.integers(-(2**130), 2**130), st.integers(0, 2**70), st.integers(-1200, 1200))
@example(2**53, 1, 0)
@example(2**54 - 2, 4, 1070)
@example(2**100 + 2**60, 2**50, 1150)  # subnormal: what two 53-digit numbers share
@example(2**100 + 2**70 - 1, 0, 1100)
def test_an_enclosure_rounds_only_where_both_ends_agree(low: int, width: int, bits: int) -> None:
    scale = Fraction(2) ** -bits
    ends = [Fraction(end) * scale for end in (low, low + width)]
    expected = [nearest(end.numerator, end.denominator) for end in ends]
    found = nearest_to_enclosed(low, low + width, bits)
    assert found == (expected[0] if expected[0] == expected[1] else None)
