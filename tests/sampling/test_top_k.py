"""`top_k` keeps the k most probable tokens; which equals are among them is a choice."""

from itertools import product
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.row import Ties
from tests.sampling.filtering import NO_NUMBERS, possible, top_k, top_k_logits, weights_of
from tests.sampling.rows import rows, weights
from tests.texts import drawn

COUNTS = st.integers(1, 8)
TIES: list[Ties] = ["lowest id", "highest id", "all"]


@drawn(40)
@given(weights(), COUNTS, st.sampled_from(TIES))
def test_no_rejected_token_is_heavier_than_a_kept_one(row: list[float], k: int, ties: Ties) -> None:
    kept = top_k(row, k, ties=ties)
    for inside, outside in product(kept, possible(row) - kept):
        assert row[inside] >= row[outside]


@drawn(40)
@given(weights(), COUNTS)
def test_exactly_k_tokens_stay_unless_fewer_are_possible(row: list[float], k: int) -> None:
    assert len(top_k(row, k)) == min(k, len(possible(row)))
    assert len(top_k(row, k, ties="highest id")) == min(k, len(possible(row)))


@drawn(40)
@given(weights(), COUNTS)
def test_of_equals_the_lowest_ids_stay_or_the_highest(row: list[float], k: int) -> None:
    low, high = top_k(row, k), top_k(row, k, ties="highest id")
    for inside, outside in product(low, possible(row) - low):
        assert row[inside] != row[outside] or inside < outside
    for inside, outside in product(high, possible(row) - high):
        assert row[inside] != row[outside] or inside > outside


@drawn(40)
@given(weights(), COUNTS)
def test_with_all_ties_a_kept_token_is_never_equal_to_a_rejected_one(
    row: list[float], k: int
) -> None:
    kept = top_k(row, k, ties="all")
    assert {row[token] for token in kept}.isdisjoint({row[t] for t in possible(row) - kept})
    assert kept >= top_k(row, k) | top_k(row, k, ties="highest id")


@drawn(40)
@given(weights(), COUNTS)
def test_keeping_all_ties_adds_only_equals_of_the_last_token(row: list[float], k: int) -> None:
    kept = top_k(row, k)
    for token in top_k(row, k, ties="all") - kept:
        assert row[token] == min(row[other] for other in kept)


@drawn(100)
@given(rows(), COUNTS, st.sampled_from(TIES))
def test_logits_and_their_weights_have_the_same_leading_tokens(
    row: list[float], k: int, ties: Ties
) -> None:
    assert top_k_logits(row, k, ties=ties) == top_k(weights_of(row), k, ties=ties)


@pytest.mark.parametrize("size", [1000, 1001, 3000])
@pytest.mark.parametrize("k", [1, 40, 999, 1000, 1001])
def test_long_rows_are_cut_as_short_ones_are(size: int, k: int) -> None:
    row = [float(token * 7919 % 101) for token in range(size)]
    order = sorted(range(size), key=lambda token: (-row[token], token))
    assert top_k_logits(row, k) == frozenset(order[:k])


def test_a_tie_at_the_last_place_shows_the_three_choices() -> None:
    row = [1.0, 2.0, 2.0, 2.0, 3.0]
    assert top_k_logits(row, 3) == {1, 2, 4}
    assert top_k_logits(row, 3, ties="highest id") == {2, 3, 4}
    assert top_k_logits(row, 3, ties="all") == {1, 2, 3, 4}


@pytest.mark.parametrize("ties", TIES)
def test_a_token_without_weight_is_never_kept(ties: Ties) -> None:
    assert top_k([0.5, 0.0, 0.0], 2, ties=ties) == {0}
    assert top_k_logits([0.5, -inf, -inf], 2, ties=ties) == {0}


def test_a_k_beyond_the_row_keeps_everything_or_is_an_error() -> None:
    assert top_k([0.5, 0.25], 2) == top_k([0.5, 0.25], 9) == {0, 1}
    assert top_k([0.5, 0.25], 1, beyond="error") == {0}
    for k in (2, 9):
        with pytest.raises(ParameterError, match=r"^k must be below the length of the row, 2, got"):
            top_k([0.5, 0.25], k, beyond="error")


def test_a_k_of_zero_is_an_error_no_filter_or_nothing() -> None:
    with pytest.raises(ParameterError, match=r"^k must be a whole number of at least 1, got 0$"):
        top_k([0.5, 0.25], 0)
    assert top_k([0.5, 0.0, 0.25], 0, zero="off") == {0, 2}
    assert top_k([0.5, 0.25], 0, zero="none") == frozenset()
    assert top_k_logits([0.5, -inf, 0.25], 0, zero="off", ties="all") == {0, 2}


@pytest.mark.parametrize("k", [*NO_NUMBERS, -1, 2.0])
def test_a_k_that_is_no_count_is_an_error(k: Any) -> None:
    for function in (top_k, top_k_logits):
        with pytest.raises(ParameterError, match=r"^k must be a whole number of at least 1, got "):
            function([0.5, 0.25], k)


def test_a_choice_without_a_name_is_an_error() -> None:
    wrong: Any = "some"
    for name in ("ties", "zero", "beyond"):
        with pytest.raises(ParameterError, match=f"^{name} must be one of "):
            top_k([0.5, 0.25], 1, **{name: wrong})


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        top_k([0.0, 0.0], 1)
    with pytest.raises(RowError):
        top_k_logits([-inf], 1)
