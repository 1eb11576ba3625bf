"""Gumbel-max and the exponential race are one draw, decided exactly, also where floats cannot."""

import os
import re
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log, log1p
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling_ref.draws.exponential_race import exponential_race, exponential_race_order
from sampling_ref.draws.gumbel_max import gumbel_max, gumbel_top
from sampling_ref.draws.noise import Noise, argument, best_first, gumbel, log_weight, near, plus
from sampling_ref.errors import ParameterError, RandomNumberError, RowError, UndecidedError
from sampling_ref.numbers.reals import Real
from tests.sampling.rows import exactly, rows, uniforms, weights

MORE = int(os.environ.get("TOKENREF_CAMPAIGN", "1"))

NOISES: list[Noise] = ["-log u", "-log(1-u)"]
TINY = Fraction(1, 2**600)
"""Less than floats near 1 can show, so that only an exact comparison sees it."""
LESS_THAN_FLOATS = Fraction(1, 2**1100)

inner = st.sampled_from([0.25, 0.5, 0.75, 2.0**-53, 1 - 2.0**-53]) | st.floats(
    2.0**-60, 1, exclude_max=True
)


@st.composite
def races(draw: st.DrawFn, most: int = 6) -> tuple[list[float], list[float]]:
    """Draw weights and a random number for each, none of them 0."""
    row = draw(weights(most))
    return row, draw(st.lists(inner, min_size=len(row), max_size=len(row)))


@st.composite
def noisy_rows(draw: st.DrawFn, most: int = 6) -> tuple[list[float], list[float]]:
    """Draw logits and a random number for each, 0 among them."""
    row = draw(rows(most=most))
    return row, draw(st.lists(inner | uniforms(), min_size=len(row), max_size=len(row)))


def exponential(u: float, noise: Noise) -> float:
    return -log(u) if noise == "-log u" else -log1p(-u)


@pytest.mark.parametrize("noise", NOISES)
@settings(max_examples=50 * MORE)
@given(race=races())
def test_nobody_arrives_before_the_winner(
    noise: Noise, race: tuple[list[float], list[float]]
) -> None:
    row, numbers = race
    winner = exponential_race(row, numbers, noise=noise)
    assert row[winner] > 0
    times = {
        token: Fraction(exponential(numbers[token], noise)) / Fraction(weight)
        for token, weight in enumerate(row)
        if weight > 0
    }
    assert times[winner] <= min(times.values()) * (1 + Fraction(1, 2**45))


@pytest.mark.parametrize("noise", NOISES)
@settings(max_examples=50 * MORE)
@given(race=noisy_rows())
def test_no_noisy_logit_is_larger_than_the_winner(
    noise: Noise, race: tuple[list[float], list[float]]
) -> None:
    row, numbers = race
    winner = gumbel_max(row, numbers, noise=noise)
    assert row[winner] > -inf

    def score(token: int) -> float:
        if numbers[token] == 0:
            return -inf if noise == "-log u" else inf
        return row[token] - log(exponential(numbers[token], noise))

    best = max(score(token) for token in range(len(row)) if row[token] > -inf)
    assert score(winner) >= best - 1e-9


@pytest.mark.parametrize("noise", NOISES)
@settings(max_examples=50 * MORE)
@given(race=noisy_rows())
def test_the_race_and_the_largest_noisy_logit_are_the_same_draws(
    noise: Noise, race: tuple[list[float], list[float]]
) -> None:
    """The weights are rounded exponentials, so scores that nearly meet are left out."""
    row, numbers = race
    top = max(row)
    powers = [exp(logit - top) if logit > top - 600 else 0.0 for logit in row]
    cut = [logit if logit > top - 600 else -inf for logit in row]
    possible = [token for token, logit in enumerate(cut) if logit > -inf]
    scores = sorted(
        cut[token] - log(exponential(numbers[token], noise))
        for token in possible
        if numbers[token] > 0
    )
    if any(b - a < 1e-9 for a, b in pairwise(scores)):
        return
    count = len(possible)
    assert gumbel_top(cut, count, numbers, noise=noise) == exponential_race_order(
        powers, count, numbers, noise=noise
    )


@settings(max_examples=50 * MORE)
@given(st.lists(inner | uniforms(), min_size=1, max_size=8), st.sampled_from(NOISES))
def test_among_equals_the_random_numbers_alone_decide(numbers: list[float], noise: Noise) -> None:
    size, sign = len(numbers), -1 if noise == "-log u" else 1
    expected = sorted(range(size), key=lambda token: sign * numbers[token])
    assert gumbel_top([0.5] * size, size, numbers, noise=noise) == expected
    assert exponential_race_order([0.5] * size, size, numbers, noise=noise) == expected


