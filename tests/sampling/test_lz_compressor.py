"""The sliding window compressor: definition 8, propositions 1 and 2, real bits."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import HistoryError, ParameterError
from sampling_ref.lz.compressor import (
    code_power,
    compress,
    decode_buffer,
    decompress,
    encode_buffer,
    literal_power,
    pair_power,
    parse,
)
from sampling_ref.lz.matches import Match, longest_match
from tests.sampling.lz_histories import Setting, Wrong, repetitive, settings_


def by_definition_8(buffer: list[int], window: list[int], size: int) -> int:
    """Return 2^length by the three lines of the definition."""
    match = longest_match(buffer, window)
    if match.length == 0:
        if not buffer:
            return 1
        return literal_power(size) * by_definition_8(buffer[1:], window, size)
    code = pair_power(match.length, match.distance)
    if match.length == len(buffer):
        return code
    return code * by_definition_8(buffer[match.length :], window, size)


def test_a_match_costs_the_logarithms_of_length_and_distance_and_a_flag() -> None:
    assert pair_power(4, 8) == 2 ** (2 + 3 + 1)


def test_a_literal_costs_the_logarithm_of_the_vocabulary_and_a_flag() -> None:
    assert literal_power(2**17) == 2 ** (17 + 1)


@given(repetitive(4, 12), repetitive(4, 20), st.integers(4, 9))
def test_the_length_of_a_code_is_that_of_definition_8(
    buffer: list[int], window: list[int], size: int
) -> None:
    assert code_power(buffer, window, size) == by_definition_8(buffer, window, size)


@given(repetitive(4, 12), repetitive(4, 20))
def test_a_parse_spells_the_buffer(buffer: list[int], window: list[int]) -> None:
    spelled: list[int] = []
    for code in parse(buffer, window):
        if isinstance(code, Match):
            spelled += window[code.distance - 1 : code.distance - 1 + code.length]
        else:
            assert code not in window
            spelled.append(code)
    assert spelled == buffer


@given(repetitive(4, 12), repetitive(4, 20), st.integers(4, 9), st.text("01", max_size=3))
def test_a_buffer_comes_back_from_its_bits(
    buffer: list[int], window: list[int], size: int, rest: str
) -> None:
    bits = encode_buffer(buffer, window, size)
    assert decode_buffer(bits + rest, len(buffer), window, size) == (buffer, rest)


@given(repetitive(4, 12), repetitive(4, 20), st.integers(4, 9))
def test_real_bits_are_never_fewer_than_the_propositions_say(
    buffer: list[int], window: list[int], size: int
) -> None:
    assert 2 ** len(encode_buffer(buffer, window, size)) >= code_power(buffer, window, size)


@given(settings_())
def test_what_was_compressed_comes_back(setting: Setting) -> None:
    size, window, buffer = setting.size, setting.window, setting.buffer
    bits = compress(setting.history, size, window=window, buffer=buffer)
    length = len(setting.history)
    assert decompress(bits, length, size, window=window, buffer=buffer) == setting.history


def test_a_loop_takes_fewer_bits_than_its_literals() -> None:
    loop = [1, 2, 3, 4, 5] * 40
    assert len(compress(loop, 64, window=512, buffer=32)) * 4 < len(loop) * 7


def kraft_sum(size: int, window: int, buffer: int) -> Fraction:
    """Sum 2^-length over all codes that can come next, at the lengths of the propositions."""
    pairs = (
        Fraction(1, pair_power(length, distance))
        for distance in range(1, window + 1)
        for length in range(1, min(buffer, window - distance + 1) + 1)
    )
    return size * Fraction(1, literal_power(size)) + sum(pairs)


def test_the_lengths_of_the_propositions_belong_to_no_code() -> None:
    # Kraft's inequality: a code that can be decoded has a sum of at most 1.
    assert kraft_sum(8, window=1, buffer=1) == 1
    assert kraft_sum(8, window=2, buffer=1) == Fraction(5, 4)
    assert 13 < kraft_sum(128_256, window=512, buffer=32) < 15


@pytest.mark.parametrize(
    ("bits", "length"),
    [("", 1), ("00", 1), ("1", 1), ("0000", 1), ("011", 1), ("00110", 1), ("000010111", 2)],
)
def test_bits_that_the_compressor_did_not_write_are_an_error(bits: str, length: int) -> None:
    # Size 3: a flag and two digits, 11 being no token; window 4, buffer 1.
    with pytest.raises(ParameterError, match=r"^bits must "):
        decompress(bits, length, 3, window=4, buffer=1)


def test_a_pair_that_passes_the_end_of_the_window_is_an_error() -> None:
    window = [1, 0]
    assert decode_buffer("1001" + "00" * 2, 4, window, 2) == ([1, 0, 0, 0], "")
    with pytest.raises(ParameterError, match=r"^bits must be what the compressor wrote, got "):
        decode_buffer("1101" + "00" * 3, 4, window, 2)


@given(st.text("01", max_size=40), settings_(most=12))
def test_any_bits_are_decoded_or_refused_in_a_sentence(bits: str, setting: Setting) -> None:
    size, window, buffer = setting.size, setting.window, setting.buffer
    length = len(setting.history)
    try:
        tokens = decompress(bits, length, size, window=window, buffer=buffer)
    except ParameterError:
        return
    assert len(tokens) == length
    assert all(0 <= token < size for token in tokens)


@pytest.mark.parametrize("bits", ["2", " 0", 5, None, b"01", ["0"]])
def test_bits_are_a_string_of_binary_digits(bits: Wrong) -> None:
    with pytest.raises(ParameterError, match=r"^bits must be a string of the digits 0 and 1, got "):
        decompress(bits, 1, 2, window=1, buffer=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("size", 0), ("size", True), ("window", -1), ("window", 1.0), ("buffer", 0), ("length", -1)],
)
def test_sizes_are_whole_numbers(name: str, value: Wrong) -> None:
    sizes = {"size": 1, "window": 0, "buffer": 1, "length": 0}
    assert decompress("", **sizes) == []
    with pytest.raises(ParameterError, match=f"^{name} must be a whole number of at least "):
        decompress("", **{**sizes, name: value})


def test_tokens_outside_the_vocabulary_are_an_error() -> None:
    with pytest.raises(HistoryError, match=r"^tokens\[1\] must be a token id below 3, got 3$"):
        compress([0, 3], 3, window=4, buffer=1)
