"""Penalties that look at sequences: n-grams, repetitions, bad words, sequence biases."""

from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.steps.bad_words import bad_words
from sampling_ref.steps.dry import common_suffixes, dry, log_limit, since_breaker
from sampling_ref.steps.dry_longest import dry_longest
from sampling_ref.steps.dry_nearby import dry_nearby
from sampling_ref.steps.encoder_no_repeat_ngram import encoder_no_repeat_ngram
from sampling_ref.steps.no_repeat_ngram import no_repeat_ngram
from sampling_ref.steps.sequence_bias import sequence_bias
from tests.texts import drawn

SIZE = 4
ZEROS = [Fraction(0)] * SIZE
HISTORIES = st.lists(st.integers(0, 1), max_size=14) | st.lists(
    st.integers(0, SIZE - 1), max_size=14
)
WORDS = st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=3), max_size=4)


def banned(row: list[float | Fraction]) -> set[int]:
    return {token for token, logit in enumerate(row) if logit == -inf}


def contains(tokens: list[int], part: list[int]) -> bool:
    return any(
        tokens[place : place + len(part)] == part for place in range(len(tokens) - len(part) + 1)
    )


@drawn(50)
@given(HISTORIES, st.integers(1, 5))
def test_exactly_the_tokens_are_banned_that_would_repeat_an_n_gram(
    history: list[int], size: int
) -> None:
    last = history[len(history) - (size - 1) :]
    expected = {
        token for token in range(SIZE) if len(history) >= size and contains(history, [*last, token])
    }
    assert banned(no_repeat_ngram(ZEROS, history, size)) == expected


def test_n_grams_may_overlap() -> None:
    assert banned(no_repeat_ngram(ZEROS, [0, 0], 2)) == {0}
    assert banned(no_repeat_ngram(ZEROS, [0, 0], 3)) == set()
    assert banned(no_repeat_ngram(ZEROS, [0, 0, 0], 3)) == {0}


def test_with_one_token_n_grams_nothing_occurs_twice() -> None:
    assert banned(no_repeat_ngram(ZEROS, [3, 1], 1)) == {1, 3}


@drawn(50)
@given(HISTORIES, HISTORIES, st.integers(1, 4))
def test_n_grams_of_another_text_are_not_completed(
    history: list[int], given_text: list[int], size: int
) -> None:
    last = history[len(history) - (size - 1) :]
    expected = {
        token
        for token in range(SIZE)
        if len(last) == size - 1 <= len(history) and contains(given_text, [*last, token])
    }
    assert banned(encoder_no_repeat_ngram(ZEROS, history, size, given_text)) == expected


@drawn(50)
@given(HISTORIES, WORDS)
def test_bad_words_can_not_be_completed(history: list[int], words: list[list[int]]) -> None:
    expected = {
        word[-1]
        for word in words
        if len(word) - 1 <= len(history) and [*history, word[-1]][-len(word) :] == word
    }
    assert banned(bad_words(ZEROS, history, words)) == expected


@drawn(50)
@given(HISTORIES, WORDS, st.integers(0, 14))
def test_words_may_begin_in_the_prompt_unless_only_output_counts(
    history: list[int], words: list[list[int]], length: int
) -> None:
    length = min(length, len(history))
    row = bad_words(ZEROS, history, words, scope="output", prompt_length=length)
    assert row == bad_words(ZEROS, history[length:], words)


def test_a_word_that_is_only_an_end_is_left_out() -> None:
    assert banned(bad_words(ZEROS, [0], [[2], [3], [0, 2]], ends=[2, 3])) == {2}
    assert banned(bad_words(ZEROS, [1], [[2], [3], [0, 2]], ends=[2])) == {3}


@drawn(50)
@given(HISTORIES, WORDS, st.lists(st.integers(-4, 4), min_size=4, max_size=4))
def test_sequence_biases_add_up(
    history: list[int], words: list[list[int]], values: list[int]
) -> None:
    biases = dict(zip(map(tuple, words), values, strict=False))
    expected = [
        sum(
            bias
            for sequence, bias in biases.items()
            if sequence[-1] == token
            and len(sequence) - 1 <= len(history)
            and (*history, token)[-len(sequence) :] == sequence
        )
        for token in range(SIZE)
    ]
    assert sequence_bias(ZEROS, history, biases) == expected
    assert (
        sequence_bias(ZEROS, history, [(list(key), bias) for key, bias in biases.items()])
        == expected
    )


def test_biases_are_added_to_each_other_first() -> None:
    row = sequence_bias([1.0], [0], [([0], 2.0**-53), ([0, 0], 2.0**-53)])
    assert row == [1.0 + 2.0**-52]


def test_a_sequence_given_twice_has_its_last_bias() -> None:
    assert sequence_bias([0.0], [], [([0], 1.0), ([0], 4.0)]) == [4.0]


def test_a_bias_of_minus_infinity_bans() -> None:
    assert sequence_bias([1.0, 1.0], [0], [([0, 1], -inf), ([1], 5.0)]) == [1.0, -inf]


