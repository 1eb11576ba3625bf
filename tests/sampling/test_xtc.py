"""`xtc` removes the top choices but the least probable of them."""

from collections.abc import Collection
from fractions import Fraction
from math import inf
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RandomNumberError, RowError
from sampling_ref.row import Ties
from tests.sampling.filtering import (
    NO_NUMBERS,
    everything,
    possible,
    total,
    weights_of,
    xtc,
    xtc_logits,
)
from tests.sampling.rows import rows, weights
from tests.texts import drawn

Equality = Literal["counts", "does not"]

THRESHOLDS = st.sampled_from([0.0, 0.125, 0.25, 0.5]) | st.floats(0, 1)
EQUALITIES: list[Equality] = ["counts", "does not"]
TIES: list[Ties] = ["lowest id", "highest id", "all"]


def top_of(row: list[float], threshold: float, equality: Equality) -> set[int]:
    required = Fraction(threshold) * total(row, everything(row))
    return {
        token
        for token in possible(row)
        if row[token] > required or (row[token] == required and equality == "counts")
    }


@drawn(40)
@given(weights(), THRESHOLDS, st.sampled_from(EQUALITIES), st.sampled_from(TIES))
def test_the_least_probable_top_token_stays_and_no_other(
    row: list[float], threshold: float, equality: Equality, ties: Ties
) -> None:
    top = top_of(row, threshold, equality)
    stays = xtc(row, threshold, equality=equality, ties=ties)
    assert stays - top == possible(row) - top
    last = {token for token in top if row[token] == min(row[other] for other in top)}
    if ties == "all" or not top:
        assert stays & top == last
    else:
        assert stays & top == {min(last) if ties == "lowest id" else max(last)}


@drawn(40)
@given(weights(), THRESHOLDS)
def test_fewer_than_two_top_tokens_change_nothing(row: list[float], threshold: float) -> None:
    if len(top_of(row, threshold, "counts")) < 2:
        assert xtc(row, threshold) == possible(row)


@drawn(40)
@given(weights(), THRESHOLDS, st.integers(0, 20))
def test_nothing_is_removed_if_too_few_would_stay(
    row: list[float], threshold: float, least: int
) -> None:
    stays = xtc(row, threshold)
    expected = stays if len(stays) >= least else possible(row)
    assert xtc(row, threshold, least=least) == expected


@drawn(40)
@given(weights(), THRESHOLDS, st.sets(st.integers(0, 19)))
def test_protected_tokens_are_not_removed(
    row: list[float], threshold: float, protected: set[int]
) -> None:
    stays = xtc(row, threshold, protected=protected)
    assert stays == xtc(row, threshold) | (protected & possible(row))


@drawn(100)
@given(
    rows(),
    THRESHOLDS,
    st.sampled_from(EQUALITIES),
    st.sampled_from(TIES),
    st.sampled_from([1.0, 0.5]),
    st.sets(st.integers(0, 19)),
)
def test_logits_are_decided_as_their_weights_are(
    row: list[float],
    threshold: float,
    equality: Equality,
    ties: Ties,
    factor: float,
    protected: Collection[int],
) -> None:
    by_logits = xtc_logits(
        row, threshold, equality=equality, ties=ties, factor=factor, protected=protected
    )
    assert by_logits == xtc(
        weights_of(row, factor), threshold, equality=equality, ties=ties, protected=protected
    )


@drawn(40)
@given(weights(), st.floats(0.5, 1, exclude_min=True))
def test_a_threshold_above_one_half_removes_nothing(row: list[float], threshold: float) -> None:
    assert xtc(row, threshold) == possible(row)


def test_the_coin() -> None:
    row = [0.5, 0.5]
    for function, same in ((xtc, row), (xtc_logits, [1.0, 1.0])):
        assert function(same, 0.25, probability=0.5, uniform=0.25) == {1}
        assert function(same, 0.25, probability=0.5, uniform=0.5) == {1}
        assert function(same, 0.25, probability=0.5, uniform=0.5, coin="below") == {0, 1}
        assert function(same, 0.25, probability=0.5, uniform=0.75) == {0, 1}
        assert function(same, 0.25, probability=0, uniform=0.0) == {0, 1}
        assert function(same, 0.25, probability=1, uniform=1 - 2**-53, coin="below") == {1}


@pytest.mark.parametrize(
    ("threshold", "stays"), [(0.09, {3}), (0.19, {2, 3}), (0.29, {1, 2, 3}), (0.39, {0, 1, 2, 3})]
)
def test_the_values_of_llama_cpp_s_own_test(threshold: float, stays: set[int]) -> None:
    tenths = [Fraction(part, 10) for part in (4, 3, 2, 1)]
    assert xtc(tenths, threshold, probability=0.99, uniform=0.5) == stays


def test_a_token_exactly_at_the_threshold() -> None:
    row = [0.5, 0.25, 0.25]
    assert xtc(row, 0.25) == {2}
    assert xtc(row, 0.25, ties="all") == {1, 2}
    assert xtc(row, 0.25, equality="does not") == {0, 1, 2}
    assert xtc([0.5, 0.5], 0.5) == xtc_logits([1.0, 1.0], 0.5) == {1}
    assert xtc_logits([1.0, 1.0], 0.5, equality="does not") == {0, 1}


def test_a_token_without_weight_is_never_a_top_choice() -> None:
    assert xtc([0.5, 0.25, 0.0], 0.0) == {1}
    assert xtc_logits([1.0, 0.5, -inf], 0.0) == {1}


@pytest.mark.parametrize("number", [*NO_NUMBERS, -0.5, 1.5])
@pytest.mark.parametrize("name", ["threshold", "probability"])
def test_a_parameter_outside_its_domain_is_an_error(name: str, number: Any) -> None:
    for function in (xtc, xtc_logits):
        with pytest.raises(ParameterError, match=rf"^{name} must be in \[0, 1\], got "):
            function([0.5, 0.5], **({"threshold": 0.25} | {name: number}))


@pytest.mark.parametrize("uniform", [*NO_NUMBERS, -0.5, 1.0])
def test_a_uniform_number_outside_its_domain_is_an_error(uniform: Any) -> None:
    for function in (xtc, xtc_logits):
        with pytest.raises(RandomNumberError, match=r"^uniform must be in \[0, 1\), got"):
            function([0.5, 0.5], 0.25, uniform=uniform)


@pytest.mark.parametrize("name", ["least", "equality", "ties", "coin", "factor"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        xtc_logits([0.5, 0.5], 0.25, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        xtc([0.0], 0.5)
    with pytest.raises(RowError):
        xtc_logits([-inf], 0.5)
