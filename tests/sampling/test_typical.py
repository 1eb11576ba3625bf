"""`typical` takes tokens by the distance of their surprise from the entropy."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.row import Ties
from tests.sampling.filtering import (
    DIGITS,
    NO_NUMBERS,
    everything,
    possible,
    total,
    typical,
    typical_logits,
    weights_of,
)
from tests.sampling.rows import rows, shares, weights
from tests.sampling.test_eta import decimal
from tests.texts import drawn

Boundary = Literal["reach", "exceed", "short"]

BOUNDARIES: list[Boundary] = ["reach", "exceed", "short"]
TIES: list[Ties] = ["lowest id", "highest id", "all"]


def distances(row: list[float]) -> dict[int, Decimal]:
    """Return |surprise - entropy| of each possible token, with 60 of 80 digits."""
    whole = total(row, everything(row))
    with localcontext(DIGITS):
        ps = {token: decimal(Fraction(row[token]) / whole) for token in possible(row)}
        entropy = -sum((p * p.ln() for p in ps.values()), start=Decimal(0))
        return {t: abs(-p.ln() - entropy).quantize(Decimal("1e-60")) for t, p in ps.items()}


@drawn(40)
@given(weights(8), shares(), st.sampled_from(BOUNDARIES), st.sampled_from(TIES), st.integers(0, 4))
def test_the_printed_formula_decides(
    row: list[float], mass: float, boundary: Boundary, ties: Ties, least: int
) -> None:
    far = distances(row)
    direction = -1 if ties == "highest id" else 1
    walk = sorted(far, key=lambda token: (far[token], direction * token))
    required = Fraction(mass) * total(row, everything(row))
    collected, count = Fraction(0), len(walk)
    for place, token in enumerate(walk):
        collected += Fraction(row[token])
        if collected > required or (collected == required and boundary != "exceed"):
            count = place if boundary == "short" else place + 1
            break
    kept = set(walk[:count])
    if ties == "all" and kept:
        farthest = max(far[token] for token in kept)
        kept = {token for token in walk if far[token] <= farthest}
    kept.update(walk[:least])
    assert typical(row, mass, boundary=boundary, ties=ties, least=least) == kept


@drawn(100)
@given(rows(most=10), shares(), st.sampled_from(BOUNDARIES), st.sampled_from(TIES))
def test_logits_are_decided_as_their_weights_are(
    row: list[float], mass: float, boundary: Boundary, ties: Ties
) -> None:
    by_logits = typical_logits(row, mass, boundary=boundary, ties=ties)
    assert by_logits == typical(weights_of(row), mass, boundary=boundary, ties=ties)


@drawn(40)
@given(rows(most=8), shares(), st.sampled_from([0.5, 1.25]))
def test_a_factor_multiplies_the_logits(row: list[float], mass: float, factor: float) -> None:
    multiplied = [x if x == -inf else Fraction(x) * Fraction(factor) for x in row]
    assert typical_logits(row, mass, factor=factor) == typical_logits(multiplied, mass)


@drawn(40)
@given(rows(most=8), shares(), st.sampled_from([-64.0, 0.5, 3.0]))
def test_adding_one_number_to_all_logits_changes_nothing(
    row: list[float], mass: float, shift: float
) -> None:
    shifted = [x if x == -inf else Fraction(x) + Fraction(shift) for x in row]
    assert typical_logits(shifted, mass) == typical_logits(row, mass)


@drawn(40)
@given(weights(8), shares(), shares(), st.sampled_from(BOUNDARIES), st.sampled_from(TIES))
def test_a_larger_mass_keeps_every_token_of_a_smaller_one(
    row: list[float], mass: float, more: float, boundary: Boundary, ties: Ties
) -> None:
    few = typical(row, min(mass, more), boundary=boundary, ties=ties)
    assert few <= typical(row, max(mass, more), boundary=boundary, ties=ties)


@drawn(40)
@given(weights(8))
def test_the_whole_mass_keeps_every_possible_token(row: list[float]) -> None:
    assert typical(row, 1.0) == typical(row, 1.0, boundary="exceed") == possible(row)


@pytest.mark.parametrize(
    ("mass", "kept"), [(0.2, {1, 2, 3}), (0.4, {1, 2, 3}), (0.5, {1, 2, 3}), (0.9, {0, 1, 2, 3})]
)
def test_the_values_of_transformers(mass: float, kept: set[int]) -> None:
    row = [0.4, 0.2, 0.2, 0.2]
    assert typical(row, mass) == kept


def test_fractions_that_sum_to_the_mass_exactly() -> None:
    fifths = [Fraction(part, 5) for part in (2, 1, 1, 1)]
    assert typical(fifths, Fraction(3, 5)) == {1, 2, 3}
    assert typical(fifths, Fraction(3, 5), boundary="exceed") == {0, 1, 2, 3}


def test_the_values_of_llama_cpp_s_own_test() -> None:
    peaked = [Fraction(part, 100) for part in (97, 1, 1, 1)]
    assert typical(peaked, 0.5, boundary="exceed") == {0}
    fifths = [Fraction(part, 5) for part in (2, 1, 1, 1)]
    assert typical(fifths, 0.5, boundary="exceed", ties="lowest id") == {1, 2, 3}


def test_two_probabilities_on_both_sides_can_be_equally_typical() -> None:
    row = [0.5, 0.25, 0.25]  # 1.5 bits of entropy; surprises of 1, 2 and 2 bits
    assert typical(row, 0.125) == {0, 1, 2}
    assert typical(row, 0.125, ties="lowest id") == {0}
    assert typical(row, 0.125, ties="highest id") == {2}


def test_after_a_tie_on_both_sides_the_walk_goes_on() -> None:
    """The mean of log2 of the weight is 1; 4 and 1 are one away from it, 8 and 1/2 are two."""
    row = [8.0, 4.0, *[1.0] * 4, *[0.5] * 16]
    near, far = {1, 2, 3, 4, 5}, {0, *range(6, 22)}
    assert typical(row, 0.25) == typical(row, Fraction(1, 3)) == near
    assert typical(row, 0.5, ties="lowest id") == near | {0}
    assert typical(row, 0.375, ties="highest id") == near | {20, 21}
    assert typical(row, 0.375) == near | far


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("eighths", range(1, 9))
def test_equal_logits_meet_the_mass_exactly(boundary: Boundary, ties: Ties, eighths: int) -> None:
    by_logits = typical_logits([-7.5, -inf, *[-7.5] * 7], eighths / 8, boundary=boundary, ties=ties)
    flat = [0.125, 0.0, *[0.125] * 7]
    assert by_logits == typical(flat, eighths / 8, boundary=boundary, ties=ties)


@drawn(40)
@given(rows(most=8), shares(), st.sampled_from(TIES))
def test_logits_that_are_nearly_equal_are_told_apart(
    row: list[float], mass: float, ties: Ties
) -> None:
    by_logits = typical_logits(row, mass, ties=ties, factor=2.0**-45)
    assert by_logits == typical(weights_of(row, 2.0**-45), mass, ties=ties)


def test_impossible_tokens_take_no_part() -> None:
    assert typical_logits([1.0, 0.0, -inf], 0.9) == {0, 1}
    assert typical([0.5, 0.0, 0.5], 0.25, ties="lowest id") == {0}


def test_short_of_the_mass_the_first_token_stays() -> None:
    row = [0.25] * 4
    assert typical(row, 0.25, boundary="short", ties="lowest id") == {0}
    assert typical(row, 0.5, boundary="short", ties="lowest id") == {0}
    assert typical(row, 0.5625, boundary="short", ties="lowest id") == {0, 1}
    assert typical(row, 0.25, boundary="short", ties="lowest id", least=0) == frozenset()


def test_the_middle_of_two_logits_near_the_mean_is_decided() -> None:
    """The mean of 0 and x lies near x/2 + x**2/4 for a small x: floats cannot tell the sides."""
    assert typical_logits([2.0**-60, 0.0], 0.25) == {0}
    assert typical_logits([2.0**-300, 0.0], 0.25) == {0}
    assert typical_logits([-(2.0**-300), 0.0, -inf], 0.25) == {1}


@pytest.mark.parametrize("mass", [*NO_NUMBERS, 0.0, -0.5, 1.5])
def test_a_mass_outside_its_domain_is_an_error(mass: Any) -> None:
    for function in (typical, typical_logits):
        with pytest.raises(ParameterError, match=r"^mass must be in \(0, 1\], got "):
            function([0.5, 0.5], mass)


@pytest.mark.parametrize("name", ["least", "boundary", "ties", "factor"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        typical_logits([0.5, 0.5], 0.5, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        typical([0.0], 0.5)
    with pytest.raises(RowError):
        typical_logits([-inf], 0.5)