# DRY


def longest_match(tokens: list[int], place: int, limit: int) -> int:
    """Return how many tokens up to `place` equal the last ones, one after another."""
    length = 0
    while (
        length < limit
        and length <= place
        and tokens[place - length] == tokens[len(tokens) - 1 - length]
    ):
        length += 1
    return length


def tokens_since(tokens: list[int], breakers: list[list[int]]) -> int:
    for back in range(1, len(tokens) + 1):
        tail = tokens[len(tokens) - back :]
        found = [breaker for breaker in breakers if tail[: len(breaker)] == breaker]
        if found:
            return back - max(map(len, found))
    return len(tokens)


@drawn(50)
@given(
    HISTORIES,
    st.integers(0, 4),
    st.none() | st.integers(0, 14),
    st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=3), max_size=2),
)
def test_dry_compares_every_place(
    history: list[int], allowed: int, window: int | None, breakers: list[list[int]]
) -> None:
    seen = history if window is None else history[max(0, len(history) - window) :]
    limit = tokens_since(seen, breakers)
    expected = list(ZEROS)
    for place in range(len(seen) - 1):
        match, following = longest_match(seen, place, limit), seen[place + 1]
        if match >= allowed and [following] not in breakers:
            penalty = Fraction(1, 2) * Fraction(3, 2) ** (match - allowed)
            expected[following] = min(expected[following], -penalty)
    row = dry(
        ZEROS, history, Fraction(1, 2), Fraction(3, 2), allowed, window=window, breakers=breakers
    )
    assert row == expected


@drawn(50)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=40))
def test_common_suffixes_are_what_comparing_finds(tokens: list[int]) -> None:
    found = common_suffixes(tokens)
    assert found == [longest_match(tokens, place, len(tokens)) for place in range(len(tokens))]


def test_common_suffixes_take_time_in_proportion_to_the_history() -> None:
    comparisons = 0

    class Counted(int):
        def __eq__(self, other: object) -> bool:
            nonlocal comparisons
            comparisons += 1
            return super().__eq__(other)

        __hash__ = int.__hash__

    for period in ([0], [0, 1], [0, 0, 1]):
        comparisons = 0
        tokens = [Counted(token) for token in period * 300]
        assert common_suffixes(tokens)[-1] == len(tokens)
        assert comparisons <= 2 * len(tokens)


# The values that llama.cpp's own tests publish.
@pytest.mark.parametrize(
    ("size", "history", "parameters", "breakers", "expected"),
    [
        (4, [0, 1], (1.0, 1.1, 2, 4), [], [0.25] * 4),
        (4, [0, 1, 2, 0, 1], (1.0, 1.1, 2, 5), [], [0.296923, 0.296923, 0.109232, 0.296923]),
        (5, [0, 1, 3, 4, 0, 1], (1.0, 1.1, 2, 6), [[3]], [0.2] * 5),
        (
            5,
            [0, 1, 2, 0, 1],
            (2.0, 1.1, 2, 5),
            [],
            [0.241818, 0.241818, 0.032727, 0.241818, 0.241818],
        ),
        (5, [0, 1, 2, 3, 4, 0, 1], (1.0, 1.1, 4, 7), [], [0.2] * 5),
    ],
)
def test_published_values_of_dry(
    size: int,
    history: list[int],
    parameters: tuple[float, float, int, int],
    breakers: list[list[int]],
    expected: list[float],
) -> None:
    multiplier, base, allowed, window = parameters
    row = [log(1 / size)] * size
    after = dry(row, history, multiplier, base, allowed, window=window, breakers=breakers)
    weights = [exp(logit) for logit in after]
    assert [weight / sum(weights) for weight in weights] == pytest.approx(expected, abs=1e-5)


def test_a_short_breaker_hides_the_long_one_it_lies_in() -> None:
    # The breaker 1 2 3 contains the breaker 2: going back, 2 is met first.
    assert since_breaker([1, 2, 3, 0], [(1, 2, 3), (2,)]) == 2
    assert since_breaker([1, 2, 3, 0], [(1, 2, 3)]) == 1


def test_of_breakers_with_one_beginning_the_longest_counts() -> None:
    assert since_breaker([2, 3, 0, 0], [(2,), (2, 3)]) == 2


def test_a_breaker_must_lie_completely_in_the_history() -> None:
    assert since_breaker([0, 1, 2], [(2, 3)]) == 3


def test_a_token_that_begins_a_longer_breaker_can_be_penalised() -> None:
    history = [0, 1, 2, 0, 1]
    assert dry(ZEROS, history, 1, 2, 1, breakers=[[2]]) == [0, 0, 0, 0]
    assert dry(ZEROS, history, 1, 2, 1, breakers=[[2, 3]]) == [0, 0, -2, 0]


