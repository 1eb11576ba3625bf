"""The quick stages of a decision never contradict the definition, and mostly settle it."""

import math
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from math import inf

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sampling_ref.errors import RowError
from sampling_ref.numbers.exponential_sums import exponential_bounds, scaled_difference, sign_of_sum
from sampling_ref.numbers.mass import SMALLEST_SUM, Mass, float_weights, relative_error
from sampling_ref.numbers.reaching import Goal
from sampling_ref.row import Number
from tests.sampling.rows import rows, shares
from tests.texts import CAMPAIGN

WITNESS = Context(prec=120, Emin=-(10**9), Emax=10**9)
FACTORS = st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(1, 2), Fraction(10, 7)])
OFFSETS = st.sampled_from([0.0, 0.0, 63.0, -64.5, 1000.0, -1e6])


def moved(row: Sequence[Number], offset: float) -> list[Number]:
    return [logit + offset for logit in row]


def exponential(numerator: int, denominator: int) -> Decimal:
    return (Decimal(numerator) / denominator).exp()


@given(rows(), OFFSETS, FACTORS)
def test_float_weights_are_as_close_as_promised(
    row: list[float], offset: float, factor: Fraction
) -> None:
    mass = Mass(moved(row, offset), factor)
    weights = mass.weights
    assert weights is not None
    assert mass.total == sum(weights)
    with localcontext(WITNESS):
        truths = [
            Decimal(0)
            if logit == -inf
            else exponential(*scaled_difference(logit, mass.reference, factor))
            for logit in mass.row
        ]
        bound = Decimal(relative_error(len(row))) / 2
        for weight, truth in zip(weights, truths, strict=True):
            assert abs(Decimal(weight) - truth) <= bound * truth + Decimal(SMALLEST_SUM)
        for run, truth in zip(accumulate(weights), accumulate(truths), strict=True):
            assert abs(Decimal(run) - truth) <= bound * truth + Decimal(SMALLEST_SUM)


@given(rows(), OFFSETS, FACTORS)
def test_fractions_have_the_same_float_weights(
    row: list[float], offset: float, factor: Fraction
) -> None:
    floats = moved(row, offset)
    exact = [logit if logit == -inf else Fraction(logit) for logit in floats]
    mass, same = Mass(floats, factor), Mass(exact, factor)
    assert mass.weights is not None
    assert same.weights == pytest.approx(mass.weights, rel=relative_error(2), abs=1e-300)


class Coarse(float):
    """A float that rounds as 32-bit numbers do, and more."""

    def __mul__(self, other: float) -> float:
        """Return much too little."""
        return float(int(float(self) * float(other)))

    __rmul__ = __mul__
    __sub__ = __rsub__ = __mul__


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(5, 4)])
def test_a_subclass_of_float_is_not_asked_to_calculate(offset: float, factor: Fraction) -> None:
    plain = Mass([0.75 + offset, offset], factor)
    coarse = Mass([Coarse(0.75 + offset), Coarse(offset)], factor)
    assert coarse.weights == pytest.approx(plain.weights, rel=1e-15)


@pytest.mark.parametrize(
    ("row", "factor"),
    [
        ([Fraction(10**400)], Fraction(1)),
        ([Fraction(-(10**400))], Fraction(1)),
        ([1.0], Fraction(10**400)),
        ([1.0], Fraction(1, 10**400)),
    ],
)
def test_what_floats_do_not_hold_has_no_float_weights(row: list[float], factor: Fraction) -> None:
    mass = Mass(row, factor)
    assert mass.weights is None
    assert mass.total == inf
    assert mass.weights_of([0.0]) is None


def test_weights_relative_to_a_reference_may_not_fit() -> None:
    assert float_weights([800.0], 0, Fraction(1)) is None
    assert Mass([0.0]).weights_of([800.0]) is None


def test_a_mass_needs_a_possible_token() -> None:
    with pytest.raises(RowError, match=r"^logits must leave a token possible"):
        Mass([-inf])


@settings(max_examples=100 * CAMPAIGN)
@given(rows(), st.none() | rows(), shares(), OFFSETS, FACTORS, st.booleans())
@example([0.0] * 10, None, 0.1, 0.0, Fraction(1), False)
@example([0.0, -200.0, -400.0], None, 1 - 2.0**-53, 0.0, Fraction(1), True)
def test_each_stage_keeps_the_place_that_the_definition_finds(
    row: list[float],
    other: list[float] | None,
    share: float,
    offset: float,
    factor: Fraction,
    strictly: bool,
) -> None:
    walked = moved(row, offset)
    mass = Mass(walked if other is None else moved(other, offset), factor)
    goal = Goal(mass, Fraction(share), strictly)
    place = goal.by_signs(walked, 0, len(row))
    weights = mass.weights_of(walked)
    if weights is not None:
        low, high = goal.by_floats(list(accumulate(weights)), len(row))
        assert low <= place <= high
        assert goal.by_signs(walked, low, high) == place


