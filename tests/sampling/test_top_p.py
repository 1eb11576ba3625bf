"""`top_p` keeps the nucleus: enough weight, no token too many, best first.

The first three properties leave only ties open: whatever has all three is a smallest
sufficient set. The fourth one settles the ties.
"""

from fractions import Fraction
from itertools import product
from math import inf
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.row import Ties
from tests.sampling.filtering import (
    NO_NUMBERS,
    everything,
    possible,
    top_k,
    top_p,
    top_p_logits,
    total,
    weights_of,
)
from tests.sampling.rows import rows, shares, weights
from tests.texts import drawn

Boundary = Literal["reach", "exceed", "within", "fitting"]

BOUNDARIES: list[Boundary] = ["reach", "exceed", "within"]
TIES: list[Ties] = ["lowest id", "highest id", "all"]


@drawn(40)
@given(weights(), shares())
def test_nucleus_holds_at_least_its_share(row: list[float], p: float) -> None:
    assert total(row, top_p(row, p)) >= Fraction(p) * total(row, everything(row))


@drawn(40)
@given(weights(), shares())
def test_nucleus_falls_short_without_its_lightest_token(row: list[float], p: float) -> None:
    nucleus = top_p(row, p)
    lightest = min(nucleus, key=row.__getitem__)
    assert total(row, nucleus - {lightest}) < Fraction(p) * total(row, everything(row))


@drawn(40)
@given(weights(), shares(), st.sampled_from(BOUNDARIES), st.sampled_from(TIES))
def test_no_rejected_token_is_heavier_than_a_kept_one(
    row: list[float], p: float, boundary: Boundary, ties: Ties
) -> None:
    nucleus = top_p(row, p, boundary=boundary, ties=ties)
    for kept, rejected in product(nucleus, everything(row) - nucleus):
        assert row[kept] >= row[rejected]


@drawn(40)
@given(weights(), shares(), st.sampled_from(BOUNDARIES))
def test_of_two_equals_the_chosen_end_is_kept_first(
    row: list[float], p: float, boundary: Boundary
) -> None:
    low = top_p(row, p, boundary=boundary)
    high = top_p(row, p, boundary=boundary, ties="highest id")
    for kept, rejected in product(low, possible(row) - low):
        assert row[kept] != row[rejected] or kept < rejected
    for kept, rejected in product(high, possible(row) - high):
        assert row[kept] != row[rejected] or kept > rejected
    assert len(low) == len(high)


@drawn(40)
@given(weights(), shares())
def test_all_ties_keeps_a_token_while_the_strictly_heavier_ones_fall_short(
    row: list[float], p: float
) -> None:
    required = Fraction(p) * total(row, everything(row))
    for token in possible(row):
        heavier = [other for other in everything(row) if row[other] > row[token]]
        assert (token in top_p(row, p, ties="all")) == (total(row, heavier) < required)


@drawn(40)
@given(weights(), shares(), shares(), st.sampled_from(BOUNDARIES), st.sampled_from(TIES))
def test_a_larger_share_keeps_every_token_of_a_smaller_one(
    row: list[float], p: float, q: float, boundary: Boundary, ties: Ties
) -> None:
    smaller = top_p(row, min(p, q), boundary=boundary, ties=ties)
    assert smaller <= top_p(row, max(p, q), boundary=boundary, ties=ties)


@drawn(40)
@given(weights(), shares(), st.sampled_from(BOUNDARIES), st.sampled_from(TIES))
def test_only_the_ratio_of_weights_matters(
    row: list[float], p: float, boundary: Boundary, ties: Ties
) -> None:
    scaled = [Fraction(weight) * Fraction(2, 3) for weight in row]
    assert top_p(scaled, p, boundary=boundary, ties=ties) == top_p(
        row, p, boundary=boundary, ties=ties
    )


@drawn(40)
@given(weights())
def test_p_of_one_keeps_exactly_the_possible_tokens(row: list[float]) -> None:
    for boundary in BOUNDARIES:
        assert top_p(row, 1.0, boundary=boundary) == possible(row)


@drawn(40)
@given(weights(), shares())
def test_exceeding_keeps_what_has_at_most_the_share_before_it(row: list[float], p: float) -> None:
    required = Fraction(p) * total(row, everything(row))
    kept, before = set(), Fraction(0)
    for token in sorted(possible(row), key=lambda token: (-row[token], token)):
        if before <= required:
            kept.add(token)
        before += Fraction(row[token])
    assert top_p(row, p, boundary="exceed") == kept


