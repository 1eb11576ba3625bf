"""Inverse CDF draws each token with exactly its share, and what is drawn at borders has a name."""

import os
import re
from fractions import Fraction
from itertools import accumulate, pairwise, permutations
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling_ref import WEIGHTS
from sampling_ref.draws import inverse_cdf as of_inverse_cdf
from sampling_ref.draws.inverse_cdf import Boundary
from sampling_ref.errors import ParameterError, RandomNumberError, RowError, UndecidedError
from sampling_ref.numbers.reals import Real, sum_of
from sampling_ref.row import Candidates
from tests.sampling.rows import exactly, rows, uniforms, weights

MORE = int(os.environ.get("TOKENREF_CAMPAIGN", "1"))

BOUNDARIES: list[Boundary] = ["exceed", "reach"]
NEARLY_ONE = 1 - 2.0**-53


def inverse_cdf(row: Any, u: Any, **choices: Any) -> int:
    return of_inverse_cdf.inverse_cdf(row, u, numbers=WEIGHTS, **choices)


def inverse_cdf_of_logits(row: Any, u: Any, *, factor: Any = 1, **choices: Any) -> int:
    given = row if factor == 1 else Candidates(range(len(row)), row, factor)
    return of_inverse_cdf.inverse_cdf(given, u, **choices)


def without_replacement(row: Any, count: Any, uniforms: Any, **choices: Any) -> list[int]:
    several = of_inverse_cdf.without_replacement
    return several(row, count, uniforms, numbers=WEIGHTS, **choices)


def without_replacement_of_logits(
    row: Any, count: Any, uniforms: Any, *, factor: Any = 1, **choices: Any
) -> list[int]:
    given = row if factor == 1 else Candidates(range(len(row)), row, factor)
    return of_inverse_cdf.without_replacement(given, count, uniforms, **choices)


def borders(row: list[float]) -> list[Fraction]:
    """Return where the pieces of a stick of length 1 begin and end."""
    total = sum(exactly(row))
    return [Fraction(0), *(part / total for part in accumulate(exactly(row)))]


@pytest.mark.parametrize("boundary", BOUNDARIES)
@settings(max_examples=60 * MORE)
@given(row=weights())
def test_the_numbers_that_draw_a_token_are_exactly_its_share(
    boundary: Boundary, row: list[float]
) -> None:
    shares = dict.fromkeys(range(len(row)), Fraction(0))
    for low, high in pairwise(borders(row)):
        if low < high:
            shares[inverse_cdf(row, (low + high) / 2, boundary=boundary)] += high - low
    total = sum(exactly(row))
    assert list(shares.values()) == [weight / total for weight in exactly(row)]


@settings(max_examples=60 * MORE)
@given(weights())
def test_a_piece_owns_its_beginning_or_its_end(row: list[float]) -> None:
    for low, high in pairwise(borders(row)):
        if low < high:
            middle = inverse_cdf(row, (low + high) / 2)
            assert inverse_cdf(row, low) == middle
            if high < 1:
                assert inverse_cdf(row, high, boundary="reach") == middle
                assert inverse_cdf(row, high) > middle


@settings(max_examples=60 * MORE)
@given(weights(), uniforms(), st.sampled_from(BOUNDARIES))
def test_a_draw_is_the_first_token_behind_which_the_share_lies(
    row: list[float], u: float, boundary: Boundary
) -> None:
    token = inverse_cdf(row, u, boundary=boundary)
    before, after = borders(row)[token : token + 2]
    if boundary == "exceed":
        assert before <= Fraction(u) < after
    else:
        assert before < Fraction(u) <= after or (u == 0 and before == 0 < after)


@settings(max_examples=60 * MORE)
@given(weights(), uniforms() | st.just(0.0), st.sampled_from(BOUNDARIES))
def test_a_token_without_weight_is_never_drawn(
    row: list[float], u: float, boundary: Boundary
) -> None:
    padded = [0.0, *row, 0.0]
    assert padded[inverse_cdf(padded, u, boundary=boundary)] > 0


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize(
    ("row", "first", "last"),
    [([0.0, 1.0, 1.0], 1, 2), ([1.0, 0.0, 1.0], 0, 2), ([1.0, 1.0, 0.0], 0, 1)],
)
def test_the_ends_of_the_stick_belong_to_the_first_and_last_possible_tokens(
    boundary: Boundary, row: list[float], first: int, last: int
) -> None:
    logits = [0.0 if weight else -inf for weight in row]
    for u, token in ((0.0, first), (2.0**-1074, first), (NEARLY_ONE, last)):
        assert inverse_cdf(row, u, boundary=boundary) == token
        assert inverse_cdf_of_logits(logits, u, boundary=boundary) == token


