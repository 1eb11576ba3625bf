"""The nucleus and the largest numbers, found without sorting, are those of a sorted row."""

from fractions import Fraction
from math import inf, nan
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.numbers import reaching as nucleus_module
from sampling_ref.numbers.mass import Mass
from sampling_ref.numbers.orders import in_order, largest, largest_first
from sampling_ref.numbers.reaching import first_reaching, nucleus
from sampling_ref.row import Ties
from tests.sampling.rows import rows, shares
from tests.texts import CAMPAIGN

TIES = st.sampled_from(get_args(Ties))
FACTORS = st.sampled_from([1, 1.25, 0.5, Fraction(10, 7)])
SIZES = st.sampled_from([(0, 1, 0), (1, 3, 1), (2, 8, 2), (4, 2, 0), (8192, 4096, 96)])


def ordered(row: list[float], ties: Ties) -> list[int]:
    tokens = range(len(row))
    sign = -1 if ties == "highest id" else 1
    return sorted(tokens, key=lambda token: (-row[token], sign * token))


def by_sorting(
    row: list[float],
    share: float | Fraction,
    ties: Ties,
    total: list[float] | None,
    factor: float,
    strictly: object,
) -> list[int]:
    """Return the nucleus by sorting the row and walking it."""
    order = ordered(row, ties)
    walked = [row[token] for token in order]
    whole = row if total is None else total
    end = first_reaching(walked, share, strictly=bool(strictly), total=whole, factor=factor)
    if share == 1 and total is None:
        end = None
    taken = order if end is None else order[: end + 1]
    return sorted(token for token in taken if row[token] > -inf)


@settings(max_examples=200 * CAMPAIGN)
@given(rows(most=60), shares(), TIES, st.none() | rows(), FACTORS, st.sampled_from("<="), SIZES)
@example([0.0] * 20, 0.5, "all", None, 1, "=", (2, 8, 2))
@example([0.0] * 20, 0.5, "highest id", None, 1, "<", (2, 8, 2))
@example([0.0] * 20 + [-inf] * 20, 0.5, "all", [9.0], 1, "<", (2, 8, 2))
@example([-inf] * 3, 0.5, "all", [9.0], 1, "<", (2, 8, 2))
@example([-inf] * 3, 0.5, "all", [1e4], 1, "<", (0, 1, 0))
@example([1e4] * 3, 0.5, "all", [0.0], 1, "<", (0, 1, 0))
@example([5.0, 1.0, 1.0, 0.0], 0.9999, "lowest id", None, 1, "=", (0, 1, 0))
def test_a_nucleus_is_the_walk_through_the_sorted_row(
    row: list[float],
    share: float,
    ties: Ties,
    total: list[float] | None,
    factor: float,
    sign: str,
    sizes: tuple[int, int, int],
) -> None:
    """Small sizes make short rows go the way of long ones."""
    strictly = sign == "<"
    expected = by_sorting(row, share, ties, total, factor, strictly)
    with pytest.MonkeyPatch.context() as patch:
        for name, size in zip(("_FEW", "_SAMPLE", "_MARGIN"), sizes, strict=True):
            patch.setattr(nucleus_module, name, size)
        found = nucleus(row, share, strictly=strictly, ties=ties, total=total, factor=factor)
    assert found == expected


@settings(max_examples=100 * CAMPAIGN)
@given(rows(most=40), st.data(), TIES, st.sampled_from("<="), SIZES)
def test_a_share_that_a_float_sum_hits_is_decided_as_by_sorting(
    row: list[float], data: st.DataObject, ties: Ties, sign: str, sizes: tuple[int, int, int]
) -> None:
    mass = Mass(row)
    assert mass.weights is not None
    index = data.draw(st.integers(0, len(row) - 1))
    runs = sum(sorted(mass.weights, reverse=True)[: index + 1])
    share = Fraction(min(runs / mass.total, 1.0))
    expected = by_sorting(row, share, ties, None, 1, sign == "<")
    with pytest.MonkeyPatch.context() as patch:
        for name, size in zip(("_FEW", "_SAMPLE", "_MARGIN"), sizes, strict=True):
            patch.setattr(nucleus_module, name, size)
        assert nucleus(row, share, strictly=sign == "<", ties=ties) == expected


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("spread", [0.01, 1, 5, 40])
def test_a_long_row_has_the_nucleus_of_its_sorted_self(share: float, spread: float) -> None:
    row = [spread * ((index * 7919 % 20011) / 20011) ** 3 for index in range(20000)]
    assert nucleus(row, share) == by_sorting(row, share, "lowest id", None, 1, strictly=False)


