"""Penalties that count: which tokens they lower, by how much, and what they leave alone.

Rows and parameters are rational numbers here, so that every claim is about equality. What
floats and 32-bit floats make of it is claimed against engines.
"""

from fractions import Fraction
from math import copysign, inf, nan
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError
from sampling_ref.evaluation import explain, step
from sampling_ref.numbers.binary32 import Binary32
from sampling_ref.parameters import Scope
from sampling_ref.row import Number
from sampling_ref.steps.decaying_penalties import decaying_penalties
from sampling_ref.steps.frequency_penalty import frequency_penalty
from sampling_ref.steps.penalties import penalties
from sampling_ref.steps.presence_penalty import presence_penalty
from sampling_ref.steps.repetition_penalty import repetition_penalty
from tests.sampling.rows import rows
from tests.texts import drawn

POSITIVE = st.fractions(Fraction(1, 8), 4, max_denominator=16)
ANY = st.fractions(-3, 3, max_denominator=16)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Number], list[int], int]:
    """Draw a row of rational numbers, a history over it, and the length of the prompt."""
    row: list[Number] = [
        logit if logit == -inf else Fraction(logit) for logit in draw(rows(most=6))
    ]
    history = draw(st.lists(st.integers(0, len(row) - 1), max_size=12))
    return row, history, draw(st.integers(0, len(history)))


def changed_places(before: list[Number], after: list[Number]) -> set[int]:
    return {token for token in range(len(before)) if before[token] != after[token]}


@drawn(50)
@given(cases(), POSITIVE)
def test_repetition_divides_the_positive_and_multiplies_the_negative(
    case: tuple[list[Number], list[int], int], penalty: Fraction
) -> None:
    row, history, _ = case
    for token, (before, after) in enumerate(
        zip(row, repetition_penalty(row, history, penalty), strict=True)
    ):
        if token not in history or before == -inf:
            assert after == before
        else:
            assert after == (before * penalty if before < 0 else before / penalty)


@drawn(50)
@given(cases(), st.fractions(1, 4, max_denominator=16))
def test_a_repetition_penalty_of_at_least_one_raises_nothing(
    case: tuple[list[Number], list[int], int], penalty: Fraction
) -> None:
    row, history, _ = case
    assert all(
        after <= before
        for before, after in zip(row, repetition_penalty(row, history, penalty), strict=True)
    )


def test_dividing_a_negative_logit_makes_a_repeat_likelier() -> None:
    assert repetition_penalty([-2.0, 0.0], [0], 2.0, method="divide") == [-1.0, 0.0]
    assert repetition_penalty([-2.0, 0.0], [0], 2.0) == [-4.0, 0.0]


def test_a_number_added_to_all_logits_changes_what_a_repetition_penalty_does() -> None:
    lowered = repetition_penalty([2.0, 1.0], [0], 2.0)
    assert lowered[0] - lowered[1] == 0.0
    lowered = repetition_penalty([12.0, 11.0], [0], 2.0)
    assert lowered[0] - lowered[1] == -5.0


@pytest.mark.parametrize("method", ["by sign", "divide"])
@pytest.mark.parametrize("penalty", [0.5, 1.0, 3.0])
def test_zero_stays_zero_with_its_sign(method: str, penalty: float) -> None:
    row = repetition_penalty([0.0, -0.0], [0, 1], penalty, method=method)  # type: ignore[arg-type]
    assert [copysign(1.0, logit) for logit in row] == [1.0, -1.0]


@drawn(50)
@given(cases(), ANY)
def test_subtraction_needs_no_sign(
    case: tuple[list[Number], list[int], int], penalty: Fraction
) -> None:
    row, history, _ = case
    lowered = repetition_penalty(row, history, penalty, method="subtract")
    assert lowered == presence_penalty(row, history, penalty)
    assert lowered == [
        logit if logit == -inf else logit - penalty * (token in history)
        for token, logit in enumerate(row)
    ]


@drawn(50)
@given(cases(), POSITIVE, st.sampled_from(["by sign", "divide"]))
def test_each_occurrence_compounds(
    case: tuple[list[Number], list[int], int], penalty: Fraction, method: str
) -> None:
    row, history, _ = case
    together = repetition_penalty(row, history, penalty, counting="each occurrence", method=method)  # type: ignore[arg-type]
    one_by_one = row
    for token in history:
        one_by_one = repetition_penalty(one_by_one, [token], penalty, method=method)  # type: ignore[arg-type]
    assert together == one_by_one