def test_reaching_as_walked_draws_an_impossible_first_token_at_zero_only() -> None:
    row, logits = [0.0, 1.0, 1.0], [-inf, 0.0, 0.0]
    for u, token in ((0.0, 0), (2.0**-1074, 1), (0.5, 1), (NEARLY_ONE, 2)):
        walked = inverse_cdf(row, u, boundary="reach", zero_weight="as walked")
        assert walked == token
        walked = inverse_cdf_of_logits(logits, u, boundary="reach", zero_weight="as walked")
        assert walked == token


@settings(max_examples=60 * MORE)
@given(weights(), uniforms())
def test_exceeding_draws_no_token_without_weight_also_as_walked(row: list[float], u: float) -> None:
    assert inverse_cdf(row, u, zero_weight="as walked") == inverse_cdf(row, u)


@pytest.mark.parametrize("row", [[1.0, 1.0, 0.0, 2.0], [0.0, 0.0, 2.0, 2.0]])
def test_a_number_exactly_on_a_border_is_decided_by_the_boundary(row: list[float]) -> None:
    assert inverse_cdf(row, 0.5) == 3
    assert inverse_cdf(row, 0.5, boundary="reach") == (1 if row[0] else 2)
    above, below = Fraction(1, 2) + Fraction(1, 10**40), Fraction(1, 2) - Fraction(1, 10**40)
    assert inverse_cdf(row, above, boundary="reach") == 3
    assert inverse_cdf(row, below) == (1 if row[0] else 2)


def test_sums_do_not_round() -> None:
    tenths = [0.1] * 10  # as floats these sum to less than 1
    assert inverse_cdf(tenths, NEARLY_ONE) == 9
    assert inverse_cdf([1.0, 2.0**-60], NEARLY_ONE) == 0
    assert inverse_cdf([1.0, 2.0**-60], 1 - Fraction(1, 2**61)) == 1
    thirds = [Fraction(1, 3)] * 3
    assert inverse_cdf(thirds, Fraction(1, 3)) == 1
    assert inverse_cdf(thirds, Fraction(2, 3), boundary="reach") == 1


@settings(max_examples=60 * MORE)
@given(weights(6), uniforms(), st.data(), st.sampled_from(BOUNDARIES))
def test_an_order_walks_as_a_row_in_that_order(
    row: list[float], u: float, data: st.DataObject, boundary: Boundary
) -> None:
    order = data.draw(st.permutations(range(len(row))))
    moved = [row[token] for token in order]
    place = inverse_cdf(moved, u, boundary=boundary, zero_weight="as walked")
    drawn = inverse_cdf(row, u, order=order, boundary=boundary, zero_weight="as walked")
    assert drawn == order[place]


@settings(max_examples=60 * MORE)
@given(rows(most=6), uniforms(), st.data(), st.sampled_from(BOUNDARIES))
def test_an_order_of_logits_walks_as_logits_in_that_order(
    row: list[float], u: float, data: st.DataObject, boundary: Boundary
) -> None:
    order = data.draw(st.permutations(range(len(row))))
    moved = [row[token] for token in order]
    place = inverse_cdf_of_logits(moved, u, boundary=boundary)
    assert inverse_cdf_of_logits(row, u, order=order, boundary=boundary) == order[place]


def test_tokens_outside_the_order_have_no_weight() -> None:
    assert inverse_cdf([1.0, 8.0, 1.0], 0.5, order=[2, 0]) == 0
    assert inverse_cdf_of_logits([1.0, 8.0, 1.0], 0.5, order=[2, 0]) == 0
    assert inverse_cdf_of_logits([1.0, 8.0, 1.0], 0.25, order=[2, 0]) == 2


def exceeds(parts: list[Real], share: Fraction, whole: list[Real]) -> bool:
    """Return whether some of the weights are more than a share of all of them."""
    try:
        return sum_of(parts) > sum_of(whole) * share
    except UndecidedError:  # equal: as many of each weight as the share asks for
        return False


@settings(max_examples=30 * MORE)
@given(rows(most=5), uniforms(), st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(10, 7)]))
def test_weights_of_logits_are_their_exponentials(
    row: list[float], u: float, factor: Fraction
) -> None:
    top = max(row)
    powers = [
        Real(0) if logit == -inf else Real((Fraction(logit) - Fraction(top)) * factor).exp()
        for logit in row
    ]
    token = inverse_cdf_of_logits(row, u, factor=factor)
    assert row[token] > -inf
    assert exceeds(powers[: token + 1], Fraction(u), powers)
    assert not exceeds(powers[:token], Fraction(u), powers)


