"""`top_n_sigma_logits` keeps what lies within n standard deviations of the largest logit."""

from fractions import Fraction
from math import inf, log
from statistics import pvariance, variance
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from tests.sampling.filtering import NO_NUMBERS, top_n_sigma_logits
from tests.sampling.rows import rows
from tests.texts import drawn

MULTIPLES = st.sampled_from([0.0, 0.5, 1.0, 2.0]) | st.floats(0, 5)


def finite(row: list[float]) -> list[Fraction]:
    return [Fraction(logit) for logit in row if logit > -inf]


@drawn(40)
@given(rows(), MULTIPLES)
def test_the_definition_squared_is_a_comparison_of_fractions(row: list[float], n: float) -> None:
    farthest = Fraction(n) ** 2 * pvariance(finite(row))
    assert top_n_sigma_logits(row, n) == {
        token
        for token, logit in enumerate(row)
        if logit > -inf and (Fraction(max(row)) - Fraction(logit)) ** 2 <= farthest
    }


@drawn(40)
@given(rows(), MULTIPLES)
def test_the_sample_deviation_is_larger_and_keeps_more(row: list[float], n: float) -> None:
    kept = top_n_sigma_logits(row, n, deviation="sample")
    assert kept >= top_n_sigma_logits(row, n)
    if len(finite(row)) > 1:
        farthest = Fraction(n) ** 2 * variance(finite(row))
        assert kept == {
            token
            for token, logit in enumerate(row)
            if logit > -inf and (Fraction(max(row)) - Fraction(logit)) ** 2 <= farthest
        }


@drawn(40)
@given(rows(), MULTIPLES, st.sampled_from([0.25, 3.0]), st.sampled_from([-64.0, 0.5]))
def test_temperature_and_shift_change_nothing(
    row: list[float], n: float, factor: float, shift: float
) -> None:
    moved = [
        logit if logit == -inf else Fraction(logit) * Fraction(factor) + Fraction(shift)
        for logit in row
    ]
    assert top_n_sigma_logits(moved, n) == top_n_sigma_logits(row, n)


@drawn(40)
@given(rows(impossible=False), MULTIPLES, st.integers(1, 3))
def test_impossible_tokens_take_no_part(row: list[float], n: float, count: int) -> None:
    assert top_n_sigma_logits([*row, *[-inf] * count], n) == top_n_sigma_logits(row, n)


@drawn(40)
@given(rows(), MULTIPLES, MULTIPLES)
def test_a_larger_multiple_keeps_more(row: list[float], n: float, m: float) -> None:
    assert top_n_sigma_logits(row, min(n, m)) <= top_n_sigma_logits(row, max(n, m))


def test_the_values_of_llama_cpp_s_own_test() -> None:
    row = [log(p) for p in (0.1, 0.2, 0.3, 0.4)]
    assert top_n_sigma_logits(row, 1) == {2, 3}
    assert top_n_sigma_logits(row, 0, zero="off") == top_n_sigma_logits(row, 3) == {0, 1, 2, 3}


def test_the_two_deviations_differ() -> None:
    row = [4.0, 4.0, 0.0, 0.0]  # 2 as a population, 2.309 as a sample
    assert top_n_sigma_logits(row, 1.75) == {0, 1}
    assert top_n_sigma_logits(row, 1.75, deviation="sample") == {0, 1, 2, 3}


def test_a_token_exactly_at_the_threshold_is_kept() -> None:
    assert top_n_sigma_logits([4.0, 4.0, 0.0, 0.0, -inf], 2) == {0, 1, 2, 3}


def test_equal_logits_are_all_kept() -> None:
    deviation: str
    for deviation in ("population", "sample"):
        assert top_n_sigma_logits([1.5, 1.5], 0, deviation=deviation) == {0, 1}


def test_one_possible_token_is_kept() -> None:
    deviation: str
    for deviation in ("population", "sample"):
        assert top_n_sigma_logits([-inf, 1.5], 1, deviation=deviation) == {1}


def test_huge_and_tiny_logits_are_no_trouble() -> None:
    assert top_n_sigma_logits([1e308, -1e308, 5e-324], 1) == {0}
    assert top_n_sigma_logits([1e308, -1e308, 5e-324], 3) == {0, 1, 2}


@pytest.mark.parametrize("n", [*NO_NUMBERS, -0.5])
def test_a_multiple_outside_its_domain_is_an_error(n: Any) -> None:
    with pytest.raises(ParameterError, match=r"^n must be a finite number of at least 0, got "):
        top_n_sigma_logits([0.5, 0.5], n)


@pytest.mark.parametrize("name", ["deviation", "zero"])
def test_a_choice_without_a_name_is_an_error(name: str) -> None:
    wrong: dict[str, Any] = {name: "off?"}
    with pytest.raises(ParameterError, match=f"^{name} must be one of "):
        top_n_sigma_logits([0.5, 0.5], 1, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        top_n_sigma_logits([-inf], 1)