def test_each_occurrence_rounds_after_every_division() -> None:
    row = repetition_penalty([1.0], [0, 0, 0], 3.0, counting="each occurrence")
    assert row == [1.0 / 3.0 / 3.0 / 3.0]
    assert 1.0 / 1.2 / 1.2 != 1.0 / 1.2**2  # why it matters
    assert repetition_penalty([1.0], [0, 0], 1.2, counting="each occurrence") == [1.0 / 1.2 / 1.2]


def test_distinct_tokens_count_once() -> None:
    assert repetition_penalty([8.0, 8.0], [0, 0, 0], 2.0) == [4.0, 8.0]


def test_the_reciprocal_is_rounded_before_the_multiplication() -> None:
    ten, three = Binary32(10.0), Binary32(3.0)
    divided = repetition_penalty([ten], [0], three)
    multiplied = repetition_penalty([ten], [0], three, arithmetic="reciprocal")
    assert divided == [ten / three]
    assert multiplied == [ten * (1 / three)]
    assert divided != multiplied
    assert repetition_penalty([-ten], [0], three, arithmetic="reciprocal") == [-ten * three]


@drawn(50)
@given(cases(), POSITIVE)
def test_over_rationals_the_reciprocal_is_the_division(
    case: tuple[list[Number], list[int], int], penalty: Fraction
) -> None:
    row, history, _ = case
    assert repetition_penalty(row, history, penalty) == repetition_penalty(
        row, history, penalty, arithmetic="reciprocal"
    )


@drawn(50)
@given(cases(), st.integers(0, 14))
def test_a_window_sees_the_last_tokens_only(
    case: tuple[list[Number], list[int], int], window: int
) -> None:
    row, history, _ = case
    last = history[len(history) - window :] if window < len(history) else history
    assert repetition_penalty(row, history, 2, window=window) == repetition_penalty(row, last, 2)
    assert frequency_penalty(row, history, 1, window=window) == frequency_penalty(row, last, 1)
    assert presence_penalty(row, history, 1, window=window) == presence_penalty(row, last, 1)
    assert penalties(row, history, 2, 1, 3, window=window) == penalties(
        row, last, 2, 1, 3, window=None
    )


def test_the_window_ends_exactly_n_tokens_back() -> None:
    assert presence_penalty([0.0, 0.0], [0, 1, 1], 1.0, window=3) == [-1.0, -1.0]
    assert presence_penalty([0.0, 0.0], [0, 1, 1], 1.0, window=2) == [0.0, -1.0]
    assert presence_penalty([0.0, 0.0], [0, 1, 1], 1.0, window=0) == [0.0, 0.0]


@drawn(50)
@given(cases())
def test_scopes_split_the_history_at_the_prompt(case: tuple[list[Number], list[int], int]) -> None:
    row, history, length = case
    for penalty in (repetition_penalty, frequency_penalty, presence_penalty):
        prompt = penalty(row, history, 2, scope="prompt", prompt_length=length)
        output = penalty(row, history, 2, scope="output", prompt_length=length)
        assert prompt == penalty(row, history[:length], 2, scope="all")
        assert output == penalty(row, history[length:], 2, scope="all")


def test_repetition_counts_the_prompt_and_the_additive_penalties_do_not() -> None:
    assert repetition_penalty([4.0, 4.0], [0, 1], 2.0, prompt_length=1) == [2.0, 2.0]
    assert frequency_penalty([4.0, 4.0], [0, 1], 2.0, prompt_length=1) == [4.0, 2.0]
    assert presence_penalty([4.0, 4.0], [0, 1], 2.0, prompt_length=1) == [4.0, 2.0]


@drawn(50)
@given(cases(), st.integers(0, 14))
def test_skipped_tokens_are_as_if_they_had_never_been(
    case: tuple[list[Number], list[int], int], skipped: int
) -> None:
    row, history, length = case
    for scope in get_args(Scope):
        without = repetition_penalty(
            row, history, 2, scope=scope, prompt_length=length, skipped=skipped
        )
        assert without == repetition_penalty(
            row, history[skipped:], 2, scope=scope, prompt_length=max(0, length - skipped)
        )


def test_the_window_is_taken_after_the_scope() -> None:
    row = presence_penalty(
        [0.0, 0.0, 0.0], [0, 1, 2], 1.0, scope="prompt", prompt_length=2, window=1
    )
    assert row == [0.0, -1.0, 0.0]


@drawn(50)
@given(cases(), ANY)
def test_frequency_lowers_by_the_number_of_occurrences(
    case: tuple[list[Number], list[int], int], penalty: Fraction
) -> None:
    row, history, _ = case
    expected = [
        logit if logit == -inf else logit - history.count(token) * penalty
        for token, logit in enumerate(row)
    ]
    assert frequency_penalty(row, history, penalty) == expected
    assert frequency_penalty(row, history, penalty, arithmetic="one by one") == expected


