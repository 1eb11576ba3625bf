"""`tail_free` cuts where the sorted probabilities become flat."""

from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.row import Ties
from tests.sampling.filtering import NO_NUMBERS, possible, tail_free, tail_free_logits, weights_of
from tests.sampling.rows import rows, weights
from tests.texts import drawn

Cut = Literal["centred", "counted"]

CUTS: list[Cut] = ["centred", "counted"]
TIES: list[Ties] = ["lowest id", "highest id", "all"]
PARTS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)


def by_definition(row: list[float], z: float, cut: Cut) -> set[int]:
    """Return what is kept, with the lowest ids first among equals."""
    order = sorted(possible(row), key=lambda token: (-row[token], token))
    if len(order) < 3:
        return set(order)
    ps = [Fraction(row[token]) for token in order]
    first = [one - two for one, two in pairwise(ps)]
    second = [abs(one - two) for one, two in pairwise(first)]
    if any(second):
        parts = [bend / sum(second) for bend in second]
    elif cut == "centred":
        parts = [Fraction(0)] * len(second)
    else:
        parts = [Fraction(1, len(second))] * len(second)
    passed = [index for index in range(len(parts)) if sum(parts[: index + 1]) > z]
    if cut == "counted":
        return set(order[: max(1, passed[0])] if passed else order)
    before = passed[0] if passed else len(parts)
    return set(order[: before + 1])


@drawn(40)
@given(weights(), PARTS, st.sampled_from(CUTS))
def test_the_definition_decides(row: list[float], z: float, cut: Cut) -> None:
    assert tail_free(row, z, cut=cut) == by_definition(row, z, cut)


@drawn(100)
@given(rows(most=10), PARTS, st.sampled_from(CUTS), st.sampled_from(TIES))
def test_logits_are_decided_as_their_weights_are(
    row: list[float], z: float, cut: Cut, ties: Ties
) -> None:
    expected = tail_free(weights_of(row), z, cut=cut, ties=ties)
    assert tail_free_logits(row, z, cut=cut, ties=ties) == expected


@drawn(40)
@given(weights(), PARTS, st.sampled_from(CUTS), st.integers(0, 5))
def test_ties_and_least(row: list[float], z: float, cut: Cut, least: int) -> None:
    low = tail_free(row, z, cut=cut, least=least)
    high = tail_free(row, z, cut=cut, least=least, ties="highest id")
    every = tail_free(row, z, cut=cut, least=least, ties="all")
    assert len(low) == len(high) >= min(least, len(possible(row)))
    assert every == {t for t in possible(row) if low and row[t] >= min(row[k] for k in low)}
    assert sorted(row[token] for token in low) == sorted(row[token] for token in high)


@drawn(40)
@given(weights(), PARTS, PARTS, st.sampled_from(CUTS))
def test_a_larger_part_keeps_more(row: list[float], z: float, y: float, cut: Cut) -> None:
    assert tail_free(row, min(z, y), cut=cut) <= tail_free(row, max(z, y), cut=cut)


@drawn(40)
@given(rows(most=8), PARTS, st.sampled_from([0.5, 1.25]))
def test_a_factor_multiplies_the_logits(row: list[float], z: float, factor: float) -> None:
    multiplied = [x if x == -inf else Fraction(x) * Fraction(factor) for x in row]
    assert tail_free_logits(row, z, factor=factor) == tail_free_logits(multiplied, z)


@drawn(100)
@given(rows(most=8), PARTS, st.sampled_from(CUTS))
def test_logits_that_are_nearly_equal_are_told_apart(row: list[float], z: float, cut: Cut) -> None:
    by_logits = tail_free_logits(row, z, cut=cut, factor=2.0**-52)
    assert by_logits == tail_free(weights_of(row, 2.0**-52), z, cut=cut)


def test_centred_always_loses_the_last_token() -> None:
    row = [0.5, 0.25, 0.125, 0.0625]
    assert tail_free(row, 1.0) == {0, 1, 2}
    assert tail_free(row, 1.0, cut="counted") == {0, 1, 2, 3}


def test_a_flat_row_has_no_scale() -> None:
    for function in (tail_free, tail_free_logits):
        assert function([1.0] * 4, 0.5) == {0, 1, 2}
        assert function([1.0] * 4, 0.5, cut="counted") == {0}
        assert function([1.0] * 4, 1.0, cut="counted") == {0, 1, 2, 3}
    assert tail_free([0.75, 0.5, 0.25], 0.0) == {0, 1}  # a straight line has no bend either


def test_one_or_two_tokens_are_kept() -> None:
    assert tail_free([0.75, 0.25, 0.0], 0.0) == {0, 1}
    assert tail_free_logits([0.75, -inf, 0.25], 0.0) == {0, 2}


def test_a_bend_that_no_float_can_see_is_seen() -> None:
    """The first bend is the whole sum but for e**-800."""
    row = [0.0, -800.0, -801.0, -803.0]
    assert tail_free_logits(row, 1 - 2.0**-53) == {0}
    assert tail_free_logits(row, 1.0) == {0, 1, 2}


@pytest.mark.parametrize("z", [*NO_NUMBERS, -0.5, 1.5])
def test_a_part_outside_its_domain_is_an_error(z: Any) -> None:
    for function in (tail_free, tail_free_logits):
        with pytest.raises(ParameterError, match=r"^z must be in \[0, 1\], got "):
            function([0.5, 0.5], z)


@pytest.mark.parametrize("name", ["least", "cut", "ties", "factor"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        tail_free_logits([0.5, 0.5], 0.5, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        tail_free([0.0], 0.5)
    with pytest.raises(RowError):
        tail_free_logits([-inf], 0.5)
