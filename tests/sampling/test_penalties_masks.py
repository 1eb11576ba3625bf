"""Masks, forced tokens and the penalties on ends: when they act and on what."""

from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.cases.sampling.row_draft import row_request
from sampling_ref import RowError, SamplingError
from sampling_ref.steps.allowed_tokens import allowed_tokens
from sampling_ref.steps.begin_suppress import begin_suppress
from sampling_ref.steps.encoder_repetition import encoder_repetition
from sampling_ref.steps.exponential_decay_length import exponential_decay_length
from sampling_ref.steps.forced_bos import forced_bos
from sampling_ref.steps.forced_eos import forced_eos
from sampling_ref.steps.logit_bias import logit_bias
from sampling_ref.steps.min_length import min_length
from sampling_ref.steps.min_new_tokens import min_new_tokens
from sampling_ref.steps.prefix_allowed_tokens import prefix_allowed_tokens
from sampling_ref.steps.remove_invalid_values import LARGEST_BINARY32, remove_invalid_values
from sampling_ref.steps.repetition_penalty import repetition_penalty
from sampling_ref.steps.suppress import suppress
from sampling_ref.steps.token_mask import token_mask
from tests.sampling.rows import rows
from tests.texts import drawn
from tokenref.answers import Refused
from tokenref.engines.reference_samplers import SamplerSession

ROW = [1.0, -2.0, 0.5]
LENGTHS = st.integers(0, 5)


@drawn(50)
@given(rows(most=6), st.sets(st.integers(0, 5)))
def test_what_is_suppressed_and_what_is_allowed_are_opposites(
    row: list[float], tokens: set[int]
) -> None:
    tokens = {token for token in tokens if token < len(row)}
    others = set(range(len(row))) - tokens
    kept = [logit if token in others else -inf for token, logit in enumerate(row)]
    assert suppress(row, [], tokens) == kept
    if others:
        assert allowed_tokens(row, [], others) == kept


def test_an_allowed_token_that_was_impossible_stays_impossible() -> None:
    assert allowed_tokens([-inf, 1.0], [], [0]) == [-inf, -inf]


@drawn(60)
@given(LENGTHS, LENGTHS)
def test_at_the_beginning_means_at_exactly_that_length(length: int, begin: int) -> None:
    row = begin_suppress(ROW, [0] * length, [2], begin)
    assert row == ([1.0, -2.0, -inf] if length == begin else ROW)


@drawn(60)
@given(LENGTHS, LENGTHS, LENGTHS)
def test_no_end_before_the_least_length(length: int, least: int, prompt: int) -> None:
    prompt = min(prompt, length)
    without = [-inf, -2.0, -inf]
    history = [1] * length
    assert min_length(ROW, history, least, [0, 2]) == (without if length < least else ROW)
    row = min_new_tokens(ROW, history, least, [0, 2], prompt_length=prompt)
    assert row == (without if length - prompt < least else ROW)


@drawn(60)
@given(LENGTHS, st.integers(0, 6))
def test_the_last_place_is_left_to_the_ends(length: int, most: int) -> None:
    row = forced_eos(ROW, [1] * length, most, [1, 2])
    assert row == ([-inf, 0.0, 0.0] if length + 1 == most else ROW)


def test_the_second_token_is_forced() -> None:
    assert forced_bos(ROW, [], 2) == ROW
    assert forced_bos(ROW, [0], 2) == [-inf, -inf, 0.0]
    assert forced_bos(ROW, [0, 0], 2) == ROW


def test_forced_tokens_become_possible() -> None:
    assert forced_bos([1.0, -inf], [0], 1) == [-inf, 0.0]
    assert forced_eos([1.0, -inf], [0], 2, 1) == [-inf, 0.0]


def test_without_ends_the_last_place_has_no_token() -> None:
    assert forced_eos(ROW, [0], 2, []) == [-inf] * 3


