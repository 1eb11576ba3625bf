"""`min_p` keeps what is at least a share of the largest probability."""

from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from tests.sampling.filtering import NO_NUMBERS, min_p, min_p_logits, possible, top_k, weights_of
from tests.sampling.rows import rows, shares, weights
from tests.texts import drawn


@drawn(40)
@given(weights(), shares())
def test_a_token_stays_if_it_has_the_share_of_the_largest(row: list[float], m: float) -> None:
    threshold = Fraction(m) * Fraction(max(row))
    assert min_p(row, m) == {token for token in possible(row) if row[token] >= threshold}
    above = {token for token in possible(row) if row[token] > threshold}
    assert min_p(row, m, equality="removed", least=0) == above


@drawn(40)
@given(weights(), shares(), shares())
def test_a_larger_share_keeps_less(row: list[float], m: float, n: float) -> None:
    assert min_p(row, max(m, n)) <= min_p(row, min(m, n))


@drawn(40)
@given(weights(), shares(), st.integers(0, 6), st.sampled_from(["lowest id", "highest id", "all"]))
def test_never_fewer_than_the_least(row: list[float], m: float, least: int, ties: Any) -> None:
    kept = min_p(row, m, equality="removed", least=least, ties=ties)
    passing = min_p(row, m, equality="removed", least=0)
    if len(passing) >= least:
        assert kept == passing
    else:
        assert kept == top_k(row, least, ties=ties)


@drawn(100)
@given(rows(), shares(), st.sampled_from([1.0, 0.5, 1.25]), st.sampled_from(["kept", "removed"]))
def test_logits_are_decided_as_their_weights_are(
    row: list[float], m: float, factor: float, equality: Any
) -> None:
    by_logits = min_p_logits(row, m, factor=factor, equality=equality)
    assert by_logits == min_p(weights_of(row, factor), m, equality=equality)


def test_engines_differ_at_the_threshold() -> None:
    row = [0.5, 0.25, 0.25, 0.0]
    assert min_p(row, 0.5) == {0, 1, 2}
    assert min_p(row, 0.5, equality="removed") == {0}
    assert min_p(row, 1.0, equality="removed", least=0) == frozenset()
    assert min_p_logits([1.0, 1.0], 1.0) == {0, 1}
    assert min_p_logits([1.0, 1.0], 1.0, equality="removed", least=0) == frozenset()


@pytest.mark.parametrize(
    ("m", "kept"),
    [
        (0, {0, 1, 2, 3}),
        (0.24, {0, 1, 2, 3}),
        (0.26, {1, 2, 3}),
        (0.49, {1, 2, 3}),
        (0.51, {2, 3}),
        (0.74, {2, 3}),
        (0.76, {3}),
        (1.0, {3}),
        (1.05, {3}),
    ],
)
def test_the_values_of_llama_cpp_s_own_test(m: float, kept: set[int]) -> None:
    tenths = [Fraction(part, 10) for part in (1, 2, 3, 4)]
    assert min_p(tenths, m, above_one="best") == kept


def test_a_share_above_one_is_an_error_or_leaves_the_best() -> None:
    with pytest.raises(ParameterError, match=r"^m must be in \[0, 1\], got 1.5$"):
        min_p([0.5, 0.5], 1.5)
    assert min_p([0.5, 0.5], 1.5, above_one="best") == {0}
    assert min_p_logits([0.5, 0.5], 1.5, above_one="best") == {0}
    assert min_p_logits([0.5, 0.5], 1.5, above_one="best", least=2) == {0, 1}


def test_a_share_of_zero_keeps_every_possible_token() -> None:
    assert min_p([0.5, 0.0, 1e-300], 0.0) == {0, 2}
    assert min_p_logits([0.5, -inf, -1e300], 0.0) == {0, 2}


@pytest.mark.parametrize("m", [*NO_NUMBERS, -0.5])
def test_a_share_outside_its_domain_is_an_error(m: Any) -> None:
    for function in (min_p, min_p_logits):
        with pytest.raises(ParameterError, match=r"^m must be in \[0, 1\], got "):
            function([0.5, 0.5], m)
        with pytest.raises(ParameterError, match=r"^m must be a finite number of at least 0, got "):
            function([0.5, 0.5], m, above_one="best")


@pytest.mark.parametrize("name", ["least", "equality", "above_one", "ties", "factor"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {"equality": "removed", "least": 3} | {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        min_p_logits([0.5, 0.5], 0.5, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        min_p([0.0], 0.5)
    with pytest.raises(RowError):
        min_p_logits([-inf], 0.5)