@drawn(50)
@given(cases(), POSITIVE)
def test_a_dividing_frequency_penalty_is_a_power(
    case: tuple[list[Number], list[int], int], penalty: Fraction
) -> None:
    row, history, _ = case
    expected = [
        logit if logit == -inf else logit / penalty ** history.count(token)
        for token, logit in enumerate(row)
    ]
    assert frequency_penalty(row, history, penalty, method="divide") == expected
    assert (
        frequency_penalty(row, history, penalty, method="divide", arithmetic="one by one")
        == expected
    )


def test_at_once_and_one_by_one_round_differently() -> None:
    assert frequency_penalty([1.0], [0, 0, 0], 0.1) == [1.0 - 0.1 * 3]
    assert frequency_penalty([1.0], [0, 0, 0], 0.1, arithmetic="one by one") == [
        1.0 - 0.1 - 0.1 - 0.1
    ]
    assert 1.0 - 0.1 * 3 != 1.0 - 0.1 - 0.1 - 0.1


def test_a_dividing_presence_penalty_divides_once() -> None:
    assert presence_penalty([8.0, -8.0, 8.0], [0, 1, 1, 0], 2.0, method="divide") == [
        4.0,
        -4.0,
        8.0,
    ]


BIASES = st.dictionaries(
    st.integers(0, 5), st.fractions(-100, 100, max_denominator=4) | st.integers(-100, 100)
)


@drawn(50)
@given(
    cases(), st.fractions(-2, 2, max_denominator=8), st.fractions(-2, 2, max_denominator=8), BIASES
)
def test_openai_s_formula(
    case: tuple[list[Number], list[int], int],
    per_count: Fraction,
    per_token: Fraction,
    biases: dict[int, Number],
) -> None:
    row, history, length = case
    biases = {token: bias for token, bias in biases.items() if token < len(row)}
    sampled = history[length:]
    expected = [
        logit
        if logit == -inf
        else logit
        - sampled.count(token) * per_count
        - (sampled.count(token) > 0) * per_token
        + biases.get(token, 0)
        for token, logit in enumerate(row)
    ]
    trace = explain(
        "openai",
        row,
        history,
        prompt_length=length,
        frequency_penalty=per_count,
        presence_penalty=per_token,
        logit_bias=biases,
    )
    assert (trace.steps[-1].row_after if trace.steps else row) == expected


@pytest.mark.parametrize(
    ("step_name", "value"),
    [
        *(("frequency_penalty", value) for value in (2.0 + 2.0**-51, -2.5)),
        *(("presence_penalty", value) for value in (2.0 + 2.0**-51, -2.5)),
        *(("logit_bias", {0: bias}) for bias in (100.5, -101, nan, -inf)),
    ],
)
def test_openai_s_ranges(step_name: str, value: Any) -> None:
    with pytest.raises(ParameterError):
        step("openai", step_name, [1.0], [0], **{step_name: value})


@drawn(50)
@given(cases(), POSITIVE, ANY, ANY)
def test_the_combination_is_repetition_then_the_sum_of_the_others(
    case: tuple[list[Number], list[int], int], rep: Fraction, freq: Fraction, pres: Fraction
) -> None:
    row, history, length = case
    together = penalties(row, history, rep, freq, pres, window=None)
    apart = presence_penalty(
        frequency_penalty(repetition_penalty(row, history, rep), history, freq), history, pres
    )
    assert together == apart
    last = penalties(
        row,
        history,
        rep,
        freq,
        pres,
        window=None,
        order="repetition last",
        additive_scope="output",
        prompt_length=length,
    )
    subtracted = frequency_penalty(row, history, freq, prompt_length=length)
    subtracted = presence_penalty(subtracted, history, pres, prompt_length=length)
    assert last == repetition_penalty(subtracted, history, rep)


def test_subtracting_first_can_turn_the_sign_that_decides() -> None:
    assert penalties([0.5], [0], 2.0, 1.0) == [0.25 - 1.0]
    assert penalties([0.5], [0], 2.0, 1.0, order="repetition last") == [-0.5 * 2.0]


def test_the_combination_adds_up_what_it_subtracts_before_it_subtracts() -> None:
    once = penalties([2.0], [0, 0, 0], 1.0, 0.1, 0.1)
    assert once == [2.0 - (3 * 0.1 + 0.1)]
    twice = penalties([2.0], [0, 0, 0], 1.0, 0.1, 0.1, order="repetition last")
    assert twice == [2.0 - 3 * 0.1 - 0.1]
    assert once != twice