@settings(max_examples=100 * CAMPAIGN)
@given(rows(impossible=False), st.data(), st.integers(10, 60))
def test_floats_leave_open_what_lies_too_near(
    row: list[float], data: st.DataObject, digits: int
) -> None:
    """A share a hair beside a running sum, where a float sum decides by luck."""
    mass = Mass(row, Fraction(1))
    index = data.draw(st.integers(0, len(row) - 1))
    with localcontext(WITNESS):
        weights = [exponential(*scaled_difference(x, mass.largest, mass.factor)) for x in row]
        cut = sum(weights[: index + 1], start=Decimal(0)) / sum(weights, start=Decimal(0))
        share = Fraction(round(cut, digits)) + data.draw(st.sampled_from([-1, 0, 1])) * Fraction(
            1, 10**digits
        )
    assume(0 < share < 1)
    assert mass.weights is not None
    goal = Goal(mass, share)
    place = goal.by_signs(row, 0, len(row))
    low, high = goal.by_floats(list(accumulate(mass.weights)), len(row))
    assert low <= place <= high
    assert goal.by_signs(row, low, high) == place


def test_floats_settle_a_usual_row_alone() -> None:
    row = [math.sin(index) * 8 for index in range(2000)]
    mass = Mass(row)
    assert mass.weights is not None
    runs = list(accumulate(mass.weights))
    for share in (0.1, 0.5, 0.9, 0.99):
        low, high = Goal(mass, Fraction(share)).by_floats(runs, len(row))
        assert low == high


COEFFICIENTS = st.fractions(-20, 20, max_denominator=10)
TERMS = st.dictionaries(st.fractions(-30, 30, max_denominator=8), COEFFICIENTS, max_size=6)


def as_terms(terms: Mapping[Fraction, Fraction]) -> dict[Number, Fraction | int]:
    return {x: c for x, c in terms.items()}  # noqa: C416 - the types are wider


@given(TERMS, FACTORS)
def test_the_sign_of_a_sum_is_that_of_120_digits(
    terms: dict[Fraction, Fraction], factor: Fraction
) -> None:
    with localcontext(WITNESS):
        total = Decimal(0)
        for x, c in terms.items():
            scaled = x * factor
            power = exponential(scaled.numerator, scaled.denominator)
            total += power * c.numerator / c.denominator
        expected = 0 if not any(terms.values()) else (1 if total > 0 else -1)
    assert sign_of_sum(as_terms(terms), factor) == expected
    opposite = {x: -c for x, c in terms.items()}
    assert sign_of_sum(as_terms(opposite), factor) == -expected


@given(TERMS, TERMS)
def test_terms_that_cancel_change_no_sign(
    terms: dict[Fraction, Fraction], others: dict[Fraction, Fraction]
) -> None:
    combined: dict[Fraction, Fraction] = dict(terms)
    for x, c in others.items():
        combined[x] = combined.get(x, Fraction(0)) + c
    for x, c in others.items():
        combined[x] -= c
    assert sign_of_sum(as_terms(combined)) == sign_of_sum(as_terms(terms))


def test_the_sign_of_a_sum_is_found_however_small_the_sum_is() -> None:
    assert sign_of_sum({-inf: 5}) == 0
    assert sign_of_sum({0.0: 0, -1e300: -1}) == -1
    assert sign_of_sum({0.0: 0, -1e300: -1, -1.5e300: 10**9}) == -1
    nearly_e = Fraction(271828182845904523536028747135266249775724709369995, 10**50)
    assert sign_of_sum({1: 1, 0: -nearly_e}) == 1
    assert sign_of_sum({1: 1, 0: -nearly_e - Fraction(1, 10**50)}) == -1


@given(st.lists(st.floats(-300, 0), min_size=1, max_size=5), FACTORS, st.integers(8, 300))
def test_exponentials_are_enclosed(exponents: list[float], factor: Fraction, bits: int) -> None:
    for x, (low, high) in zip(
        exponents, exponential_bounds(list(exponents), 0.0, factor, bits), strict=True
    ):
        with localcontext(Context(prec=300)):
            truth = exponential(*scaled_difference(x, 0.0, factor)) * Decimal(2) ** bits
            assert low <= truth <= high
        assert high - low <= 34