@drawn(40)
@given(weights(), shares())
def test_staying_within_keeps_what_has_at_most_the_share_with_it(
    row: list[float], p: float
) -> None:
    required = Fraction(p) * total(row, everything(row))
    kept, collected = set(), Fraction(0)
    for token in sorted(possible(row), key=lambda token: (-row[token], token)):
        collected += Fraction(row[token])
        if collected <= required:
            kept.add(token)
    assert top_p(row, p, boundary="within", least=0) == kept
    assert len(top_p(row, p, boundary="within")) == max(1, len(kept))


@drawn(40)
@given(weights(), shares(), st.booleans())
def test_walking_upwards_is_the_same_rule_with_the_highest_ids_first(
    row: list[float], p: float, inclusive: bool
) -> None:
    """Keep where the sum from below is above 1 - p (or at least that)."""
    rest = (1 - Fraction(p)) * total(row, everything(row))
    kept, collected = set(), Fraction(0)
    for token in sorted(everything(row), key=lambda token: (row[token], token)):
        collected += Fraction(row[token])
        if row[token] > 0 and (collected > rest or (inclusive and collected == rest)):
            kept.add(token)
    boundary: Boundary = "exceed" if inclusive else "reach"
    assert top_p(row, p, boundary=boundary, ties="highest id") == kept


@drawn(40)
@given(weights(), shares())
def test_the_boundaries_agree_where_no_sum_meets_the_share(row: list[float], p: float) -> None:
    required = Fraction(p) * total(row, everything(row))
    sums, collected = set(), Fraction(0)
    for token in sorted(possible(row), key=lambda token: -row[token]):
        collected += Fraction(row[token])
        sums.add(collected)
    reached, exceeded = top_p(row, p), top_p(row, p, boundary="exceed")
    within = top_p(row, p, boundary="within", least=0)
    if required in sums:
        assert within == reached
        assert len(exceeded) == min(len(reached) + 1, len(possible(row)))
    else:
        assert reached == exceeded
        assert len(within) == len(reached) - 1


@drawn(40)
@given(weights(), shares(), st.integers(0, 6))
def test_never_fewer_than_the_least(row: list[float], p: float, least: int) -> None:
    kept = top_p(row, p, least=least)
    assert kept == top_p(row, p) | (top_k(row, least) if least else frozenset())


@drawn(40)
@given(weights(), shares(), st.integers(1, 6))
def test_after_top_k_the_share_may_be_one_of_the_mass_before(
    row: list[float], p: float, k: int
) -> None:
    kept = top_k(row, k)
    cut = [weight if token in kept else 0.0 for token, weight in enumerate(row)]
    joint = top_p(cut, p, total=total(row, everything(row)))
    assert joint == top_p(row, p) & kept
    assert top_p(cut, p) <= joint


@drawn(100)
@given(rows(), shares(), st.sampled_from(BOUNDARIES), st.sampled_from(TIES), st.integers(0, 6))
def test_logits_are_decided_as_their_weights_are(
    row: list[float], p: float, boundary: Boundary, ties: Ties, least: int
) -> None:
    by_logits = top_p_logits(row, p, boundary=boundary, ties=ties, least=least)
    assert by_logits == top_p(weights_of(row), p, boundary=boundary, ties=ties, least=least)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("eighths", range(1, 9))
def test_equal_logits_meet_the_share_exactly(boundary: Boundary, ties: Ties, eighths: int) -> None:
    by_logits = top_p_logits([-7.5, -inf, *[-7.5] * 7], eighths / 8, boundary=boundary, ties=ties)
    flat = [0.125, 0.0, *[0.125] * 7]
    assert by_logits == top_p(flat, eighths / 8, boundary=boundary, ties=ties)


@drawn(40)
@given(rows(most=8), rows(most=8), shares(), st.sampled_from([0.5, 1.0, 1.25]))
def test_logits_with_a_factor_and_a_larger_total(
    row: list[float], more: list[float], p: float, factor: float
) -> None:
    whole = row + more
    expected = top_p(weights_of(row, factor), p, total=sum(weights_of(whole, factor)))
    assert top_p_logits(row, p, total=whole, factor=factor) == expected


@drawn(40)
@given(rows(most=8), shares(), st.sampled_from([-64.0, 0.5, 3.0]))
def test_adding_one_number_to_all_logits_changes_nothing(
    row: list[float], p: float, shift: float
) -> None:
    shifted = [logit if logit == -inf else Fraction(logit) + Fraction(shift) for logit in row]
    assert top_p_logits(shifted, p) == top_p_logits(row, p)


