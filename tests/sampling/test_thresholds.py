"""Thresholds are compared as real numbers."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError, UndecidedError
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.thresholds import logits_at_least, probabilities_at_least
from tests.sampling.rows import (
    EXCEEDING,
    OPTIONS,
    REACHING,
    WITNESS,
    Options,
    rows,
    shares,
    weights_of,
)


def chances_of(row: list[float], factor: float | Fraction) -> list[Decimal]:
    """Return the probabilities to 300 digits; call it in the context of the witness."""
    weights = weights_of(row, factor)
    total = sum(weights, start=Decimal(0))
    return [weight / total for weight in weights]


def at_least(number: Decimal, share: Decimal, *, strictly: bool) -> bool:
    equal = abs(number - share) <= Decimal(10) ** -250
    return (number > share and not equal) or (equal and not strictly)


@given(rows(), shares(), OPTIONS)
@example([0.0] * 4, 0.25, REACHING)
@example([0.0] * 4, 0.25, EXCEEDING)
@example([0.0] * 3 + [-inf], Fraction(1, 3), REACHING)
@example([0.0] * 10, 0.1, REACHING)
@example([0.0], 1.0, REACHING)
@example([0.0], 1.0, EXCEEDING)
def test_probabilities_are_compared_as_300_digits_do(
    row: list[float], share: float, options: Options
) -> None:
    with localcontext(WITNESS):
        part = Fraction(share)
        limit = Decimal(part.numerator) / part.denominator
        expected = [
            token
            for token, chance in enumerate(chances_of(row, options["factor"]))
            if at_least(chance, limit, strictly=options["strictly"])
        ]
    if share <= 1e-200:
        expected = [token for token in range(len(row)) if row[token] > -inf]
    assert probabilities_at_least(row, share, **options) == expected


@given(rows(impossible=False), st.data(), st.sampled_from([17, 30, 100]), OPTIONS)
def test_a_share_beside_a_probability_is_decided(
    row: list[float], data: st.DataObject, digits: int, options: Options
) -> None:
    place = data.draw(st.integers(0, len(row) - 1))
    with localcontext(WITNESS):
        chances = chances_of(row, options["factor"])
        share = Fraction(round(chances[place], digits))
        for near in (share - Fraction(1, 10**digits), share, share + Fraction(1, 10**digits)):
            if 0 < near <= 1:
                limit = Decimal(near.numerator) / near.denominator
                expected = [
                    token
                    for token, chance in enumerate(chances)
                    if at_least(chance, limit, strictly=options["strictly"])
                ]
                assert probabilities_at_least(row, near, **options) == expected


@given(rows())
def test_a_share_of_zero_takes_every_possible_token(row: list[float]) -> None:
    possible = [token for token, logit in enumerate(row) if logit > -inf]
    assert probabilities_at_least(row, 0) == possible
    assert probabilities_at_least(row, 0, strictly=True) == possible


@given(rows(), OPTIONS, st.data())
def test_a_rational_threshold_is_compared_exactly(
    row: list[float], options: Options, data: st.DataObject
) -> None:
    places = st.integers(0, len(row) - 1)
    logit = row[data.draw(places)]
    exact = Fraction(options["factor"])
    threshold = Fraction(1) if logit == -inf else Fraction(logit) * exact
    beside = [Fraction(0), Fraction(0), Fraction(1, 10**30), Fraction(-1, 10**30)]
    threshold += data.draw(st.sampled_from(beside))
    expected = []
    for token, logit in enumerate(row):
        if logit > -inf:
            scaled = Fraction(logit) * exact
            if scaled > threshold or (scaled == threshold and not options["strictly"]):
                expected.append(token)
    assert logits_at_least(row, Real(threshold), **options) == expected


@given(rows(), st.integers(2, 50))
def test_a_threshold_may_be_a_logarithm(row: list[float], number: int) -> None:
    expected = [token for token, logit in enumerate(row) if logit >= math.log(number)]
    assert logits_at_least(row, Real(number).log()) == expected
    near = Fraction(math.log(number))
    reaches = [near - Fraction(1, 2**60) >= Real(number).log(), near >= Real(number).log()]
    found = logits_at_least([near - Fraction(1, 2**60), near, *row], Real(number).log())
    assert found == [n for n in (0, 1) if reaches[n]] + [token + 2 for token in expected]


def test_a_threshold_that_equals_a_logit_in_disguise_is_undecided() -> None:
    disguised = Real(2).log() + Real(3).log() - Real(6).log() + Fraction(1, 2)
    assert logits_at_least([0.0, 1.0], disguised) == [1]
    with pytest.raises(UndecidedError):
        logits_at_least([0.5], disguised)


def test_thresholds_far_outside_floats_are_compared() -> None:
    assert logits_at_least([0.0, 1e308], Real(10**400)) == []
    assert logits_at_least([0.0, 1e308], Real(-(10**400))) == [0, 1]
    assert logits_at_least([Fraction(10**400), Fraction(0)], Real(10**399)) == [0]
    assert logits_at_least([0.0, -inf], Real(-(10**400))) == [0]
    assert probabilities_at_least([Fraction(10**400), Fraction(0)], 0.5) == [0]
    assert probabilities_at_least([0.0, -1e300], Fraction(1, 10**400)) == [0]
    assert probabilities_at_least([0.0, -900.0], Fraction(1, 10**400)) == [0, 1]


@pytest.mark.parametrize("share", [-0.1, 1.5, nan, inf, True, "0.5", None])
def test_a_share_outside_its_domain_is_an_error(share: float) -> None:
    with pytest.raises(ParameterError, match=r"^share must be in \[0, 1\], got "):
        probabilities_at_least([0.5, 0.5], share)


@pytest.mark.parametrize("factor", [0, -1, nan, inf, True, "1"])
def test_a_factor_outside_its_domain_is_an_error(factor: float) -> None:
    with pytest.raises(ParameterError, match=r"^factor must be a finite number above 0, got "):
        probabilities_at_least([0.5, 0.5], 0.5, factor=factor)
    with pytest.raises(ParameterError, match=r"^factor must be a finite number above 0, got "):
        logits_at_least([0.5, 0.5], Real(1), factor=factor)


@pytest.mark.parametrize("row", [[], [nan], [inf], "ab"])
def test_what_is_no_row_is_an_error(row: list[float]) -> None:
    with pytest.raises(RowError):
        probabilities_at_least(row, 0.5)
    with pytest.raises(RowError):
        logits_at_least(row, Real(1))


def test_a_row_without_a_possible_token_has_no_probabilities_but_logits() -> None:
    with pytest.raises(RowError):
        probabilities_at_least([-inf], 0.5)
    assert logits_at_least([-inf], Real(0)) == []
