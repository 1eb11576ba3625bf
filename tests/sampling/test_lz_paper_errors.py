"""Where the paper of the LZ penalty is wrong or silent, each with a smallest example."""

from fractions import Fraction
from itertools import product
from math import log2

import pytest

from sampling_ref.lz.changes import Changes
from sampling_ref.lz.compressor import pair_power
from sampling_ref.lz.matches import Match, longest_match
from sampling_ref.lz.variants import Variant, lz_changes


def printed(length: int, d: int) -> Fraction:
    """2^D of equation 14 as printed, last line."""
    return (1 - Fraction(d - length + 1, length * d)) / 2


def meant(length: int, d: int) -> Fraction:
    """2^D of what equation 12 leaves: pair (l + 1, d - 1) over pair (l, d), less one bit."""
    return Fraction(pair_power(length + 1, d - 1), pair_power(length, d)) / 2


def changes(history: list[int], size: int, window: int, buffer: int, variant: Variant) -> Changes:
    return lz_changes(history, size, window=window, buffer=buffer, variant=variant)


def test_the_printed_ratio_is_that_of_other_numbers() -> None:
    for length, d in product(range(1, 33), range(2, 200)):
        assert 2 * printed(length, d) == Fraction((length - 1) * (d + 1), length * d)
        assert 2 * meant(length, d) == Fraction((length + 1) * (d - 1), length * d)


def test_printed_and_meant_agree_where_length_and_distance_are_equal_only() -> None:
    for length, d in product(range(1, 33), range(2, 200)):
        assert (printed(length, d) == meant(length, d)) == (length == d)


@pytest.mark.parametrize(
    ("length", "d", "as_printed", "as_meant"),
    [
        (2, 512, -1.9972, -0.4179),
        (31, 512, -1.0445, -0.957),
        (31, 2, -0.4623, -1.9542),
        (3, 3, -1.1699, -1.1699),
        (2, 2, -1.415, -1.415),
        (2, 32, -1.9556, -0.4608),
        (3, 2, -1.0, -1.585),
        (8, 512, -1.1898, -0.8329),
        (8, 2, -0.6077, -1.8301),
        (16, 32, -1.0487, -0.9583),
    ],
)
def test_values_of_equation_14(length: int, d: int, as_printed: float, as_meant: float) -> None:
    assert round(log2(printed(length, d)), 4) == as_printed
    assert round(log2(meant(length, d)), 4) == as_meant


def test_a_match_of_one_token_bans_its_continuation_as_printed() -> None:
    assert {printed(1, d) for d in range(2, 513)} == {0}
    assert [round(log2(meant(1, d)), 4) for d in (2, 3, 512)] == [-1.0, -0.585, -0.0028]
    # The smallest history: 1 2 1, and 2 is impossible.
    assert changes([1, 2, 1], 8, 2, 1, "paper").of(2).power == 0
    assert changes([1, 2, 1], 8, 2, 1, "corrected").of(2).power == Fraction(1, 2)


def test_longer_matches_are_punished_less_as_printed_and_more_as_meant() -> None:
    lengths = range(2, 33)
    as_printed = [printed(length, 512) for length in lengths]
    as_meant = [meant(length, 512) for length in lengths]
    assert as_printed == sorted(as_printed)
    assert as_meant == sorted(as_meant, reverse=True)
    assert [round(log2(as_printed[place]), 4) for place in (0, 29)] == [-1.9972, -1.0445]
    assert [round(log2(as_meant[place]), 3) for place in (0, 29)] == [-0.418, -0.957]


def test_the_range_that_the_paper_gives_is_not_reached() -> None:
    # "From -5 to +17" for a buffer of 32, a window of 512 and 128,000 tokens.
    pairs = list(product(range(1, 33), range(2, 513)))
    assert min(meant(length, d) for length, d in pairs) == meant(32, 2) == Fraction(33, 128)
    assert round(log2(meant(32, 2)), 4) == -1.9556
    assert min(p for length, d in pairs if (p := printed(length, d))) == printed(2, 512)
    assert printed(2, 512) > Fraction(1, 4)
    assert 16.9 < log2(128_000) < 17


def test_a_token_that_does_not_extend_can_match_more_than_one_token() -> None:
    # "If it does not extend the match, then lambda <= 1." The buffer 2 1 was there before
    # and was followed by 3. The token 4 followed the shorter match 1 only.
    window, buffer = [2, 1, 3, 1, 4, 5], [2, 1]
    assert longest_match(buffer[::-1], window[::-1]) == Match(2, 5)
    assert longest_match([4, *buffer[::-1]], window[::-1]) == Match(2, 2)
    history = window + buffer
    # The cases give the token's own distance. The compressor writes "4 1", then the 2.
    assert changes(history, 8, 6, 2, "corrected").of(4).power == 2
    assert changes(history, 8, 6, 2, "codelength").of(4).power == Fraction(
        pair_power(2, 2) * pair_power(1, 6), 2 * pair_power(2, 5)
    )


def test_matches_of_beginnings_say_nothing_of_the_next_token_unless_read_newest_first() -> None:
    # Read in the order of time, "a b" asks whether `a` came *before* the buffer.
    window, buffer = [9, 1, 2, 7], [1, 2]
    before, after = 9, 7
    assert longest_match([before, *buffer], window).length == 3
    assert longest_match([after, *buffer[::-1]], window[::-1]).length == 3


def test_the_distance_shrinks_only_if_it_is_that_of_the_newest_token() -> None:
    window, buffer = [5, 1, 2, 7, 6], [1, 2]
    match = longest_match(buffer[::-1], window[::-1])
    grown = longest_match([7, *buffer[::-1]], window[::-1])
    assert grown.distance == match.distance - 1  # delta = d - 1, as the paper says
    to_oldest = [one.distance + one.length - 1 for one in (match, grown)]
    assert to_oldest[0] == to_oldest[1]  # with the distance of Lempel and Ziv it would not


def test_both_cases_drop_the_same_bit() -> None:
    # Without a match, and with one: a new token costs log2(V) more, not log2(V) + 1.
    for history in ([1, 2, 3, 4, 5], [1, 2, 3, 4, 3]):
        assert changes(history, 8, 4, 1, "codelength").of(7).power == 8


def test_a_loop_is_not_seen_before_it_is_longer_than_the_buffer() -> None:
    loop = [1, 2, 3] * 12
    for length in range(33):  # every token of it is in the buffer: nothing is punished
        assert not changes(loop[:length], 50, 512, 32, "corrected").by_token
    # Of 34 tokens, two are in the window, 1 and 2: eleven rounds count as a match of one
    # token, and 3, which was written eleven times, counts as new.
    at_34 = changes(loop[:34], 50, 512, 32, "corrected")
    assert {token: float(change) for token, change in at_34.by_token.items()} == {1: 1.0, 2: -1.0}
    assert float(at_34.of(3)) == log2(50)


def test_a_small_vocabulary_makes_an_old_token_newer_than_a_new_one() -> None:
    # Four tokens, a window of eight: 0 was last seen at distance 8.
    row = changes([0, 1, 1, 1, 1, 1, 1, 1, 2], 4, 8, 1, "corrected").row(4)
    assert row[0] == 3.0 > row[3] == 2.0