def test_the_exponent_is_cut_where_32_bits_end() -> None:
    assert log_limit(2.0) == 128
    assert log_limit(3183.423583984375) == 11  # in 64 bits the quotient is below 11
    assert log_limit(1.75) == 158
    assert log_limit(1.000001) is None
    assert log_limit(1.0000011) is not None
    longer, cut = [0] * 400, Fraction(2) ** 128
    assert dry([Fraction(0)], longer, 1, Fraction(2), 2) == [-cut]
    assert dry([Fraction(0)], longer[:131], 1, Fraction(2), 2) == [-cut]
    assert dry([Fraction(0)], longer[:130], 1, Fraction(2), 2) == [-cut / 2]


def test_a_multiplier_of_zero_changes_nothing() -> None:
    assert dry([1.0, 2.0], [0, 1, 0, 1], 0.0, 2.0, 1) == [1.0, 2.0]


@drawn(50)
@given(HISTORIES, st.integers(1, 4), st.sets(st.integers(0, SIZE - 1), max_size=2))
def test_nearby_dry_is_dry_but_for_the_last_token(
    history: list[int], allowed: int, breakers: set[int]
) -> None:
    nearby = dry_nearby(ZEROS, history, 1, Fraction(3, 2), allowed, breakers=breakers)
    if not history or history[-1] not in breakers:
        assert nearby == dry(ZEROS, history, 1, Fraction(3, 2), allowed, breakers=breakers)
    else:
        followers = {
            after for before, after in pairwise(history) if before == history[-1]
        } - breakers
        assert {token for token in range(SIZE) if nearby[token]} <= followers


def test_nearby_dry_does_not_test_the_last_token() -> None:
    history = [0, 1, 2, 0, 1]
    assert dry(ZEROS, history, 1, 2, 1, breakers=[1]) == [0, 0, 0, 0]
    assert dry_nearby(ZEROS, history, 1, 2, 1, breakers=[1]) == [0, 0, -2, 0]
    assert dry_nearby(ZEROS, history, 1, 2, 1, breakers=[0]) == [0, 0, -1, 0]
    assert dry_nearby(ZEROS, history, 1, 2, 1, breakers=[2]) == [0, 0, 0, 0]


def test_nearby_dry_stops_after_fifty_tokens() -> None:
    for repeats, expected in ((50, 49), (51, 50), (52, 50), (80, 50)):
        row = dry_nearby([Fraction(0)], [0] * repeats, 1, 2, 1)
        assert row == [-(Fraction(2) ** (expected - 1))]
    assert dry_nearby([Fraction(0)], [0] * 80, 1, 2, 1, most=3) == [-4]


def occurrences_with_followers(history: list[int], length: int) -> list[int | None]:
    """Return what follows each occurrence of the last tokens before the last token."""
    searched = history[:-1]
    run = history[len(history) - length :]
    return [
        searched[end] if end < len(searched) else None
        for end in range(length, len(searched) + 1)
        if searched[end - length : end] == run
    ]


@drawn(50)
@given(
    HISTORIES, st.integers(1, 3), st.integers(1, 6), st.sets(st.integers(0, SIZE - 1), max_size=1)
)
def test_longest_dry_is_the_longest_run_times_its_occurrences(
    history: list[int], allowed: int, most: int, breakers: set[int]
) -> None:
    expected = list(ZEROS)
    for length in range(min(most, len(history)), allowed - 1, -1):
        run = history[len(history) - length :]
        found = [] if breakers & set(run) else occurrences_with_followers(history, length)
        if not found:
            continue
        if length < most:
            for follower in found:
                if follower is not None and follower not in breakers:
                    expected[follower] -= Fraction(2) ** (length - allowed)
        break
    assert dry_longest(ZEROS, history, 1, 2, allowed, breakers=breakers, most=most) == expected


def test_longest_dry_lets_go_of_a_repetition_of_twenty_tokens() -> None:
    phrase = list(range(30))
    row = [Fraction(0)] * 31
    for repeated, expected in ((19, -(Fraction(2) ** 17)), (20, Fraction(0))):
        history = [*phrase, 30, *phrase[:repeated]]
        assert dry_longest(row, history, 1, 2)[repeated] == expected
        assert dry(row, history, 1, 2)[repeated] == -(Fraction(2) ** (repeated - 2))


def test_the_three_kinds_of_dry_differ() -> None:
    history = [0, 1, 0, 1, 0]
    assert dry(ZEROS, history, 1, 2, 1) == [0, -4, 0, 0]
    assert dry_nearby(ZEROS, history, 1, 2, 1) == [0, -4, 0, 0]
    assert dry_longest(ZEROS, history, 1, 2, 1) == [0, -4, 0, 0]
    history = [0, 1, 0, 2, 0]
    assert dry(ZEROS, history, 1, 2, 1) == [0, -1, -1, 0]
    assert dry_longest(ZEROS, [0, 1, 0, 1, 2, 0], 1, 2, 1) == [0, -2, 0, 0]
    assert dry(ZEROS, [0, 1, 0, 1, 2, 0], 1, 2, 1) == [0, -1, 0, 0]
