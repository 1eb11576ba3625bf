"""Probabilities, their logarithms and the entropy are the nearest floats, against `decimal`."""

import math
from array import array
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.numbers.reals import nearest
from sampling_ref.numbers.softmax import log_softmax, softmax
from sampling_ref.numbers.totals import entropy_of, log_of_sum, total_weight
from sampling_ref.parameters import read_fraction
from sampling_ref.row import read_possible_logits
from tests.sampling.rows import rows

WITNESS = Context(prec=420, Emin=-(10**6), Emax=10**6)
FACTORS = st.sampled_from([1, 1.25, 0.5, Fraction(10, 7), 3])


def entropy(row: Any, *, factor: Any = 1) -> float:
    read = read_possible_logits(row)
    return float(entropy_of(read, read_fraction("factor", factor, "(0, inf)")))


FUNCTIONS: list[Callable[..., object]] = [softmax, log_softmax, entropy]


def scaled(row: list[float], factor: float | Fraction) -> list[Decimal | None]:
    """Return factor * logit as decimals, None for minus infinity."""
    found: list[Decimal | None] = []
    for logit in row:
        if logit == -inf:
            found.append(None)
        else:
            exact = Fraction(logit) * Fraction(factor)
            found.append(Decimal(exact.numerator) / exact.denominator)
    return found


def float_of(number: Decimal) -> float:
    return nearest(*number.as_integer_ratio())


@given(rows(), FACTORS)
@example([0.0, -745.0, -745.2, -744.5, -1e300], 1)
@example([0.0, -708.4, -709.0, -30.0], 1)
@example([1e300, 0.0], 3)
def test_a_probability_is_the_nearest_float(row: list[float], factor: float) -> None:
    with localcontext(WITNESS):
        numbers = [x if x is None or x > -(10**5) else None for x in scaled(row, factor)]
        most = max(x for x in numbers if x is not None)
        powers = [Decimal(0) if x is None else (x - most).exp() for x in numbers]
        total = sum(powers, start=Decimal(0))
        assert softmax(row, factor=factor) == [float_of(power / total) for power in powers]


@given(rows(), FACTORS)
@example([0.0, -800.0], 1)
@example([0.0, -50.0, -inf], 1)
def test_a_logarithm_is_the_nearest_float(row: list[float], factor: float) -> None:
    with localcontext(WITNESS):
        numbers = scaled(row, factor)
        total = sum((x.exp() for x in numbers if x is not None), start=Decimal(0)).ln()
        assert float(log_of_sum(row, Fraction(factor))) == float_of(total)
        expected = [-inf if x is None else float_of(x - total) for x in numbers]
        assert log_softmax(row, factor=factor) == expected


@given(rows(), FACTORS)
@example([0.0, -800.0], 1)
@example([0.0, -1e30], 1)
@example([0.0, -100.0, -45.0], 1)
def test_the_entropy_is_the_nearest_float(row: list[float], factor: float) -> None:
    with localcontext(WITNESS):
        powers = [x.exp() for x in scaled(row, factor) if x is not None and x > -(10**5)]
        total = sum(powers, start=Decimal(0))
        chances = [power / total for power in powers]
        expected = -sum((p * p.ln() for p in chances), start=Decimal(0))
        assert entropy(row, factor=factor) == float_of(expected)


@given(rows(), FACTORS)
def test_a_common_offset_changes_no_probability(row: list[float], factor: float) -> None:
    moved = [x if x == -inf else Fraction(x) + Fraction(1000, 3) for x in row]
    assert softmax(moved, factor=factor) == softmax(row, factor=factor)
    assert log_softmax(moved, factor=factor) == log_softmax(row, factor=factor)
    assert entropy(moved, factor=factor) == entropy(row, factor=factor)


@given(rows(), FACTORS)
def test_a_factor_is_the_same_as_a_scaled_row(row: list[float], factor: float) -> None:
    multiplied = [x if x == -inf else Fraction(x) * Fraction(factor) for x in row]
    assert softmax(multiplied) == softmax(row, factor=factor)
    assert float(log_of_sum(multiplied)) == float(log_of_sum(row, Fraction(factor)))
    assert entropy(multiplied) == entropy(row, factor=factor)


@given(st.integers(1, 300), st.floats(-1e6, 1e6))
def test_equal_logits_share_exactly(count: int, logit: float) -> None:
    assert softmax([logit] * count + [-inf]) == [1 / count] * count + [0.0]
    assert entropy([logit] * count) == entropy([0.0] * count)
    assert total_weight([logit] * count).exact == count


@given(rows())
def test_formulas_of_sums_agree_with_floats(row: list[float]) -> None:
    assert float(entropy_of(row)) == entropy(row)
    weights = [math.exp(x - max(row)) for x in row]
    assert float(total_weight(row)) == pytest.approx(sum(weights))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_any_container_of_numbers_is_a_row(function: Callable[..., object]) -> None:
    assert function(array("f", [0.5, 1.5])) == function([0.5, 1.5])
    assert function((Fraction(1, 2), 1.5)) == function([0.5, 1.5])


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("row", [[], [nan], [inf, 0.0], [-inf], "ab", [True], [0.0, None]])
def test_what_is_no_row_is_an_error(function: Callable[..., object], row: list[float]) -> None:
    with pytest.raises(RowError, match=r"^logits"):
        function(row)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("factor", [0, -1.0, inf, nan, True, "1", None])
def test_a_factor_must_be_positive_and_finite(
    function: Callable[..., object], factor: float
) -> None:
    with pytest.raises(ParameterError, match=r"^factor must be a finite number above 0, got "):
        function([0.5], factor=factor)


def test_rows_are_not_changed() -> None:
    row = [0.5, -inf, 2.0]
    for function in FUNCTIONS:
        function(row)
    assert row == [0.5, -inf, 2.0]
