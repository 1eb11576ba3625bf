"""`first_reaching` decides as the real numbers do, however near the share is to a sum."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from math import inf, nan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.numbers.reaching import first_reaching
from tests.sampling.rows import (
    EXCEEDING,
    OPTIONS,
    REACHING,
    WITNESS,
    Options,
    rows,
    shares,
    uniforms,
    weights_of,
)

SHARES = shares() | uniforms()


def added(numbers: list[Decimal]) -> Decimal:
    return sum(numbers, start=Decimal(0))


def by_decimals(
    row: list[float],
    share: float | Fraction,
    *,
    strictly: bool,
    total: list[float] | None = None,
    factor: float | Fraction = 1,
) -> int | None:
    """Return the answer from 300 digits; sums that agree to 250 digits count as equal."""
    with localcontext(WITNESS):
        whole = added(weights_of(row if total is None else total, factor))
        part = Fraction(share)
        target = whole * part.numerator / part.denominator
        for index, run in enumerate(accumulate(weights_of(row, factor))):
            equal = abs(run - target) <= Decimal(10) ** -250 * max(run, target)
            if (run > target and not equal) or (equal and not strictly):
                return index
    return None


def cut_of(row: list[float], index: int, digits: int, factor: float | Fraction = 1) -> Fraction:
    """Return the share that the first index + 1 entries have, to that many digits."""
    with localcontext(WITNESS):
        weights = weights_of(row, factor)
        return Fraction(round(added(weights[: index + 1]) / added(weights), digits))


@given(rows(), SHARES, OPTIONS)
@example([0.0] * 10, Fraction(3, 10), REACHING)
@example([0.0] * 10, Fraction(3, 10), EXCEEDING)
@example([0.1] * 10, 0.3, REACHING)
@example([0.0, -inf, 0.0], 0.5, EXCEEDING)
@example([-inf, 0.0], 0.0, REACHING)
@example([-inf, 0.0], 0.0, EXCEEDING)
@example([0.0, -2000.0], 1.0, REACHING)
@example([0.0, -200.0], 1 - 2.0**-53, REACHING)
@example([-200.0, 0.0], 2.0**-1000, REACHING)
def test_the_decision_is_that_of_300_digits(
    row: list[float], share: float, options: Options
) -> None:
    expected = by_decimals(row, share, **options)
    if share == 1:
        possible = [index for index, logit in enumerate(row) if logit > -inf]
        expected = None if options["strictly"] else possible[-1]
    if share == 0 and options["strictly"]:
        expected = next(index for index, logit in enumerate(row) if logit > -inf)
    assert first_reaching(row, share, **options) == expected


@given(rows(), rows(), SHARES, OPTIONS)
@example([0.0], [0.0, 0.0], 0.5, REACHING)
@example([0.0], [0.0, 0.0], 0.5, EXCEEDING)
@example([-inf], [0.0], 0.0, REACHING)
@example([-inf], [0.0], 0.0, EXCEEDING)
@example([0.0], [0.0], 1.0, REACHING)
@example([5.0], [-5.0], 1.0, EXCEEDING)
def test_the_total_may_be_that_of_another_row(
    row: list[float], other: list[float], share: float, options: Options
) -> None:
    expected = by_decimals(row, share, total=other, **options)
    assert first_reaching(row, share, total=other, **options) == expected


@given(rows(impossible=False), st.data(), st.sampled_from([17, 25, 40, 120, 200]), OPTIONS)
def test_a_share_at_a_cut_to_many_digits_is_decided(
    row: list[float], data: st.DataObject, digits: int, options: Options
) -> None:
    index = data.draw(st.integers(0, len(row) - 1))
    share = cut_of(row, index, digits, options["factor"])
    for near in (share - Fraction(1, 10**digits), share, share + Fraction(1, 10**digits)):
        if 0 < near < 1:
            expected = by_decimals(row, near, **options)
            assert first_reaching(row, near, **options) == expected


def test_where_a_float_sum_never_moves_the_decision_is_still_right() -> None:
    row = [0.0] + [-40.0] * 4
    weights = [math.exp(logit) for logit in row]
    assert list(accumulate(weights))[-1] == weights[0]
    for count in range(4):
        share = cut_of(row, count, 60)
        assert first_reaching(row, share - Fraction(1, 10**60)) == count
        assert first_reaching(row, share + Fraction(1, 10**60)) == count + 1


@given(rows())
def test_the_last_possible_entry_carries_the_sum_to_all_of_it(row: list[float]) -> None:
    last = max(index for index, logit in enumerate(row) if logit > -inf)
    assert first_reaching(row, 1) == last
    assert first_reaching(row, 1, strictly=True) is None


@given(st.integers(1, 40), st.integers(0, 40), st.floats(-1e9, 1e9))
def test_equal_logits_are_counted(size: int, part: int, logit: float) -> None:
    count = min(part, size)
    share = Fraction(count, size)
    assert first_reaching([logit] * size, share) == max(count - 1, 0)
    beyond = None if count == size else count
    assert first_reaching([logit] * size, share, strictly=True) == beyond


@given(rows(), SHARES, SHARES, OPTIONS)
def test_a_larger_share_is_reached_later(
    row: list[float], one: float, two: float, options: Options
) -> None:
    first = first_reaching(row, min(one, two), **options)
    second = first_reaching(row, max(one, two), **options)
    assert second is None or (first is not None and first <= second)


def test_weights_far_beyond_any_float_are_decided_at_once() -> None:
    assert first_reaching([0.0, 0.0, -1e300], 0.5) == 1
    assert first_reaching([0.0, -1e300, 0.0], 0.5) == 1
    assert first_reaching([0.0, -1e300, 0.0], 0.5, strictly=True) == 1
    assert first_reaching([0.0, 0.0, -1e300], 0.5, strictly=True) == 1
    assert first_reaching([0.0, -1e300, -1e300, 0.0], 0.5) == 1
    assert first_reaching([0.0, -1e300, -1e300, 0.0], 0.5, strictly=True) == 2
    assert first_reaching([1e308, -1e308, 1e308], Fraction(1, 2)) == 1
    assert first_reaching([Fraction(10**400), Fraction(-(10**400))], Fraction(1, 2)) == 0
    assert first_reaching([Fraction(1, 3), 0.5, 1], Fraction(3, 5)) == 2
    assert first_reaching([0.0, 1.0], 0.5, factor=Fraction(1, 10**400)) == 1
    assert first_reaching([0.0, 1.0], 0.5, factor=10**400) == 1


@pytest.mark.parametrize("share", [-0.1, 1.5, nan, inf, True, "0.5", None, Fraction(-1, 10**30)])
def test_a_share_outside_its_domain_is_an_error(share: float) -> None:
    with pytest.raises(ParameterError, match=r"^share must be in \[0, 1\], got "):
        first_reaching([0.5, 0.5], share)


@pytest.mark.parametrize("factor", [0, -1, nan, inf, True, "1"])
def test_a_factor_outside_its_domain_is_an_error(factor: float) -> None:
    with pytest.raises(ParameterError, match=r"^factor must be a finite number above 0, got "):
        first_reaching([0.5, 0.5], 0.5, factor=factor)


@pytest.mark.parametrize("row", [[], [nan], [inf], [-inf], "ab"])
def test_what_is_no_row_is_an_error(row: list[float]) -> None:
    with pytest.raises(RowError):
        first_reaching(row, 0.5)
    with pytest.raises(RowError, match=r"^total"):
        first_reaching([0.5], 0.5, total=row)


def test_walked_logits_may_be_far_above_those_of_the_total() -> None:
    assert first_reaching([-inf, 1e4], 0.5, total=[0.0]) == 1
    assert first_reaching([-1e300, -1e4], 0.5, total=[0.0]) is None
    assert first_reaching([0.0, 720.0], Fraction(1, 2), total=[0.0, 0.0]) == 0
    assert first_reaching([0.0, 720.0], Fraction(1, 2), total=[0.0, 0.0], strictly=True) == 1
    assert first_reaching([Fraction(10**400), Fraction(0)], 1, total=[Fraction(10**400)]) == 0


def test_a_walk_without_any_weight_reaches_only_nothing() -> None:
    assert first_reaching([-inf, -inf], 0, total=[0.0]) == 0
    assert first_reaching([-inf, -inf], 0, total=[0.0], strictly=True) is None
    assert first_reaching([-inf, -inf], 2.0**-1074, total=[0.0]) is None