def test_the_sampled_tokens_may_all_be_impossible() -> None:
    row = [float(index % 7) if index % 4 == 1 else -inf for index in range(40000)]
    assert nucleus(row, 0.9) == by_sorting(row, 0.9, "lowest id", None, 1, strictly=False)


@given(rows(), TIES)
def test_a_share_of_one_keeps_exactly_the_possible_tokens(row: list[float], ties: Ties) -> None:
    possible = [token for token, logit in enumerate(row) if logit > -inf]
    assert nucleus(row, 1, ties=ties) == nucleus(row, 1, ties=ties, strictly=True) == possible


@given(rows(most=40))
def test_a_share_of_nothing_keeps_the_first_of_the_walk(row: list[float]) -> None:
    assert nucleus(row, 0) == nucleus(row, 0, strictly=True) == [largest_first(row)[0]]


def test_rows_of_fractions_beyond_floats_have_a_nucleus() -> None:
    row = [Fraction(10**400), Fraction(0), Fraction(10**400)]
    assert nucleus(row, Fraction(1, 3)) == [0]
    assert nucleus(row, Fraction(1, 2)) == [0, 2]  # one of them is a little less than half
    assert nucleus(row, Fraction(1, 2), strictly=True) == [0, 2]


@settings(max_examples=200 * CAMPAIGN)
@given(rows(most=200), st.integers(0, 30), TIES)
def test_the_largest_are_the_first_of_the_sorted_row(row: list[float], k: int, ties: Ties) -> None:
    order = ordered(row, ties)
    expected = order[:k]
    if ties == "all" and k:
        expected = [token for token in order if row[token] >= row[expected[-1]]]
    assert largest(row, k, ties=ties) == expected


@pytest.mark.parametrize("k", [1, 2, 3, 10, 40, 83, 84, 500, 1009, 2000])
@pytest.mark.parametrize("ties", get_args(Ties))
@pytest.mark.parametrize("levels", [1009, 97, 2, 1])
def test_the_largest_of_a_long_row_are_found_in_its_chunks(k: int, ties: Ties, levels: int) -> None:
    """Large numbers lie far apart here, one to a chunk, or all are equal."""
    row = [float(index * 613 % 1009 % levels) for index in range(1009)]
    order = ordered(row, ties)
    expected = order[:k]
    if ties == "all":
        expected = [token for token in order if row[token] >= row[expected[-1]]]
    assert largest(row, k, ties=ties) == expected


@given(rows(), TIES, st.data())
def test_some_tokens_are_ordered_as_all_of_them_are(
    row: list[float], ties: Ties, data: st.DataObject
) -> None:
    chosen = data.draw(st.sets(st.integers(0, len(row) - 1)))
    expected = [token for token in ordered(row, ties) if token in chosen]
    assert in_order(row, sorted(chosen), ties) == expected


@pytest.mark.parametrize("k", [-1, 1.0, True, "1", None])
def test_a_number_of_tokens_must_be_whole_and_not_negative(k: int) -> None:
    with pytest.raises(ParameterError, match=r"^k must be a whole number of at least 0, got "):
        largest([0.5], k)


def test_an_unknown_tie_rule_is_an_error() -> None:
    unknown: Ties = "none"  # type: ignore[assignment] # the claim
    rule = "^ties must be one of lowest id, highest id, all"
    with pytest.raises(ParameterError, match=rule):
        largest([0.5], 1, ties=unknown)
    with pytest.raises(ParameterError, match=rule):
        nucleus([0.5], 0.5, ties=unknown)


@pytest.mark.parametrize("share", [-0.1, 1.5, nan, True, "0.5"])
def test_a_share_outside_its_domain_is_an_error(share: float) -> None:
    with pytest.raises(ParameterError, match=r"^share must be in \[0, 1\], got "):
        nucleus([0.5], share)


@pytest.mark.parametrize("row", [[], [nan], [inf], [-inf], "ab"])
def test_what_is_no_row_is_an_error(row: list[float]) -> None:
    with pytest.raises(RowError):
        nucleus(row, 0.5)
