"""`epsilon` keeps what has at least a fixed probability."""

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from tests.sampling.filtering import (
    NO_NUMBERS,
    epsilon,
    epsilon_logits,
    everything,
    possible,
    top_k,
    total,
    weights_of,
)
from tests.sampling.rows import rows, weights
from tests.texts import drawn

CUTOFFS = st.sampled_from([0.125, 0.25, 0.5]) | st.floats(0, 1, exclude_min=True, exclude_max=True)


@drawn(40)
@given(weights(), CUTOFFS)
def test_a_token_stays_if_it_has_the_share_of_the_total(row: list[float], cutoff: float) -> None:
    threshold = Fraction(cutoff) * total(row, everything(row))
    reaching = {token for token in possible(row) if row[token] >= threshold}
    above = {token for token in possible(row) if row[token] > threshold}
    assert epsilon(row, cutoff, least=0) == reaching
    assert epsilon(row, cutoff, least=0, equality="removed") == above


@drawn(40)
@given(weights(), CUTOFFS, st.integers(0, 6), st.sampled_from(["lowest id", "highest id", "all"]))
def test_never_fewer_than_the_least(row: list[float], cutoff: float, least: int, ties: Any) -> None:
    passing = epsilon(row, cutoff, least=0)
    expected = passing if len(passing) >= least else top_k(row, least, ties=ties)
    assert epsilon(row, cutoff, least=least, ties=ties) == expected


@drawn(100)
@given(rows(), CUTOFFS, st.sampled_from([1.0, 0.5, 1.25]), st.sampled_from(["kept", "removed"]))
def test_logits_are_decided_as_their_weights_are(
    row: list[float], cutoff: float, factor: float, equality: Any
) -> None:
    by_logits = epsilon_logits(row, cutoff, factor=factor, equality=equality)
    assert by_logits == epsilon(weights_of(row, factor), cutoff, equality=equality)


def test_a_token_exactly_at_the_cutoff() -> None:
    assert epsilon([0.5, 0.25, 0.25], 0.25) == {0, 1, 2}
    assert epsilon([0.5, 0.25, 0.25], 0.25, equality="removed") == {0}
    assert epsilon_logits([3.0, 3.0, -inf], 0.5) == {0, 1}
    assert epsilon_logits([3.0, 3.0, -inf], 0.5, equality="removed", least=0) == frozenset()


@pytest.mark.parametrize("cutoff", [*NO_NUMBERS, 0.0, 1.0, -0.5, 1.5])
def test_a_cutoff_outside_its_domain_is_an_error(cutoff: Any) -> None:
    for function in (epsilon, epsilon_logits):
        with pytest.raises(ParameterError, match=r"^cutoff must be in \(0, 1\), got "):
            function([0.5, 0.5], cutoff)


@pytest.mark.parametrize("name", ["least", "equality", "factor"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        epsilon_logits([0.5, 0.5], 0.5, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        epsilon([0.0], 0.5)
    with pytest.raises(RowError):
        epsilon_logits([-inf], 0.5)
