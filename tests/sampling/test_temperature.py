"""Temperature, dynamic temperature, quadratic smoothing, and what greedy means."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, log, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.numbers.binary32 import Binary32
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.plain32 import PLAIN32
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.row import Candidates, Number
from sampling_ref.steps import dynamic_temperature as of_dynamic_temperature
from sampling_ref.steps import smoothing as of_smoothing
from sampling_ref.steps.greedy import greedy as only_greedy_candidates
from sampling_ref.steps.greedy import greedy_token
from sampling_ref.steps.temperature import temperature as tempered
from tests.sampling.rows import rows
from tests.texts import drawn

TEMPERATURES = st.fractions(Fraction(1, 8), 4, max_denominator=16)
NOT_POSITIVE = [0, 0.0, -0.0, -5e-324, nan, inf, -inf, "1", None, True, 10**400]
NEGATIVE = [-5e-324, -1, nan, inf, -inf, "1", None, True, 10**400]


def temperature(row: Any, value: Any, numbers: Numbers = EXACT) -> list[Number]:
    """Return the logits divided by a temperature, without rounding if the numbers are exact."""
    after = tempered(row, value, numbers=numbers)
    return [
        x if x == -inf else x * after.factor if numbers.rounds else Fraction(x) * after.factor
        for x in after.logits
    ]


def dynamic_temperature(row: Any, *args: Any, **given: Any) -> list[Number]:
    return of_dynamic_temperature.dynamic_temperature(row, *args, **given).row(len(row))


def temperature_of_entropy(
    row: list[float], middle: Any, spread: Any, exponent: Any, count: int
) -> Number:
    middle, spread, exponent = map(Fraction, (middle, spread, exponent))
    low = max(Fraction(0), middle - spread)
    here = EXACT.of(Candidates(range(len(row)), row))
    return here.tempered(low, middle + spread, exponent, count)


def smoothing(row: Any, factor: Any, numbers: Numbers = EXACT) -> list[Number]:
    return list(of_smoothing.smoothing(row, factor, numbers=numbers).logits)


def only_greedy(row: Any, **choices: Any) -> list[Number]:
    return list(only_greedy_candidates(row, **choices).logits)


@drawn(60)
@given(rows(), TEMPERATURES)
def test_temperature_divides_every_logit(row: list[float], value: Fraction) -> None:
    exact: list[Number] = [logit if logit == -inf else Fraction(logit) for logit in row]
    divided = temperature(exact, value)
    assert divided == [logit if logit == -inf else logit / value for logit in exact]
    floats = tempered(row, float(value)).row(len(row))
    assert floats == [logit / float(value) for logit in row]


def test_two_temperatures_are_their_product() -> None:
    assert temperature(temperature([3.0, -1.0], 2.0), 0.25) == temperature([3.0, -1.0], 0.5)
    assert temperature([3.0, -1.0], 0.5) != temperature(temperature([3.0, -1.0], 0.5), 0.5)


def test_in_32_bits_each_quotient_is_rounded() -> None:
    ten, three = Binary32(10.0), Binary32(3.0)
    assert temperature([10.0], 3.0, PLAIN32) == [ten / three]


@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_a_temperature_must_be_finite_and_above_0(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^temperature must be a finite number above 0, got"):
        temperature([1.0, 2.0], value)
    with pytest.raises(ParameterError, match=r"^smoothing_factor must be a finite number above"):
        smoothing([1.0, 2.0], value)


def test_a_temperature_that_leaves_no_finite_logit_is_an_error_in_32_bits() -> None:
    assert temperature([1.0, -1.0], 1e-309) == [1 / Fraction(1e-309), -1 / Fraction(1e-309)]
    with pytest.raises(RowError, match="makes logits too large for 32 bits"):
        temperature([1.0, 0.0], 1e-39, PLAIN32)
    assert temperature([-1.0, 0.0], 1e-39, PLAIN32) == [-inf, 0.0]


# Dynamic temperature


def temperature_in_decimal(
    row: list[float], low: Fraction, high: Fraction, exponent: Fraction, count: int
) -> Decimal:
    """Return the temperature in 400 digits, by the formula as it is written."""
    with localcontext() as context:
        context.prec = 400
        largest = max(row)
        weights = [(Decimal(logit) - Decimal(largest)).exp() for logit in row if logit > -inf]
        total = sum(weights)
        shares = [weight / total for weight in weights]
        entropy = -sum(share * share.ln() for share in shares if share)
        even = max(entropy / Decimal(count).ln(), Decimal(0))
        power = Decimal(exponent.numerator) / exponent.denominator
        raised = even**power if even else Decimal(0 if power else 1)
        bottom, top = (Decimal(part.numerator) / part.denominator for part in (low, high))
        return bottom + (top - bottom) * raised


@drawn(60)
@given(
    rows(most=8),
    st.fractions(0, 3, max_denominator=8),
    st.fractions(Fraction(1, 8), 3, max_denominator=8),
    st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5, 4)]),
    st.integers(0, 3),
)
def test_the_temperature_follows_the_entropy(
    row: list[float], middle: Fraction, spread: Fraction, exponent: Fraction, more: int
) -> None:
    count = sum(logit > -inf for logit in row) + more
    if count == 1:
        assert dynamic_temperature(row, middle, spread, exponent, in_play=1) == row
        return
    found = temperature_of_entropy(list(row), middle, spread, exponent, count)
    low, high = max(Fraction(0), middle - spread), middle + spread
    expected = temperature_in_decimal(row, low, high, exponent, count)
    # The nearest float: no more than half a unit in the last place away.
    with localcontext() as context:
        context.prec = 400
        assert abs(Decimal(float(found)) - expected) <= abs(expected) * Decimal(2) ** -53
    after = dynamic_temperature(row, middle, spread, exponent, in_play=count)
    if found == 0:
        assert after == only_greedy(row)
    else:
        assert after == [logit / float(found) for logit in row]


def test_equal_logits_have_the_highest_temperature_and_a_single_one_the_lowest() -> None:
    assert temperature_of_entropy([1.0] * 5, 1.0, 0.5, 3, 5) == 1.5
    assert temperature_of_entropy([1.0, -inf, -inf], 1.0, 0.5, 3, 3) == 0.5
    assert temperature_of_entropy([1.0, 1.0, -inf, -inf], 1.0, 0.5, 2, 4) == 0.5 + 1 / 4


def test_removed_tokens_in_play_lower_the_share() -> None:
    row = [1.0, 1.0, -inf, -inf]
    assert dynamic_temperature(row, 1.0, 1.0) == [0.5, 0.5, -inf, -inf]
    assert dynamic_temperature(row, 1.0, 1.0, in_play=4) == [1.0, 1.0, -inf, -inf]


def test_without_spread_it_is_plain_temperature() -> None:
    assert dynamic_temperature([1.0, 3.0], 2.0, 0.0) == [0.5, 1.5]
    assert dynamic_temperature([3.0], 2.0, 0.0) == [1.5]
    assert dynamic_temperature([1.0, 3.0, 3.0], 0.0, 0.0) == [-inf, 3.0, -inf]


def test_a_single_token_in_play_is_left_alone() -> None:
    assert dynamic_temperature([3.0, -inf], 2.0, 0.5) == [3.0, -inf]


def test_a_temperature_of_zero_leaves_the_first_of_the_largest() -> None:
    assert dynamic_temperature([3.0, -inf], 0.5, 0.5, in_play=2) == [3.0, -inf]
    assert dynamic_temperature([1.0, -inf, 1.0], 0.0, 0.0) == [1.0, -inf, -inf]


def test_low_is_never_below_zero() -> None:
    assert temperature_of_entropy([1.0, -inf], 0.5, 2.0, 1, 2) == 0.0
    assert temperature_of_entropy([1.0, 1.0], 0.5, 2.0, 1, 2) == 2.5


def test_an_exponent_of_zero_is_always_the_highest_temperature() -> None:
    assert temperature_of_entropy([1.0, -inf], 0.5, 0.25, 0, 2) == 0.75


@pytest.mark.parametrize("name", ["temperature", "spread", "exponent"])
@pytest.mark.parametrize("value", NEGATIVE)
def test_domains_of_dynamic_temperature(name: str, value: Any) -> None:
    fine: dict[str, Any] = {"temperature": 1.0, "spread": 0.5, "exponent": 1}
    with pytest.raises(ParameterError, match=rf"^{name} must be a finite number of at least 0"):
        dynamic_temperature([1.0, 2.0], **{**fine, name: value})
    assert dynamic_temperature([1.0, 1.0], **{**fine, name: 0})


def test_what_is_in_play_is_at_least_what_is_possible() -> None:
    with pytest.raises(ParameterError, match=r"^in_play must be a whole number of at least 2"):
        dynamic_temperature([1.0, 2.0, -inf], 1.0, 0.5, in_play=1)
    with pytest.raises(RowError, match=r"^logits must leave a token possible"):
        dynamic_temperature([-inf], 1.0, 0.5)
    with pytest.raises(ParameterError, match=r"^spread must leave the temperature finite"):
        dynamic_temperature([1.0, 1.0], 1.7e308, 1.7e308)


# Smoothing


@drawn(60)
@given(rows(), TEMPERATURES)
def test_smoothing_squares_the_distance_from_the_largest(
    row: list[float], factor: Fraction
) -> None:
    exact: list[Number] = [logit if logit == -inf else Fraction(logit) for logit in row]
    largest = max(exact)
    assert smoothing(exact, factor) == [
        logit if logit == -inf else -((logit - largest) ** 2) * factor for logit in exact
    ]


def test_smoothing_forgets_what_is_added_to_all_logits() -> None:
    assert smoothing([3.0, 1.0], 0.5) == smoothing([13.0, 11.0], 0.5)


def test_far_away_is_impossible_after_smoothing() -> None:
    assert smoothing([1e30, -1e30], 1.0, PLAIN32) == [0.0, -inf]
    assert smoothing([-inf, -inf], 1.0) == [-inf, -inf]


# Greedy


@drawn(60)
@given(rows())
def test_greedy_returns_the_first_or_the_last_of_the_largest(row: list[float]) -> None:
    largest = [token for token, logit in enumerate(row) if logit == max(row)]
    assert greedy_token(row) == largest[0]
    assert greedy_token(row, ties="last") == largest[-1]
    for ties in ("first", "last"):
        alone = only_greedy(row, ties=ties)
        assert [token for token, logit in enumerate(alone) if logit > -inf] == [
            greedy_token(row, ties=ties)
        ]
        assert max(alone) == max(row)


def test_the_two_zeros_are_equal() -> None:
    assert greedy_token([-0.0, 0.0]) == 0
    assert greedy_token([0.0, -0.0], ties="last") == 1


def test_a_row_without_a_possible_token_has_no_greedy_token() -> None:
    with pytest.raises(RowError, match=r"^logits must leave a token possible"):
        greedy_token([-inf, -inf])
    assert only_greedy([-inf, -inf]) == [-inf, -inf]


def test_no_other_ties_are_known() -> None:
    for ties in ("lowest", None):
        with pytest.raises(ParameterError, match=r"^ties must be one of first, last"):
            greedy_token([1.0], ties=ties)  # type: ignore[arg-type]


def test_the_entropy_share_of_a_peaked_row_is_small() -> None:
    found = temperature_of_entropy([60.0, 0.0], 1.0, 1.0, 1, 2)
    assert 0 < found < 1e-20
    assert found == pytest.approx(2 * 61 * 8.756510762696520e-27 / log(2), rel=1e-9)
