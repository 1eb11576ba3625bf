"""The mean logit: its value, and on which side of it a number lies."""

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.numbers.thresholds import float_mean, side_of_mean
from sampling_ref.numbers.totals import entropy_of, log_of_sum, mean_logit
from tests.sampling.filtering import DIGITS, weights_of
from tests.sampling.rows import rows
from tests.sampling.test_eta import decimal
from tests.texts import drawn

FACTORS = st.sampled_from([0.5, 1.0, 1.25])


def mean_of(row: list[float], factor: float) -> Decimal:
    weights = weights_of(row, factor)
    with localcontext(DIGITS):
        total = decimal(sum(weights, start=Fraction(0)))
        parts = zip(row, weights, strict=True)
        terms = (Decimal(logit) * decimal(weight) for logit, weight in parts if weight)
        return sum(terms, start=Decimal(0)) / total


@drawn(40)
@given(rows(), FACTORS)
def test_the_mean_is_the_formula_s(row: list[float], factor: float) -> None:
    exact = mean_logit(row, Fraction(factor))
    assert abs(Decimal(float(exact)) - mean_of(row, factor)) <= Decimal(2) ** -44


@drawn(40)
@given(rows(), FACTORS)
def test_the_float_s_bound_holds(row: list[float], factor: float) -> None:
    counts: Counter[float | Fraction] = Counter(x for x in row if x > -inf)
    exact: Counter[float | Fraction] = Counter(Fraction(x) for x in row if x > -inf)
    for numbers in (counts, exact):
        found, error = float_mean(numbers, Fraction(factor))
        assert abs(Decimal(found) - mean_of(row, factor)) <= Decimal(error)
        assert error < 1e-8


@drawn(40)
@given(rows(), FACTORS, st.data())
def test_a_number_is_on_the_side_that_many_digits_say(
    row: list[float], factor: float, data: st.DataObject
) -> None:
    side = side_of_mean(row, Fraction(factor))
    one, two = (data.draw(st.sampled_from([x for x in row if x > -inf])) for _ in range(2))
    with localcontext(DIGITS):
        distance = (Decimal(one) + Decimal(two)) / 2 - mean_of(row, factor)
    if abs(distance) > Decimal("1e-60"):
        assert side(one, two) == (1 if distance > 0 else -1)


@drawn(40)
@given(rows(), FACTORS)
def test_a_number_beside_the_mean_is_decided(row: list[float], factor: float) -> None:
    mean = mean_of(row, factor)
    side = side_of_mean(row, Fraction(factor))
    step = Fraction(1, 10**40)
    if len({x for x in row if x > -inf}) > 1:
        assert side(Fraction(mean) - step, Fraction(mean) - step) == -1
        assert side(Fraction(mean) + step, Fraction(mean) + step) == 1


@drawn(40)
@given(rows(), FACTORS)
def test_entropy_is_log_total_less_the_scaled_mean(row: list[float], factor: float) -> None:
    scale = Fraction(factor)
    difference = log_of_sum(row, scale) - mean_logit(row, scale) * scale - entropy_of(row, scale)
    bound = Fraction(1, 2**200)
    assert difference.exact == 0 or (-bound < difference < bound)


def test_equal_logits_have_their_own_mean() -> None:
    side = side_of_mean([0.1, 0.1, -inf], Fraction(1))
    assert side(0.1, 0.1) == 0
    assert side(0.1, Fraction(0.1) + Fraction(1, 10**99)) == 1
    assert mean_logit([0.1, 0.1, -inf], Fraction(1)).exact == Fraction(0.1)


def test_numbers_that_no_float_can_hold() -> None:
    huge = Fraction(10**400)
    assert float_mean(Counter([huge, huge + 1]), Fraction(1)) == (0.0, inf)
    assert float_mean(Counter([1.0]), huge) == (0.0, inf)
