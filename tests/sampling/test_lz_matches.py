"""Windows, buffers and matches: equation 1 and definition 7 of the LZ penalty."""

from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.lz.matches import (
    Match,
    agreement,
    longest_match,
    look_around,
    match_lengths,
    own_beginnings,
    window_and_buffer,
)
from tests.sampling.lz_histories import Setting, repetitive, settings_


def newest_first(setting: Setting) -> tuple[list[int], list[int]]:
    window, buffer = window_and_buffer(setting.history, setting.window, setting.buffer)
    return window[::-1], buffer[::-1]


@given(settings_())
def test_window_and_buffer_are_neighbours_at_the_end_of_the_history(setting: Setting) -> None:
    window, buffer = window_and_buffer(setting.history, setting.window, setting.buffer)
    together = window + buffer
    assert setting.history[len(setting.history) - len(together) :] == together


@given(settings_())
def test_the_buffer_is_filled_first_and_then_the_window(setting: Setting) -> None:
    window, buffer = window_and_buffer(setting.history, setting.window, setting.buffer)
    length = len(setting.history)
    assert len(buffer) == min(length, setting.buffer)
    assert len(window) == min(length - len(buffer), setting.window)


def test_window_and_buffer_have_exactly_the_sizes_that_name_them() -> None:
    # The slices of equation 1, read to the letter, would hold one token more each.
    assert window_and_buffer(range(100), 8, 4) == ([*range(88, 96)], [*range(96, 100)])


@given(repetitive(3), repetitive(3))
def test_all_match_lengths_are_those_of_the_definition(
    buffer: list[int], window: list[int]
) -> None:
    expected = [agreement(buffer, window, place) for place in range(len(window))]
    assert match_lengths(buffer, window) == expected


@given(repetitive(2))
def test_own_beginnings_are_counts_of_equal_tokens(sequence: list[int]) -> None:
    counts = own_beginnings(sequence)
    assert len(counts) == len(sequence)
    for place, count in enumerate(counts):
        assert sequence[place : place + count] == sequence[:count]
        if place + count < len(sequence):
            assert sequence[place + count] != sequence[count]


@given(repetitive(3), repetitive(3))
def test_the_longest_match_is_the_nearest_of_the_longest(
    buffer: list[int], window: list[int]
) -> None:
    lengths = match_lengths(buffer, window)
    longest = max(lengths, default=0)
    distance = lengths.index(longest) + 1 if longest else 0
    assert longest_match(buffer, window) == Match(longest, distance)


def test_a_match_does_not_run_out_of_the_window() -> None:
    assert longest_match([1, 1, 1, 1], [1, 1]) == Match(2, 1)


def test_a_match_is_no_longer_than_the_buffer() -> None:
    assert longest_match([1, 1], [2, 1, 1, 1]) == Match(2, 2)


@given(settings_())
def test_surroundings_are_those_of_the_definition(setting: Setting) -> None:
    window, buffer = newest_first(setting)
    found = look_around(buffer, window)
    match = longest_match(buffer, window)
    assert (found.length, found.distance) == (match.length, match.distance)
    for token in range(setting.size):
        own = [place + 1 for place, other in enumerate(window) if other == token]
        assert found.own.get(token) == min(own, default=None)
        following = [
            place
            for place in range(1, len(window))
            if match.length
            and window[place - 1] == token
            and agreement(buffer, window, place) == match.length
        ]
        assert found.following.get(token) == min(following, default=None)


@given(settings_(), st.integers(0, 5))
def test_a_match_that_grows_comes_one_nearer(setting: Setting, token: int) -> None:
    window, buffer = newest_first(setting)
    found = look_around(buffer, window)
    grown = longest_match([token, *buffer], window)
    if token in found.following:  # delta = d - 1 and lambda = l + 1, as section 3 says
        assert grown == Match(found.length + 1, found.following[token])
    else:
        assert grown.length <= max(found.length, 1)


class Counted(int):
    """A token that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        """Compare as an int, and count."""
        Counted.comparisons += 1
        return int.__eq__(self, other) if isinstance(other, int) else False

    __hash__ = int.__hash__


@given(repetitive(2, most=200))
def test_all_match_lengths_take_time_in_proportion_to_the_tokens(history: list[int]) -> None:
    Counted.comparisons = 0
    own_beginnings([Counted(token) for token in history])
    assert Counted.comparisons <= 2 * len(history)