@drawn(50)
@given(
    st.fractions(-4, 4, max_denominator=8),
    st.integers(0, 8),
    st.integers(0, 4),
    st.integers(0, 4),
    st.fractions(Fraction(1, 4), 3, max_denominator=8),
)
def test_the_end_grows_exponentially_with_the_length(
    logit: Fraction, length: int, prompt: int, start: int, factor: Fraction
) -> None:
    prompt = min(prompt, length)
    beyond = length - prompt - start
    row = [Fraction(1), logit]
    after = exponential_decay_length(row, [0] * length, start, factor, 1, prompt_length=prompt)
    expected = logit + abs(logit) * (factor**beyond - 1) if beyond > 0 else logit
    assert after == [1, expected]
    if factor >= 1:
        assert after[1] >= logit


def test_an_end_of_logit_zero_never_grows() -> None:
    assert exponential_decay_length([0.0, 1.0], [1] * 9, 1, 2.0, 0) == [0.0, 1.0]


def test_an_impossible_end_stays_impossible() -> None:
    assert exponential_decay_length([-inf, 1.0], [1] * 9, 1, 2.0, 0) == [-inf, 1.0]


@drawn(50)
@given(
    rows(most=6),
    st.lists(st.integers(0, 5), max_size=8),
    st.fractions(Fraction(1, 4), 4, max_denominator=8),
)
def test_the_encoder_penalty_is_the_inverse_of_repetition(
    row: list[float], given_text: list[int], penalty: Fraction
) -> None:
    text = [token for token in given_text if token < len(row)]
    exact = [logit if logit == -inf else Fraction(logit) for logit in row]
    assert encoder_repetition(exact, [0], penalty, text) == repetition_penalty(
        exact, text, 1 / penalty
    )


def test_the_encoder_penalty_divides_by_the_rounded_reciprocal() -> None:
    assert encoder_repetition([1.0, -1.0], [], 49.0, [0, 1]) == [1 / (1 / 49.0), -(1 / 49.0)]
    assert 1 / (1 / 49.0) != 49.0


@drawn(50)
@given(rows(most=6), st.dictionaries(st.integers(0, 5), st.integers(-200, 200)))
def test_biases_are_added(row: list[float], biases: dict[int, int]) -> None:
    biases = {token: bias for token, bias in biases.items() if token < len(row)}
    expected = [logit + biases.get(token, 0) for token, logit in enumerate(row)]
    assert logit_bias(row, [], biases) == expected
    clamped = [logit + max(-100, min(100, biases.get(token, 0))) for token, logit in enumerate(row)]
    assert logit_bias(row, [], biases, limit=100) == clamped


def test_no_bias_makes_an_impossible_token_possible() -> None:
    assert logit_bias([-inf, 1.0], [], {0: 100.0, 1: -inf}) == [-inf, -inf]


def test_a_bias_of_minus_infinity_is_clamped_too() -> None:
    assert logit_bias([1.0], [], {0: -inf}, limit=100) == [-99.0]


def test_a_function_says_what_may_follow() -> None:
    def next_one(history: list[int]) -> list[int]:
        history.append(7)  # it is its own list
        return [history[0] + 1]

    past = [1]
    assert prefix_allowed_tokens(ROW, past, next_one) == [-inf, -inf, 0.5]
    assert past == [1]


def test_if_nothing_allowed_is_possible_the_allowed_are_forced() -> None:
    row = [1.0, -inf, -inf]
    assert prefix_allowed_tokens(row, [], lambda _: [1, 2]) == [-inf, 0.0, 0.0]
    assert prefix_allowed_tokens(row, [], lambda _: [1, 2], when_none="leave") == [-inf] * 3
    assert prefix_allowed_tokens(row, [], lambda _: [0, 1]) == [1.0, -inf, -inf]


def test_invalid_numbers_are_replaced() -> None:
    assert remove_invalid_values([nan, inf, -inf, 1.5], []) == [
        0.0,
        LARGEST_BINARY32,
        -LARGEST_BINARY32,
        1.5,
    ]
    assert remove_invalid_values([-inf, -inf], [], largest=8) == [-8, -8]