@settings(max_examples=50 * MORE)
@given(noisy_rows(), st.sampled_from(NOISES))
def test_an_added_constant_changes_no_draw(
    race: tuple[list[float], list[float]], noise: Noise
) -> None:
    row, numbers = race
    moved = [logit if logit == -inf else Fraction(logit) + 1000 for logit in row]
    assert gumbel_max(moved, numbers, noise=noise) == gumbel_max(row, numbers, noise=noise)


@settings(max_examples=50 * MORE)
@given(races(), st.sampled_from(NOISES))
def test_only_the_ratio_of_weights_matters(
    race: tuple[list[float], list[float]], noise: Noise
) -> None:
    row, numbers = race
    thirds = [weight / 3 for weight in exactly(row)]
    count = sum(weight > 0 for weight in row)
    assert exponential_race_order(thirds, count, numbers, noise=noise) == exponential_race_order(
        row, count, numbers, noise=noise
    )


@settings(max_examples=50 * MORE)
@given(noisy_rows(), st.sampled_from(NOISES), st.data())
def test_fewer_draws_are_the_beginning_of_more(
    race: tuple[list[float], list[float]], noise: Noise, data: st.DataObject
) -> None:
    row, numbers = race
    possible = sum(logit > -inf for logit in row)
    count = data.draw(st.integers(1, possible))
    every = gumbel_top(row, possible, numbers, noise=noise)
    assert gumbel_top(row, count, numbers, noise=noise) == every[:count]
    assert sorted(every) == [token for token, logit in enumerate(row) if logit > -inf]


@settings(max_examples=50 * MORE)
@given(noisy_rows())
def test_the_two_noises_are_one_with_mirrored_numbers(
    race: tuple[list[float], list[float]],
) -> None:
    row, numbers = race
    if 0.0 in numbers:
        return
    mirrored = [1 - Fraction(u) for u in numbers]
    assert gumbel_max(row, mirrored, noise="-log(1-u)") == gumbel_max(row, numbers)


@pytest.mark.parametrize("factor", [Fraction(1, 3), 2, 0.75])
@settings(max_examples=50 * MORE)
@given(race=noisy_rows(4))
def test_a_factor_multiplies_the_logits(
    factor: float | Fraction, race: tuple[list[float], list[float]]
) -> None:
    row, numbers = race
    scaled = [logit if logit == -inf else Fraction(logit) * Fraction(factor) for logit in row]
    assert gumbel_max(row, numbers, factor=factor) == gumbel_max(scaled, numbers)


@pytest.mark.parametrize("ratio", [2, 3, 7])
@pytest.mark.parametrize("u", [Fraction(1, 2), Fraction(3, 4), Fraction(2, 7)])
def test_a_token_of_weight_w_wins_exactly_above_the_power_w_of_the_other_number(
    ratio: int, u: Fraction
) -> None:
    """So its chance is the integral of 1 - u**w, which is w / (w + 1): its share."""
    border = u**ratio
    for row, heavy, light in (([ratio, 1], 0, 1), ([1, ratio], 1, 0)):
        for offset, expected in ((TINY, heavy), (-TINY, light), (0, 0)):
            numbers: list[Fraction] = [u, u]
            numbers[heavy] = border + offset
            assert exponential_race(row, numbers) == expected
            mirrored = [1 - number for number in numbers]
            assert exponential_race(row, mirrored, noise="-log(1-u)") == expected


def test_equal_arrivals_are_recognised_also_where_neither_weight_is_a_multiple() -> None:
    root = Fraction(3, 5)
    assert exponential_race([2, 3], [root**2, root**3]) == 0
    assert exponential_race([3, 2], [root**3, root**2]) == 0
    assert exponential_race([3, 2], [root**3, root**2 + TINY]) == 1
    assert exponential_race_order([2, 3, 5], 3, [root**2, root**3, root**5]) == [0, 1, 2]


def test_large_powers_are_compared_without_computing_them() -> None:
    one, other = 2**53 - 1, 2**53 - 3
    assert exponential_race([one, other], [0.5, 0.5]) == 0
    assert exponential_race([other, one], [0.5, 0.5]) == 1
    assert exponential_race([1.0, 2.0**-1074], [2.0**-53, 0.75]) == 0