BENT = [0.5, 0.25, 0.125, 0.125]
FLAT = [0.25] * 4
ROUGH = [0.125, 0.5, 0.25, 0.125]


@pytest.mark.parametrize(
    ("row", "p", "upwards", "downwards", "one_more", "tied", "upwards_at_least", "dropped"),
    [
        (BENT, 0.5, {0}, {0}, {0, 1}, {0}, {0, 1}, {0}),
        (BENT, 0.75, {0, 1}, {0, 1}, {0, 1, 2}, {0, 1}, {0, 1, 3}, {0, 1}),
        (BENT, 0.6, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0}),
        (BENT, 0.8, {0, 1, 3}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2, 3}, {0, 1, 3}, {0, 1}),
        (FLAT, 0.5, {2, 3}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}, {1, 2, 3}, {0, 1}),
        (FLAT, 0.6, {1, 2, 3}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2, 3}, {1, 2, 3}, {0, 1}),
        (ROUGH, 1e-9, {1}, {1}, {1}, {1}, {1}, {1}),
    ],
)
def test_the_rules_of_real_engines_are_these_choices(
    row: list[float],
    p: float,
    upwards: set[int],
    downwards: set[int],
    one_more: set[int],
    tied: set[int],
    upwards_at_least: set[int],
    dropped: set[int],
) -> None:
    assert top_p(row, p, ties="highest id") == upwards
    assert top_p(row, p) == downwards
    assert top_p(row, p, boundary="exceed") == one_more
    assert top_p(row, p, ties="all") == tied
    assert top_p(row, p, boundary="exceed", ties="highest id") == upwards_at_least
    assert top_p(row, p, boundary="within") == dropped


def test_decimal_fractions_are_exact_where_floats_were_not() -> None:
    tenths = [Fraction(part, 10) for part in (3, 1, 1, 5)]
    assert top_p(tenths, Fraction(8, 10)) == {0, 3}
    assert top_p(tenths, Fraction(8, 10), boundary="exceed") == {0, 1, 3}


def test_renormalised_after_top_k_or_joint() -> None:
    two_of_four = [Fraction(4, 10), Fraction(3, 10), Fraction(0), Fraction(0)]
    assert top_p(two_of_four, 0.5) == {0}
    assert top_p(two_of_four, 0.5, total=1) == {0, 1}
    assert top_p(two_of_four, Fraction(6, 10)) == top_p(two_of_four, Fraction(6, 10), total=1)
    assert top_p(two_of_four, 0.75, total=1) == {0, 1}  # never reached


def test_p_of_zero_is_an_error_the_best_token_or_no_filter() -> None:
    with pytest.raises(ParameterError, match=r"^p must be in \(0, 1\], got 0.0$"):
        top_p(ROUGH, 0.0)
    assert top_p(ROUGH, 0.0, zero="best") == {1}
    assert top_p_logits([0.0, 1.0, -inf], 0.0, zero="best") == {1}
    assert top_p([0.5, 0.0, 0.5], 0.0, zero="off") == {0, 2}
    assert top_p_logits([0.0, 1.0, -inf], 0.0, zero="off") == {0, 1}
    assert top_p(ROUGH, 0.5, zero="off") == {1}


@pytest.mark.parametrize("p", [*NO_NUMBERS, -0.5, 1.5, -0.0, 1 + 2**-52])
def test_p_outside_its_domain_is_an_error(p: Any) -> None:
    for function in (top_p, top_p_logits):
        with pytest.raises(ParameterError, match=r"^p must be in \(0, 1\], got "):
            function([0.5, 0.5], p)
        with pytest.raises(ParameterError, match=r"^p must be in "):
            function([0.5, 0.5], p or -1, zero="best")


@pytest.mark.parametrize("name", ["least", "boundary", "walked", "ties", "zero"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        top_p([0.5, 0.5], 0.5, **wrong)


@pytest.mark.parametrize("factor", [*NO_NUMBERS, 0, -1.0])
def test_a_factor_that_is_not_positive_is_an_error(factor: Any) -> None:
    with pytest.raises(ParameterError, match=r"^factor must be "):
        top_p_logits([0.5, 0.5], 0.5, factor=factor)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        top_p([0.0, 0.0], 0.5)
    with pytest.raises(RowError):
        top_p_logits([-inf, -inf], 0.5)
