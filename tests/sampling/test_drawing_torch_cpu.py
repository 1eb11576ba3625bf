"""What torch's draws need, and what they refuse; the draws themselves are held against torch."""

import re
from fractions import Fraction
from math import inf
from typing import Any

import pytest

from sampling_ref.draws.torch_cpu import (
    multinomial_torch_cpu,
    multinomial_torch_cpu_with_replacement,
    multinomial_torch_cpu_without_replacement,
)
from sampling_ref.errors import ParameterError, RandomNumberError, RowError
from sampling_ref.random.mt19937 import mt19937

# torch 2.13.0: multinomial(tensor(row), ..., generator=torch.Generator().manual_seed(seed))
ROW = [0.125, 0.0, 0.5, 0.25, 0.125]
DRAWN = [2, 0, 2, 0, 2, 2, 3, 0, 2, 3, 2, 0]  # one draw each of seeds 0 to 11
WALKED = [4, 3, 2, 4, 3, 3, 2, 2, 2, 2, 2, 2]  # twelve draws of seed 0, with replacement


def test_a_draw_takes_two_words_for_each_token_also_for_impossible_ones() -> None:
    words = mt19937(3)
    multinomial_torch_cpu(ROW, words)
    assert next(words) == next(mt19937(3, taken=2 * len(ROW)))


def test_a_walk_takes_two_words_for_each_draw() -> None:
    words = mt19937(3)
    multinomial_torch_cpu_with_replacement(ROW, 4, words)
    assert next(words) == next(mt19937(3, taken=8))


def test_one_draw_with_replacement_is_a_race_too() -> None:
    for seed in range(50):
        token = multinomial_torch_cpu(ROW, mt19937(seed))
        assert multinomial_torch_cpu_with_replacement(ROW, 1, mt19937(seed)) == [token]
        first, *_ = multinomial_torch_cpu_without_replacement(ROW, 3, mt19937(seed))
        assert first == token


def test_the_seeds_draw_what_torch_drew() -> None:
    drawn = [multinomial_torch_cpu(ROW, mt19937(seed)) for seed in range(12)]
    assert drawn == DRAWN
    walked = multinomial_torch_cpu_with_replacement(ROW, 12, mt19937(0))
    assert walked == WALKED


def test_words_that_run_out_are_an_error() -> None:
    for count in (0, 1, 9):
        with pytest.raises(RandomNumberError, match=rf"^words must hold 10 numbers, got {count}$"):
            multinomial_torch_cpu(ROW, iter([0] * count))
    with pytest.raises(RandomNumberError, match=r"^words must hold 4 numbers, got 3$"):
        multinomial_torch_cpu_with_replacement(ROW, 2, iter([0] * 3))


@pytest.mark.parametrize("word", [-1, 2**32, 1.0, True, "1", None])
def test_words_have_32_bits(word: Any) -> None:
    with pytest.raises(
        ParameterError, match=re.escape("must be a whole number from 0 to 2**32 - 1, got")
    ):
        multinomial_torch_cpu([1.0], iter([0, word]))


@pytest.mark.parametrize("row", [[], [0.0], [-0.5, 1.0], [inf], [float("nan")], [1e39], ["1"]])
def test_a_row_that_is_no_row_of_32_bit_weights_is_an_error(row: Any) -> None:
    with pytest.raises(RowError):
        multinomial_torch_cpu(row, mt19937(0))


@pytest.mark.parametrize("row", [[1e-60], [10**400], [Fraction(10) ** 400, 1.0]])
def test_a_row_that_rounds_to_nothing_or_to_infinity_is_an_error(row: Any) -> None:
    with pytest.raises(RowError, match=r"^probabilities of 32 bits"):
        multinomial_torch_cpu(row, mt19937(0))


def test_what_32_bits_cannot_hold_64_bits_can() -> None:
    assert multinomial_torch_cpu([1e-60], mt19937(0), bits=64) == 0
    assert multinomial_torch_cpu([1e39], mt19937(0), bits=64) == 0
    with pytest.raises(RowError, match=r"^probabilities of 64 bits"):
        multinomial_torch_cpu([10**400], mt19937(0), bits=64)


def test_a_sum_that_overflows_is_an_error() -> None:
    for row, bits in (([3e38, 3e38], 32), ([1e308, 1e308], 64)):
        width: Any = bits
        with pytest.raises(RowError, match=rf"^probabilities must have a sum .* {bits} bits"):
            multinomial_torch_cpu_with_replacement(row, 2, mt19937(0), bits=width)


@pytest.mark.parametrize("count", [0, -1, 1.0, True, "1"])
def test_a_count_is_a_whole_number_from_1(count: Any) -> None:
    for draw in (multinomial_torch_cpu_without_replacement, multinomial_torch_cpu_with_replacement):
        with pytest.raises(ParameterError, match=r"^count must be a whole number of at least 1"):
            draw(ROW, count, mt19937(0))


def test_no_more_tokens_than_there_are_come_without_replacement() -> None:
    with pytest.raises(ParameterError, match=r"^count must be at most the number of tokens, 5"):
        multinomial_torch_cpu_without_replacement(ROW, 6, mt19937(0))


@pytest.mark.parametrize("bits", [16, 0, 32.5, "32", True, None, [32]])
def test_bits_are_32_or_64(bits: Any) -> None:
    for draw in (multinomial_torch_cpu_without_replacement, multinomial_torch_cpu_with_replacement):
        with pytest.raises(ParameterError, match=r"^bits must be 32 or 64, got "):
            draw(ROW, 2, mt19937(0), bits=bits)