def test_logits_that_floats_cannot_tell_apart_are_told_apart() -> None:
    for offset, winner in ((TINY, 1), (-TINY, 0), (0, 0)):
        assert gumbel_max([Fraction(0), offset], [0.5, 0.5]) == winner
        numbers = [Fraction(1, 2), Fraction(1, 2) + offset]
        assert gumbel_max([1.0, 1.0], numbers) == winner
        mirrored = gumbel_max([1.0, 1.0], numbers, noise="-log(1-u)")
        assert mirrored == (1 - winner if offset else 0)


def noise_of(u: float | Fraction) -> Real:
    return -(-Real(u).log()).log()


def balancing_logit(u: Fraction, v: Fraction, bits: int) -> Fraction:
    """Return a logit that makes up for the noise of v against that of u, rounded to `bits` bits."""
    bounds = (noise_of(u) - noise_of(v)).bounds(bits)
    assert bounds is not None
    return Fraction(sum(bounds), 2 << bits)


@pytest.mark.parametrize("bits", [60, 200, 600])
def test_scores_that_floats_cannot_tell_apart_are_told_apart(bits: int) -> None:
    u, v = Fraction(1, 2), Fraction(1, 3)
    for offset in (0, TINY, -TINY):
        logit = balancing_logit(u, v, bits) + offset
        larger = noise_of(v) + logit > noise_of(u)
        assert gumbel_max([Fraction(0), logit], [u, v]) == int(larger)
        assert gumbel_max([logit, Fraction(0)], [v, u]) == 1 - int(larger)


def test_scores_that_agree_to_200_digits_are_not_guessed() -> None:
    u, v = Fraction(1, 2), Fraction(1, 3)
    with pytest.raises(UndecidedError):
        gumbel_max([Fraction(0), balancing_logit(u, v, 1100)], [u, v])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_token_without_weight_never_wins(place: int) -> None:
    row, logits = [1.0] * 3, [0.0] * 3
    row[place], logits[place] = 0.0, -inf
    for noise in NOISES:
        for best in (0.0, 2.0**-1074, 0.5, 1 - 2.0**-53):
            for rest in (0.0, 0.5, 1 - 2.0**-53):
                numbers = [rest] * 3
                numbers[place] = best
                assert exponential_race(row, numbers, noise=noise) != place
                assert gumbel_max(logits, numbers, noise=noise) != place


def test_zero_loses_or_wins_whatever_the_weights() -> None:
    row, logits = [1e300, 1e-300], [600.0, -600.0]
    assert exponential_race(row, [0.0, 0.5]) == gumbel_max(logits, [0.0, 0.5]) == 1
    assert exponential_race(row, [0.5, 0.0], noise="-log(1-u)") == 1
    assert gumbel_max(logits, [0.5, 0.0], noise="-log(1-u)") == 1
    for noise in NOISES:  # two zeros: the lower id, not the larger weight
        assert exponential_race(row[::-1], [0.0, 0.0], noise=noise) == 0
        assert gumbel_max(logits[::-1], [0, 0], noise=noise) == 0


def test_the_number_below_one_is_a_number_like_others() -> None:
    u = 1 - 2.0**-53  # noise of about 2**-53
    assert exponential_race([1.0, 2.0**52], [u, 0.5]) == 0
    assert exponential_race([1.0, 2.0**53], [u, 0.5]) == 1
    assert exponential_race([1.0, 1.0], [u, 1 - Fraction(1, 2**54)]) == 1


@settings(max_examples=50 * MORE)
@given(inner | uniforms().filter(bool) | st.fractions(0, 1), st.sampled_from(NOISES))
def test_bounds_of_noise_hold_the_noise(u: float | Fraction, noise: Noise) -> None:
    if not 0 < u < 1:
        return
    low, high = gumbel(u, noise)
    true = -(-Real(argument(u, noise)).log()).log()
    assert low < true < high
    assert high - low < 1e-11


@pytest.mark.parametrize(
    "u", [LESS_THAN_FLOATS, 1 - LESS_THAN_FLOATS, Fraction(1, 2**990), 1 - Fraction(1, 2**990)]
)
@pytest.mark.parametrize("noise", NOISES)
def test_bounds_hold_also_where_floats_end(u: Fraction, noise: Noise) -> None:
    low, high = gumbel(u, noise)
    true = -(-Real(argument(u, noise)).log()).log()
    assert low == -inf or low < true
    assert high == inf or true < high


@settings(max_examples=50 * MORE)
@given(
    st.floats(0, 1e300, exclude_min=True)
    | st.fractions(min_value=Fraction(1, 10**9))
    | st.integers(1, 10**400)
)
def test_bounds_of_the_logarithm_of_a_weight_hold_it(weight: float | Fraction) -> None:
    low, high = log_weight(weight)
    assert low < Real(weight).log() < high