@pytest.mark.parametrize("u", [-0.5, 1.0, 1.5, inf, float("nan"), True, "0.5", None, [0.5]])
def test_what_is_no_number_from_0_to_below_1_is_an_error(u: Any) -> None:
    for draw in (inverse_cdf, inverse_cdf_of_logits):
        with pytest.raises(RandomNumberError, match=re.escape("must be in [0, 1), got ")):
            draw([1.0, 1.0], u)


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ([0, 2], "order must hold token ids below 2, got 2"),
        ([-1], "order must hold token ids below 2, got -1"),
        ([True], "order must hold token ids below 2, got True"),
        ([0.0], "order must hold token ids below 2, got 0.0"),
        ("01", "order must hold token ids below 2, got '0'"),
        ([1, 1], "order must hold no token twice, got [1, 1]"),
        (1, "order must be a sequence of token ids, got 1"),
    ],
)
def test_an_order_that_fits_no_row_is_an_error(order: Any, sentence: str) -> None:
    for draw in (inverse_cdf, inverse_cdf_of_logits):
        with pytest.raises(ParameterError, match=rf"^{re.escape(sentence)}$"):
            draw([1.0, 1.0], 0.5, order=order)


def test_a_walk_without_possible_tokens_is_an_error() -> None:
    for draw, row in ((inverse_cdf, [0.0, 1.0]), (inverse_cdf_of_logits, [-inf, 1.0])):
        with pytest.raises(RowError, match=r"the tokens in order leave no token possible"):
            draw(row, 0.5, order=[0])
        with pytest.raises(RowError, match="must hold at least one number"):
            draw(row, 0.5, order=[])


def test_a_choice_without_such_a_name_is_an_error() -> None:
    wrong: Any = "at least"
    for draw in (inverse_cdf, inverse_cdf_of_logits):
        with pytest.raises(ParameterError, match=r"^boundary must be one of exceed, reach, got"):
            draw([1.0], 0.5, boundary=wrong)
        with pytest.raises(ParameterError, match=r"^zero_weight must be one of never, as walked"):
            draw([1.0], 0.5, zero_weight=wrong)


@settings(max_examples=60 * MORE)
@given(weights(4), st.data())
def test_draws_without_replacement_have_the_law_of_successive_draws(
    row: list[float], data: st.DataObject
) -> None:
    """The area of the pairs of numbers that draw (i, j) is w_i / W times w_j / (W - w_i)."""
    exact, possible = exactly(row), [token for token, weight in enumerate(row) if weight > 0]
    if len(possible) < 2:
        return
    boundary = data.draw(st.sampled_from(BOUNDARIES))
    area = dict.fromkeys(permutations(possible, 2), Fraction(0))
    for low, high in pairwise(borders(row)):
        if low == high:
            continue
        middle = (low + high) / 2
        one = inverse_cdf(row, middle, boundary=boundary)
        rest = [0.0 if token == one else weight for token, weight in enumerate(row)]
        for left, right in pairwise(borders(rest)):
            if left < right:
                pair = without_replacement(row, 2, [middle, (left + right) / 2], boundary=boundary)
                area[pair[0], pair[1]] += (high - low) * (right - left)
    total = sum(exact)
    assert area == {
        (i, j): exact[i] / total * exact[j] / (total - exact[i])
        for i, j in permutations(possible, 2)
    }


@settings(max_examples=60 * MORE)
@given(rows(most=6), st.lists(uniforms(), min_size=6, max_size=6))
def test_draws_of_logits_without_replacement_are_draws_from_what_is_left(
    row: list[float], numbers: list[float]
) -> None:
    count = sum(logit > -inf for logit in row)
    drawn = without_replacement_of_logits(row, count, numbers[:count])
    assert sorted(drawn) == [token for token, logit in enumerate(row) if logit > -inf]
    left = list(row)
    for token, u in zip(drawn, numbers, strict=False):
        assert inverse_cdf_of_logits(left, u) == token
        left[token] = -inf


def test_no_row_is_changed_by_draws() -> None:
    row, logits = [0.5, 0.5], [0.0, 0.0]
    without_replacement(row, 2, [0.0, 0.0])
    without_replacement_of_logits(logits, 2, [0.0, 0.0])
    assert (row, logits) == ([0.5, 0.5], [0.0, 0.0])


def test_as_many_numbers_as_draws_are_needed() -> None:
    for draw, row in (
        (without_replacement, [1.0, 1.0]),
        (without_replacement_of_logits, [0.0] * 2),
    ):
        for numbers in ([], [0.5], [0.5] * 3):
            with pytest.raises(RandomNumberError, match=r"^uniforms must hold 2 numbers, got "):
                draw(row, 2, numbers)
        with pytest.raises(RandomNumberError, match=r"^uniforms\[1\] must be in \[0, 1\)"):
            draw(row, 2, [0.5, 1.0])


@pytest.mark.parametrize("count", [0, -1, 3, 1.0, True, "1"])
def test_no_more_different_tokens_are_drawn_than_are_possible(count: Any) -> None:
    for draw, row in (
        (without_replacement, [1.0, 0.0, 1.0]),
        (without_replacement_of_logits, [0.0, -inf, 0.0]),
    ):
        with pytest.raises(ParameterError, match=r"^count must be "):
            draw(row, count, [0.5] * 3)
