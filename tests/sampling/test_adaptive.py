"""Adaptive samplers: the state goes in, the kept tokens and the next state come out."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, isclose, log, log2
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RandomNumberError, RowError
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.softmax import softmax
from sampling_ref.steps.adaptive_p import (
    PastProbabilities,
    adaptive_p_aim,
    adaptive_p_next,
    adaptive_p_start,
)
from sampling_ref.steps.mirostat import Whose
from sampling_ref.steps.mirostat_1 import _whole_part
from tests.sampling.filtering import DIGITS, NO_NUMBERS, top_k_logits, weights_of
from tests.sampling.rows import rows, uniforms
from tests.sampling.steering import (
    adaptive_p_logits,
    draw_falling,
    mirostat_1_kept,
    mirostat_2_kept,
    next_mu,
    step_of_mirostat_1,
    step_of_mirostat_2,
    surprise,
)
from tests.sampling.test_eta import decimal
from tests.texts import drawn

MUS = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0, 10.0]) | st.floats(-2, 30)


def possible(row: list[float]) -> list[int]:
    return [token for token, logit in enumerate(row) if logit > -inf]


# ------------------------------------------------------------------------ mirostat 2


@drawn(100)
@given(rows(), MUS, st.sampled_from([1.0, 0.5]))
def test_mirostat_2_keeps_what_is_not_more_surprising_than_mu(
    row: list[float], mu: float, factor: float
) -> None:
    weights = weights_of(row, factor)
    kept = mirostat_2_kept(row, mu, factor=factor)
    assert kept
    with localcontext(DIGITS):
        share = Decimal(2) ** -Decimal(mu) * decimal(sum(weights, start=Fraction(0)))
    distances = {token: decimal(weights[token]) - share for token in possible(row)}
    assume(all(abs(distance) > share * Decimal("1e-20") for distance in distances.values()))
    expected = {token for token, distance in distances.items() if distance > 0}
    assert kept == (expected or top_k_logits(row, 1))


@drawn(40)
@given(rows(), MUS, MUS)
def test_a_larger_mu_keeps_more(row: list[float], mu: float, more: float) -> None:
    assert mirostat_2_kept(row, min(mu, more)) <= mirostat_2_kept(row, max(mu, more))


@pytest.mark.parametrize("count", [1, 2, 4, 64])
def test_equal_tokens_are_kept_up_to_their_surprise(count: int) -> None:
    row = [0.5, *[0.5] * (count - 1), -inf]
    assert mirostat_2_kept(row, log2(count)) == set(range(count))
    assert mirostat_2_kept(row, log2(count) - 2.0**-40) == {0}


def test_logits_apart_by_a_bit() -> None:
    row = [0.0, -log(2), -log(2) * 2, -log(2) * 3]  # 0.907, 1.907, 2.907 and 3.907 bits
    assert [len(mirostat_2_kept(row, mu)) for mu in (0.5, 1.5, 2.0, 3.0, 4.0)] == [1, 1, 2, 3, 4]


def test_if_every_token_is_too_surprising_the_best_one_stays() -> None:
    assert mirostat_2_kept([0.0, 1.0, 1.0], 0.5) == {1}


def test_three_steps_of_mirostat_2() -> None:
    """Eight equal tokens: each has 3 bits; so has the one drawn, in the whole row."""
    row = [0.0] * 8
    token, mu = step_of_mirostat_2(row, 4.0, tau=2.0, eta=0.5, uniform=0.3125)
    assert (token, mu) == (2, 3.5)
    token, mu = step_of_mirostat_2(row, mu, tau=2.0, eta=0.5, uniform=0.0)
    assert (token, mu) == (0, 3.0)
    token, mu = step_of_mirostat_2(row, mu, tau=2.0, eta=0.5, uniform=1 - 2.0**-53)
    assert (token, mu) == (7, 2.5)
    assert step_of_mirostat_2(row, mu, tau=2.0, eta=0.5, uniform=0.75) == (0, 2.0)  # one is left
    assert step_of_mirostat_2(row, mu, tau=2.0, eta=0.5, uniform=0.75, whose="kept") == (0, 3.5)


@drawn(40)
@given(rows(), MUS, uniforms(), st.sampled_from(["whole", "kept"]), st.sampled_from([1.0, 0.5]))
def test_a_step_of_mirostat_2_in_floats(
    row: list[float], mu: float, uniform: float, whose: Whose, factor: float
) -> None:
    token, after = step_of_mirostat_2(
        row, mu, tau=3.0, eta=0.25, uniform=uniform, whose=whose, factor=factor
    )
    kept = mirostat_2_kept(row, mu, factor=factor)
    assert token == draw_falling(row, kept, uniform, factor=factor)
    among = kept if whose == "kept" else possible(row)
    total = sum(exp((row[other] - row[token]) * factor) for other in among)
    assert isclose(after, mu - 0.25 * (log2(total) - 3.0), abs_tol=1e-9)


# ------------------------------------------------------------------------ mirostat 1


def k_in_floats(row: list[float], mu: float, ranks: int, size: int) -> float:
    best = sorted((x for x in row if x > -inf), reverse=True)[:ranks]
    expected = [log((rank + 2) / (rank + 1)) for rank in range(len(best) - 1)]
    steps = [one - two for one, two in pairwise(best)]
    exponent = sum(t * b for t, b in zip(expected, steps, strict=True))
    exponent /= sum(t * t for t in expected)
    excess = exponent - 1
    return float((excess * 2**mu / (1 - size ** (-excess))) ** (1 / exponent))


@drawn(40)
@given(rows(), st.floats(-2, 12), st.sampled_from([2, 3, 100]), st.sampled_from([0, 5, 1000]))
def test_mirostat_1_keeps_as_many_tokens_as_the_printed_formula_says(
    row: list[float], mu: float, ranks: int, more: int
) -> None:
    best = sorted((x for x in row if x > -inf), reverse=True)[:ranks]
    assume(len(best) > 1 and best[0] - best[-1] > 0.25)
    size = len(row) + more
    k = k_in_floats(row, mu, ranks, size)
    assume(abs(k - round(k)) > 1e-6 or k > 50)
    assume(abs(k - round(k + 0.5) + 0.5) > 1e-6)
    count = max(int(min(k, 99)), 1)
    assert mirostat_1_kept(row, mu, ranks=ranks, size=size) == top_k_logits(row, count)
    count = round(min(k, 99)) + 1
    kept = mirostat_1_kept(row, mu, ranks=ranks, size=size, whole="nearest and one")
    assert kept == top_k_logits(row, count)


def test_a_k_just_below_a_whole_number_is_not_rounded_up() -> None:
    nearly_three = Real(3 - Fraction(1, 2**60))
    assert float(nearly_three) == 3.0
    assert _whole_part(nearly_three.log(), 10, "floor") == 2
    assert _whole_part((nearly_three - Fraction(1, 2)).log(), 10, "nearest and one") == 3
    assert _whole_part((nearly_three + Fraction(1, 2**59)).log(), 10, "floor") == 3


def test_a_single_candidate_is_kept_by_mirostat_1() -> None:
    assert mirostat_1_kept([-inf, 0.5], -5.0, flat="limit") == {1}
    assert mirostat_1_kept([-inf, 0.5], -5.0, flat="one") == {1}
    assert mirostat_1_kept([0.5], 3.0) == {0}


def test_equal_candidates_have_no_exponent() -> None:
    row = [0.5] * 9  # N - 1 is 8, 2**3
    assert mirostat_1_kept(row, 3.5) == set(range(9))
    assert mirostat_1_kept(row, 2.5) == {0}
    assert mirostat_1_kept(row, 3.0) == {0}
    assert mirostat_1_kept(row, 3.0, whole="nearest and one") == {0, 1}
    assert mirostat_1_kept(row, 2.5, whole="nearest and one") == {0}
    assert mirostat_1_kept(row, -9.0) == {0}
    assert mirostat_1_kept(row, 3.5, flat="one") == {0}
    assert mirostat_1_kept(row, 3.5, size=20) == {0}
    assert mirostat_1_kept([*row, -5.0], 9.0, ranks=9) == set(range(10))


def test_the_limit_is_where_nearly_equal_candidates_tend_to() -> None:
    nearly = [0.5 - 2.0**-60 * token for token in range(9)]
    assert mirostat_1_kept(nearly, 3.5) == set(range(9))
    assert mirostat_1_kept(nearly, 2.5) == {0}


def test_logits_far_apart_are_no_trouble() -> None:
    assert mirostat_1_kept([1e308, -1e308, 0.0], 4.0) == {0}
    assert mirostat_1_kept([1e-300, 0.0, 0.0], 0.5) == {0}


@drawn(40)
@given(rows(), st.sampled_from([2.0, 5.5]), uniforms(), st.sampled_from(["whole", "kept"]))
def test_a_step_of_mirostat_1_in_floats(
    row: list[float], mu: float, uniform: float, whose: Whose
) -> None:
    token, after = step_of_mirostat_1(row, mu, tau=3.0, eta=0.25, uniform=uniform, whose=whose)
    kept = mirostat_1_kept(row, mu)
    assert token == draw_falling(row, kept, uniform)
    among = kept if whose == "kept" else possible(row)
    total = sum(exp(row[other] - row[token]) for other in among)
    assert isclose(after, mu - 0.25 * (log2(total) - 3.0), abs_tol=1e-9)


# ------------------------------------------------------------------------- steering


@drawn(40)
@given(rows(), uniforms())
def test_a_draw_is_the_first_to_reach_the_random_number(row: list[float], uniform: float) -> None:
    kept = top_k_logits(row, 3)
    weights = weights_of(row)
    total = sum(weights[token] for token in kept)
    running = Fraction(0)
    for token in sorted(kept, key=lambda token: (-row[token], token)):
        running += weights[token]
        if running >= Fraction(uniform) * total:
            assert draw_falling(row, kept, uniform) == token
            break


@drawn(40)
@given(rows())
def test_a_surprise_is_a_binary_logarithm(row: list[float]) -> None:
    tokens = possible(row)
    for token in tokens:
        total = sum(exp(row[other] - row[token]) for other in tokens)
        found = surprise(row, token)
        assert isclose(found, log2(total), abs_tol=1e-12)
        assert found >= 0


def test_mu_stays_a_fraction_if_the_surprise_is_whole() -> None:
    mu = next_mu([0.0, 0.0], {0, 1}, 0, Fraction(5, 3), tau=Fraction(1, 3), eta=Fraction(1, 2))
    assert mu == float(Fraction(5, 3)) - 0.5 * (1.0 - float(Fraction(1, 3)))


# ------------------------------------------------------------------------ adaptive-p


@drawn(40)
@given(rows(), st.floats(0, 1), st.floats(0, 1), st.floats(0.5, 9))
def test_the_new_logits_follow_the_printed_formula(
    row: list[float], target: float, mean: float, count: float
) -> None:
    past = PastProbabilities(mean * count, count)
    aim = min(max(2 * target - past.weighted_sum / count, 0.0), 1.0)
    assert adaptive_p_aim(past, target) == aim
    changed = adaptive_p_logits(row, past, target)
    for logit, probability, new in zip(row, softmax(row), changed, strict=True):
        if logit == -inf:
            assert new == -inf
        else:
            far = abs(probability - aim) / 0.3
            assert isclose(new, 5 - 10 * far**2 / (1 + far), abs_tol=1e-12)


@drawn(40)
@given(rows(), st.floats(0, 1))
def test_the_token_nearest_to_the_aim_becomes_the_likeliest(
    row: list[float], target: float
) -> None:
    past = adaptive_p_start(target, 0.5)
    aim = adaptive_p_aim(past, target)
    changed = adaptive_p_logits(row, past, target)
    nearest = min(abs(softmax(row)[token] - aim) for token in possible(row))
    best = max(possible(row), key=changed.__getitem__)
    # Near the peak the new logits are flat: floats tell no smaller distances apart.
    assert isclose(abs(softmax(row)[best] - aim), nearest, abs_tol=1e-7)


def test_the_state_of_adaptive_p() -> None:
    past = adaptive_p_start(target=0.5, decay=0.5)
    assert past == PastProbabilities(1.0, 2.0)
    assert adaptive_p_aim(past, 0.5) == 0.5
    past = adaptive_p_next(past, probability=1.0, decay=0.5)
    assert past == PastProbabilities(1.5, 2.0)
    assert adaptive_p_aim(past, 0.5) == 0.25  # too likely a token, so now a less likely one
    assert adaptive_p_aim(adaptive_p_next(past, 1.0, 0.0), 0.25) == 0
    assert adaptive_p_aim(PastProbabilities(0.0, 0.0), 0.5) == 0.5
    assert adaptive_p_start(0.5, 0) == PastProbabilities(0.5, 1.0)


def test_adaptive_p_begins_where_it_aims_at_the_target() -> None:
    for decay in (0.0, 0.5, 0.75):
        assert adaptive_p_aim(adaptive_p_start(0.25, decay), 0.25) == 0.25


# ---------------------------------------------------------------------------- errors


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_numbers_that_are_none_are_errors(number: Any) -> None:
    row, past = [0.5, 0.25], PastProbabilities(1.0, 2.0)
    given = "" if number is None else number  # None stands for twice tau
    calls = [
        ("mu", lambda: mirostat_1_kept(row, given)),
        ("mu", lambda: mirostat_2_kept(row, given)),
        ("tau", lambda: step_of_mirostat_1(row, 1.0, tau=number, eta=0.5, uniform=0.5)),
        ("tau", lambda: step_of_mirostat_2(row, 1.0, tau=number, eta=0.5, uniform=0.5)),
        ("eta", lambda: step_of_mirostat_1(row, 1.0, tau=1.0, eta=number, uniform=0.5)),
        ("eta", lambda: step_of_mirostat_2(row, 1.0, tau=1.0, eta=number, uniform=0.5)),
        ("factor", lambda: mirostat_1_kept(row, 1.0, factor=number)),
        ("factor", lambda: mirostat_2_kept(row, 1.0, factor=number)),
        ("target", lambda: adaptive_p_logits(row, past, number)),
        ("target", lambda: adaptive_p_start(number, 0.5)),
        ("decay", lambda: adaptive_p_start(0.5, number)),
        ("decay", lambda: adaptive_p_next(past, 0.5, number)),
        ("probability", lambda: adaptive_p_next(past, number, 0.5)),
        ("total_weight", lambda: adaptive_p_aim(PastProbabilities(1.0, number), 0.5)),
        ("weighted_sum", lambda: adaptive_p_aim(PastProbabilities(number, 1.0), 0.5)),
    ]
    for name, call in calls:
        with pytest.raises(ParameterError, match=f"^{name} must be "):
            call()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("uniform", [*NO_NUMBERS, -0.5, 1.0])
def test_a_uniform_number_outside_its_domain_is_an_error(uniform: Any) -> None:
    with pytest.raises(RandomNumberError, match=r"^u must be in \[0, 1\), got "):
        step_of_mirostat_1([0.5, 0.25], 1.0, tau=1.0, eta=0.5, uniform=uniform)
    with pytest.raises(RandomNumberError, match=r"^u must be in \[0, 1\), got "):
        step_of_mirostat_2([0.5, 0.25], 1.0, tau=1.0, eta=0.5, uniform=uniform)


def test_other_parameters_outside_their_domains_are_errors() -> None:
    row = [0.5, 0.25]
    for name, value in (("ranks", 1), ("size", 1), ("whole", "k"), ("flat", "k")):
        wrong: dict[str, Any] = {name: value}
        with pytest.raises(ParameterError, match=f"^{name} must be "):
            mirostat_1_kept(row, 1.0, **wrong)
    whose: Any = "mine"
    with pytest.raises(ParameterError, match=r"^whose must be one of "):
        step_of_mirostat_2(row, 1.0, tau=1.0, eta=0.5, uniform=0.5, whose=whose)
    for decay in (-0.5, 1.0):
        with pytest.raises(ParameterError, match=r"^decay must be in \[0, 1\), got "):
            adaptive_p_start(0.5, decay)
    for target in (-0.5, 1.5):
        with pytest.raises(ParameterError, match=r"^target must be in \[0, 1\], got "):
            adaptive_p_start(target, 0.5)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    for call in (mirostat_1_kept, mirostat_2_kept):
        with pytest.raises(RowError):
            call([-inf], 1.0)
    with pytest.raises(RowError):
        adaptive_p_logits([-inf], PastProbabilities(1.0, 2.0), 0.5)