# ---- token masks


@drawn(120)
@given(st.data())
def test_words_booleans_and_ids_say_the_same_and_padding_is_never_kept(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 70))
    size = data.draw(st.integers(1, length))
    row = data.draw(
        st.lists(st.sampled_from([0.5, -0.0, -inf, 3.0]), min_size=length, max_size=length)
    )
    allowed = data.draw(st.sets(st.integers(0, size - 1)))
    beyond = data.draw(st.sets(st.integers(size, size + 31)))  # bits that belong to no token
    count = data.draw(st.integers(-(-size // 32), -(-length // 32)))
    low, high = [0] * count, [0] * count
    for token in allowed | {token for token in beyond if token < 32 * count}:
        low[token // 32] |= 1 << token % 32
        high[token // 32] |= 1 << 31 - token % 32
    forms: list[dict[str, Any]] = [
        {"words": low},
        {"words": high, "bits": "high first"},
        {"words": {place: word for place, word in enumerate(low) if word}},
        {"booleans": [token in allowed for token in range(size)]},
        {"booleans": dict.fromkeys(allowed, True)},
        {"tokens": allowed},
    ]
    expected = [logit if token in allowed else -inf for token, logit in enumerate(row)]
    for form in forms:
        if max(expected) == -inf:
            with pytest.raises(RowError, match=r"^the mask leaves no token of the row possible$"):
                token_mask(row, [], **form, vocab_size=size)
        else:
            masked = token_mask(row, [], **form, vocab_size=size)
            assert list(map(repr, masked)) == list(map(repr, expected))  # with signs of zeros


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"words": []}, "len(words) must be 1 for this row, got 0"),
        ({"words": [0, 0, 0]}, "len(words) must be 1 for this row, got 3"),
        ({"words": [2**32]}, "words[0] must be a word of 32 bits, got 4294967296"),
        ({"words": [1.0]}, "words[0] must be a word of 32 bits, got 1.0"),
        ({"words": {1: 1}}, "a place in words must be from 0 to 0, got 1"),
        ({"words": "1"}, "words must be a list, or a map from places to values, got '1'"),
        ({"booleans": [True]}, "len(booleans) must be 3 for this row, got 1"),
        ({"booleans": [True], "vocab_size": 2}, "must be from 2 to 3 for this row, got 1"),
        ({"booleans": [True, 1, True]}, "booleans[1] must be true or false, got 1"),
        ({"tokens": [3]}, "tokens[0] must be a token id below 3, got 3"),
        ({"tokens": [2], "vocab_size": 2}, "tokens[0] must be a token id below 2, got 2"),
        ({"words": [1], "tokens": [0]}, "tokens must not be given beside words, got [0]"),
        ({"bits": "little"}, "bits must be one of low first, high first, got 'little'"),
        ({"vocab_size": 4}, "vocab_size must be a whole number from 1 to 3, got 4"),
    ],
)  # fmt: skip
def test_a_mask_that_does_not_fit_is_one_sentence(given: dict[str, Any], says: str) -> None:
    with pytest.raises(SamplingError) as raised:
        token_mask(ROW, [], **given)
    assert says in str(raised.value)


def test_masks_of_numpy_are_read_as_lists() -> None:
    words: Any = np.array([5], np.uint32)
    booleans: Any = np.array([True, False, True])
    assert token_mask(ROW, [], words) == token_mask(ROW, [], booleans=booleans) == [1.0, -inf, 0.5]


def test_the_refusal_of_a_batch_names_the_row() -> None:
    rows = [row_request(ROW, **params) for params in ({"words": [1]}, {}, {"words": [8]})]
    answer = SamplerSession("standard").answer("batch", {"op": "token_mask", "rows": rows})
    says = "row 2: the mask leaves no token of the row possible"
    assert answer == Refused("INVALID_ROW", says)
