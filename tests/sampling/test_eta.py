"""`eta` keeps what has at least the smaller one of epsilon and alpha * e**(-entropy)."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from tests.sampling.filtering import (
    DIGITS,
    NO_NUMBERS,
    epsilon,
    eta,
    eta_logits,
    everything,
    possible,
    top_k,
    total,
    weights_of,
)
from tests.sampling.rows import rows, weights
from tests.texts import drawn

CUTOFFS = st.sampled_from([0.0625, 0.25, 0.5]) | st.floats(0, 1, exclude_min=True, exclude_max=True)


def decimal(number: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))


def thresholds(row: list[float], cutoff: float, scale: float | None) -> list[Decimal]:
    """Return both thresholds with 80 digits, by the formula as it is printed."""
    whole = total(row, everything(row))
    with localcontext(DIGITS):
        ps = [decimal(Fraction(row[token]) / whole) for token in possible(row)]
        entropy = -sum((p * p.ln() for p in ps), start=Decimal(0))
        alpha = Decimal(cutoff).sqrt() if scale is None else Decimal(scale)
        return [Decimal(cutoff), alpha * (-entropy).exp()]


@drawn(40)
@given(weights(8), CUTOFFS, st.none() | st.sampled_from([0.25, 0.75, 2.0]))
def test_the_printed_formula_decides(row: list[float], cutoff: float, scale: float | None) -> None:
    whole = total(row, everything(row))
    cut = min(thresholds(row, cutoff, scale))
    kept = eta(row, cutoff, scale=scale, least=0)
    for token in possible(row):
        distance = decimal(Fraction(row[token]) / whole) - cut
        if abs(distance) > Decimal("1e-60"):
            assert (token in kept) == (distance > 0)


@drawn(40)
@given(weights(8), CUTOFFS)
def test_more_is_kept_than_by_epsilon_alone(row: list[float], cutoff: float) -> None:
    assert epsilon(row, cutoff) <= eta(row, cutoff)


@drawn(40)
@given(weights(8), CUTOFFS)
def test_the_most_probable_token_always_passes(row: list[float], cutoff: float) -> None:
    assert row.index(max(row)) in eta(row, cutoff, least=0)


@drawn(40)
@given(weights(8), CUTOFFS, st.integers(0, 6), st.sampled_from(["lowest id", "highest id", "all"]))
def test_never_fewer_than_the_least(row: list[float], cutoff: float, least: int, ties: Any) -> None:
    passing = eta(row, cutoff, least=0)
    expected = passing if len(passing) >= least else top_k(row, least, ties=ties)
    assert eta(row, cutoff, least=least, ties=ties) == expected


@drawn(100)
@given(rows(most=8), CUTOFFS, st.sampled_from([1.0, 0.5]), st.sampled_from([None, 0.25, 2.0]))
def test_logits_are_decided_as_their_weights_are(
    row: list[float], cutoff: float, factor: float, scale: float | None
) -> None:
    by_logits = eta_logits(row, cutoff, factor=factor, scale=scale)
    assert by_logits == eta(weights_of(row, factor), cutoff, scale=scale)


def test_alpha_is_the_square_root_of_epsilon_unless_given() -> None:
    """The entropy is 1.75 bits, so e**(-H) is 0.2973; a half and a quarter of it."""
    row = [0.5, 0.25, 0.125, 0.125]
    assert eta(row, 0.25) == {0, 1}
    assert eta(row, 0.25, scale=0.5) == {0, 1}
    assert eta(row, 0.25, scale=0.25) == {0, 1, 2, 3}
    logits = [0.0, -0.75, -1.5, -1.5]  # probabilities of about 0.52, 0.25, 0.12 and 0.12
    assert eta_logits(logits, 0.25) == {0, 1}
    assert eta_logits(logits, 0.25, scale=0.25) == {0, 1, 2, 3}
    stretched = [4 * logit for logit in logits]
    assert eta_logits(stretched, 0.25, factor=0.25) == {0, 1}
    assert eta_logits(stretched, 0.25, factor=0.25, scale=0.25) == {0, 1, 2, 3}
    halved = [logit / 4 for logit in logits]
    assert eta_logits(halved, 0.25, factor=4) == {0, 1}


def test_a_flat_row_is_kept_where_epsilon_would_keep_one_token() -> None:
    assert eta([0.25] * 4, 0.75) == eta_logits([1.0] * 4, 0.75) == {0, 1, 2, 3}
    assert epsilon([0.25] * 4, 0.75) == {0}


def test_a_token_exactly_at_the_entropy_s_threshold() -> None:
    flat = [0.25] * 4  # e**(-entropy) is 1/4, and alpha 1
    assert eta(flat, 0.75, scale=1) == {0, 1, 2, 3}
    assert eta(flat, 0.75, scale=1, equality="removed", least=0) == frozenset()
    assert eta_logits([1.0] * 4, 0.75, scale=1) == {0, 1, 2, 3}
    assert eta_logits([1.0] * 4, 0.75, scale=1, equality="removed", least=0) == frozenset()


def test_a_token_exactly_at_epsilon() -> None:
    row = [0.5, 0.25, 0.25]
    assert eta(row, 0.25, scale=9) == {0, 1, 2}
    assert eta(row, 0.25, scale=9, equality="removed") == {0}


@pytest.mark.parametrize("cutoff", [*NO_NUMBERS, 0.0, 1.0, -0.5, 1.5])
def test_a_cutoff_outside_its_domain_is_an_error(cutoff: Any) -> None:
    for function in (eta, eta_logits):
        with pytest.raises(ParameterError, match=r"^cutoff must be in \(0, 1\), got "):
            function([0.5, 0.5], cutoff)


@pytest.mark.parametrize("name", ["least", "equality", "scale", "factor"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        eta_logits([0.5, 0.5], 0.5, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        eta([0.0], 0.5)
    with pytest.raises(RowError):
        eta_logits([-inf], 0.5)