def test_the_combination_looks_back_64_tokens() -> None:
    assert penalties([4.0, 4.0], [0] + [1] * 63, 2.0) == [2.0, 2.0]
    assert penalties([4.0, 4.0], [0] + [1] * 64, 2.0) == [4.0, 2.0]


# Values that llama.cpp's own tests publish: probabilities after penalties on five equal ones.
@pytest.mark.parametrize(
    ("history", "rep", "additive", "expected"),
    [
        ([0], 50.0, 0.0, [0.0, 0.25, 0.25, 0.25, 0.25]),
        ([0, 1, 2], 50.0, 0.0, [0.0, 0.0, 0.0, 0.5, 0.5]),
        ([0, 1, 2, 0, 0], 50.0, 0.0, [0.0, 0.0, 0.0, 0.5, 0.5]),
        ([0], 1.0, 5.0, [0.000011, 0.249997, 0.249997, 0.249997, 0.249997]),
        ([0, 1, 2], 1.0, 5.0, [0.000023, 0.000023, 0.000023, 0.499966, 0.499966]),
        ([0, 1, 2, 0, 0], 1.0, 5.0, [0.0, 0.000023, 0.000023, 0.499977, 0.499977]),
    ],
)
def test_published_values_of_the_combination(
    history: list[int], rep: float, additive: float, expected: list[float]
) -> None:
    from math import exp, log

    after = penalties([log(0.2)] * 5, history, rep, additive, additive)
    weights = [exp(logit) for logit in after]
    assert [weight / sum(weights) for weight in weights] == pytest.approx(expected, abs=1e-5)


Line = Literal["late", "early"]
Fading = Literal["penalty", "result"]
LINES: tuple[Line, ...] = get_args(Line)
FADINGS: tuple[Fading, ...] = get_args(Fading)


def strength_of(distance: int, sustain: int, decay: int, line: Line) -> Fraction:
    """Return the strength at a distance, written down a second time."""
    if distance > sustain + decay:
        return Fraction(0)
    if line == "late":
        distance -= 1
    return Fraction(1) - Fraction(max(0, distance - sustain), decay or 1)


@drawn(50)
@given(
    cases(),
    POSITIVE,
    ANY,
    ANY,
    st.tuples(st.integers(0, 6), st.integers(0, 4)),
    st.sampled_from(LINES),
    st.sampled_from(FADINGS),
)
def test_decaying_penalties_follow_the_line(
    case: tuple[list[Number], list[int], int],
    rep: Fraction,
    freq: Fraction,
    pres: Fraction,
    ranges: tuple[int, int],
    line: Line,
    fading: Fading,
) -> None:
    row, history, _ = case
    sustain, decay = ranges
    after = decaying_penalties(
        row, history, rep, freq, pres, sustain=sustain, decay=decay, line=line, fading=fading
    )
    for token, before in enumerate(row):
        distances = [len(history) - place for place, past in enumerate(history) if past == token]
        strengths = [
            strength_of(distance, sustain, decay, line)
            for distance in distances
            if distance <= sustain + decay
        ]
        if not strengths or before == -inf:
            assert after[token] == before
            continue
        newest = strengths[-1]
        divisor = 1 + (rep - 1) * newest if fading == "penalty" else rep
        expected = before / divisor if before > 0 else before * divisor
        if fading == "result":
            expected = before + (expected - before) * newest
        assert after[token] == expected - pres * newest - freq * sum(strengths)


@drawn(50)
@given(cases(), POSITIVE, ANY)
def test_without_decay_all_is_as_with_a_window(
    case: tuple[list[Number], list[int], int], rep: Fraction, pres: Fraction
) -> None:
    row, history, length = case
    plain = penalties(row, history, rep, 0, pres, window=length)
    assert decaying_penalties(row, history, rep, 0, pres, sustain=length) == plain
    assert decaying_penalties(row, history, rep, 0, pres) == penalties(
        row, history, rep, 0, pres, window=None
    )
    shorter = decaying_penalties(row, history, rep, 0, pres, sustain=length, last="excluded")
    assert shorter == penalties(row, history, rep, 0, pres, window=max(0, length - 1))


def test_the_oldest_token_is_excluded_only_without_decay() -> None:
    row, history = [4.0, 4.0], [0, 1]
    for line in LINES:
        for past in ([0, 1], [0, 1, 1], [0, 1, 1, 1]):
            full = decaying_penalties(row, past, 2.0, sustain=1, decay=2, line=line)
            assert (
                decaying_penalties(row, past, 2.0, sustain=1, decay=2, line=line, last="excluded")
                == full
            )
    assert decaying_penalties(row, history, 2.0, sustain=2, last="excluded") == [4.0, 2.0]
    assert decaying_penalties(row, history, 2.0, last="excluded") == [2.0, 2.0]
