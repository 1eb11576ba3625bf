"""`top_a` keeps what is at least a times the square of the largest probability."""

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from tests.sampling.filtering import (
    NO_NUMBERS,
    everything,
    possible,
    top_a,
    top_a_logits,
    top_k,
    total,
    weights_of,
)
from tests.sampling.rows import rows, weights
from tests.texts import drawn

MULTIPLES = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 4.0]) | st.floats(0, 4)


@drawn(40)
@given(weights(), MULTIPLES)
def test_the_printed_formula_decides(row: list[float], a: float) -> None:
    whole = total(row, everything(row))
    threshold = Fraction(a) * (Fraction(max(row)) / whole) ** 2
    kept = {token for token in possible(row) if Fraction(row[token]) / whole >= threshold}
    assert top_a(row, a, least=0) == kept


@drawn(40)
@given(weights(), MULTIPLES, st.integers(0, 6), st.sampled_from(["lowest id", "highest id", "all"]))
def test_never_fewer_than_the_least(row: list[float], a: float, least: int, ties: Any) -> None:
    passing = top_a(row, a, least=0)
    expected = passing if len(passing) >= least else top_k(row, least, ties=ties)
    assert top_a(row, a, least=least, ties=ties) == expected


@drawn(40)
@given(weights(), st.floats(0, 1))
def test_up_to_a_of_one_the_most_probable_token_passes(row: list[float], a: float) -> None:
    assert row.index(max(row)) in top_a(row, a, least=0)


@drawn(100)
@given(rows(), MULTIPLES, st.sampled_from([1.0, 0.5, 1.25]))
def test_logits_are_decided_as_their_weights_are(row: list[float], a: float, factor: float) -> None:
    assert top_a_logits(row, a, factor=factor) == top_a(weights_of(row, factor), a)


def test_a_token_exactly_at_the_threshold_is_kept() -> None:
    assert top_a([0.5, 0.25, 0.25], 1) == {0, 1, 2}
    assert top_a([0.5, 0.25, 0.25], 1 + 2**-52) == {0}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_equal_tokens_pass_up_to_their_number(count: int) -> None:
    for function in (top_a, top_a_logits):
        assert function([1.0] * count, count, least=0) == frozenset(range(count))
        assert function([1.0] * count, count + 2**-40, least=0) == frozenset()
        assert function([1.0] * count, count + 2**-40) == {0}


@pytest.mark.parametrize("a", [*NO_NUMBERS, -0.5])
def test_a_multiple_outside_its_domain_is_an_error(a: Any) -> None:
    for function in (top_a, top_a_logits):
        with pytest.raises(ParameterError, match=r"^a must be a finite number of at least 0, got "):
            function([0.5, 0.5], a)


@pytest.mark.parametrize("name", ["least", "factor"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        top_a_logits([0.5, 0.5], 0.5, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        top_a([0.0], 0.5)
    with pytest.raises(RowError):
        top_a_logits([-inf], 0.5)