@settings(max_examples=50 * MORE)
@given(st.floats(-1e300, 1e300) | st.fractions() | st.integers(-(10**400), 10**400))
def test_bounds_of_a_number_hold_it(number: float | Fraction) -> None:
    low, high = near(number)
    assert low <= number <= high


finite = st.sampled_from([0.0, 1.0, -1.0, 1.7e308, -1.7e308]) | st.floats(-1.7e308, 1.7e308)


@settings(max_examples=50 * MORE)
@given(finite, finite, finite)
def test_bounds_of_a_sum_hold_it(x: float, y: float, z: float) -> None:
    low, high = plus((x, x), (min(y, z), max(y, z)))
    if y != z:
        assert low <= Fraction(x) + Fraction(y) <= high
        assert low <= Fraction(x) + Fraction(z) <= high


@pytest.mark.parametrize("finite", [(1.0, 1.0), (-inf, inf), (-1e308, 1e308)])
def test_infinite_noise_makes_the_sum_infinite(finite: tuple[float, float]) -> None:
    assert plus(finite, (inf, inf)) == (inf, inf)
    assert plus(finite, (-inf, -inf)) == (-inf, -inf)
    assert plus(finite, (-inf, inf)) == (-inf, inf)


@settings(max_examples=100 * MORE)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=8), st.data())
def test_wide_bounds_change_no_order(values: list[tuple[int, int]], data: st.DataObject) -> None:
    """Bounds only save comparisons: whatever they are, the order is that of the values."""
    scores = [
        (token, (float(value - width), float(value + data.draw(st.integers(0, 3)))))
        for token, (value, width) in enumerate(values)
    ]

    def compare(a: int, b: int) -> int:
        return (values[a][0] > values[b][0]) - (values[a][0] < values[b][0])

    count = data.draw(st.integers(1, len(values)))
    expected = sorted(range(len(values)), key=lambda token: -values[token][0])[:count]
    assert best_first(scores, compare, count) == expected


@pytest.mark.parametrize("u", [-0.5, 1.0, inf, float("nan"), True, "0", None])
def test_a_number_outside_is_an_error(u: Any) -> None:
    sentence = re.escape("uniforms[1] must be in [0, 1), got ")
    for draw in (gumbel_max, exponential_race):
        with pytest.raises(RandomNumberError, match=rf"^{sentence}"):
            draw([1.0, 1.0], [0.5, u])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_number_for_each_token_is_needed_no_fewer_no_more(count: int) -> None:
    for draw in (gumbel_max, exponential_race):
        with pytest.raises(RandomNumberError, match=r"^uniforms must hold 2 numbers, one for each"):
            draw([1.0, 1.0], [0.5] * count)


@pytest.mark.parametrize("count", [0, -1, 2, 1.0, True, "1"])
def test_no_more_tokens_arrive_than_are_possible(count: Any) -> None:
    with pytest.raises(ParameterError, match=r"^count must be "):
        gumbel_top([0.0, -inf], count, [0.5, 0.5])
    with pytest.raises(ParameterError, match=r"^count must be "):
        exponential_race_order([1.0, 0.0], count, [0.5, 0.5])


def test_wrong_rows_names_and_factors_are_errors() -> None:
    wrong: Any = "u"
    with pytest.raises(RowError, match="must leave a token possible"):
        gumbel_max([-inf], [0.5])
    with pytest.raises(RowError, match="must leave a token possible"):
        exponential_race([0.0], [0.5])
    with pytest.raises(ParameterError, match=r"^noise must be one of -log u, -log\(1-u\), got 'u'"):
        gumbel_max([0.0], [0.5], noise=wrong)
    with pytest.raises(ParameterError, match=r"^noise must be one of"):
        exponential_race([1.0], [0.5], noise=wrong)
    for factor in (0, -1.0, inf, float("nan"), True, wrong):
        with pytest.raises(ParameterError, match=r"^factor must be a finite number above 0, got "):
            gumbel_max([0.0], [0.5], factor=factor)


def test_rows_of_any_exact_size_are_compared() -> None:
    huge = Fraction(10**400)
    assert gumbel_max([huge, huge + 1], [0.5, 0.5]) == 1
    assert gumbel_max([-huge, huge, -inf], [0.9, 0.1, 0.5]) == 1
    assert exponential_race([10**400, 1], [0.5, 0.5]) == 0
