"""Correctly rounded exponentials and logarithms, against `decimal`."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.reals import Real, nearest, rounded_exp, rounded_log

WITNESS = Context(prec=800, Emin=-(10**6), Emax=10**6)
POSITIVE = st.floats(0, exclude_min=True, allow_infinity=False)
FRACTIONS = st.fractions(Fraction(1, 10**6), 10**6)


def nearest_to(number: Decimal) -> float:
    return nearest(*number.as_integer_ratio())


@given(st.floats(-750, 712) | st.floats(-1, 1) | st.fractions(-700, 700))
@example(-745.1332191019411)
@example(-745.1332191019412)
@example(-708.5)
@example(709.782712893384)
@example(709.7827128933841)
@example(5e-324)
@example(2.0**-54)
def test_exp_is_the_nearest_float(x: float | Fraction) -> None:
    with localcontext(WITNESS):
        top, bottom = x.as_integer_ratio()
        assert rounded_exp(x) == nearest_to((Decimal(top) / bottom).exp())


@given(POSITIVE | FRACTIONS)
@example(1.0 + 2.0**-52)
@example(1.0 - 2.0**-53)
@example(5e-324)
def test_log_is_the_nearest_float(x: float | Fraction) -> None:
    with localcontext(WITNESS):
        top, bottom = x.as_integer_ratio()
        truth = (Decimal(top) / bottom).ln()
        assert rounded_log(x) == nearest_to(truth)


def test_the_logarithm_of_a_fraction_beyond_floats_is_a_float() -> None:
    assert rounded_log(10**400) == pytest.approx(400 * math.log(10), rel=1e-15)
    assert rounded_log(1 + Fraction(1, 10**400)) == 0.0
    assert rounded_log(1 - Fraction(1, 10**310)) == -1e-310


@given(st.floats(-700, 700))
def test_the_exp_of_this_c_library_is_within_one_unit_of_the_nearest_float(x: float) -> None:
    """The bound of the fast paths allows for sixteen."""
    nearest_one = rounded_exp(x)
    assert abs(math.exp(x) - nearest_one) <= math.ulp(nearest_one)


@pytest.mark.parametrize("x", [math.inf, math.nan, True, "1", None, 1j])
def test_what_is_no_finite_number_is_an_error(x: float) -> None:
    for function in (rounded_exp, rounded_log):
        with pytest.raises(ParameterError, match="must be a finite number, got "):
            function(x)


@pytest.mark.parametrize("x", [-1.0, -5e-324, Fraction(-1, 3)])
def test_the_logarithm_of_a_negative_number_is_an_error(x: float) -> None:
    with pytest.raises(ParameterError, match=r"^logarithm's argument must not be negative"):
        rounded_log(x)


@given(st.floats(-1e30, 1e30))
def test_rounding_a_rational_is_exact(x: float) -> None:
    assert float(Real(x)) == x


@given(st.floats(-100, 88))
def test_an_exponential_rounds_once(x: float) -> None:
    with localcontext(WITNESS):
        assert float(Real(x).exp()) == nearest_to(Decimal(x).exp())
