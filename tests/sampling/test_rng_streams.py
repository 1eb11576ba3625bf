"""A stream is a seed and a number of words taken; whatever is no seed is an error at once."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError
from sampling_ref.random.chacha import chacha, chacha_block, chacha_by_seed, pcg32_key
from sampling_ref.random.isaac64 import isaac64, isaac64_by_seed
from sampling_ref.random.mt19937 import (
    mt19937,
    mt19937_by_array,
    mt19937_by_seed_sequence,
    mt19937_state,
    mt19937_words,
)
from sampling_ref.random.murmur import murmur3_32, murmur_noise
from sampling_ref.random.pcg64 import pcg64, pcg64_by_seed_sequence
from sampling_ref.random.philox import (
    philox4x32_words,
    philox4x64_by_seed_sequence,
    philox4x64_words,
    philox_block,
)
from sampling_ref.random.seed_sequence import seed_sequence
from sampling_ref.random.splitmix64 import splitmix64
from sampling_ref.random.threefry import threefry2x32, threefry2x32_bits, threefry2x32_key
from sampling_ref.random.words import (
    high_halves,
    low_halves,
    low_then_high,
    pairs_high_first,
    pairs_low_first,
)
from sampling_ref.random.xoshiro256plusplus import xoshiro256plusplus, xoshiro256plusplus_by_seed

STREAMS: dict[str, Callable[..., Iterator[int]]] = {
    "mt19937": mt19937,
    "mt19937_by_seed_sequence": mt19937_by_seed_sequence,
    "philox4x32": philox4x32_words,
    "philox4x64": philox4x64_by_seed_sequence,
    "pcg64": pcg64_by_seed_sequence,
    "chacha": chacha_by_seed,
    "isaac64": isaac64_by_seed,
    "splitmix64": splitmix64,
    "xoshiro256plusplus": xoshiro256plusplus_by_seed,
}
BITS = {"mt19937": 32, "mt19937_by_seed_sequence": 32, "philox4x32": 32, "chacha": 32}


def first(words: Iterator[int], count: int) -> list[int]:
    return list(islice(words, count))


@pytest.mark.parametrize("name", STREAMS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), taken=st.integers(0, 700))
def test_a_stream_continues_where_words_were_taken(name: str, seed: int, taken: int) -> None:
    stream = STREAMS[name]
    assert first(stream(seed, taken=taken), 20) == first(stream(seed), taken + 20)[taken:]


@pytest.mark.parametrize("name", STREAMS)
def test_words_have_the_width_of_the_generator(name: str) -> None:
    words = first(STREAMS[name](12345), 3000)
    joined = 0
    for word in words:
        joined |= word
    assert joined == 2 ** BITS.get(name, 64) - 1


@pytest.mark.parametrize("name", STREAMS)
def test_seeds_that_differ_give_streams_that_differ(name: str) -> None:
    assert len({tuple(first(STREAMS[name](seed), 2)) for seed in range(100)}) == 100


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, "1", None, float("nan")])
def test_what_is_no_seed_is_an_error_before_the_first_word(name: str, seed: Any) -> None:
    if seed == 2**64 and "sequence" in STREAMS[name].__name__:
        return  # numpy's sequence takes seeds of any size
    with pytest.raises(ParameterError, match=r"^seed must be a whole number .*, got "):
        STREAMS[name](seed)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("taken", [-1, 0.5, True, "1", None])
def test_what_is_no_number_of_words_is_an_error(name: str, taken: Any) -> None:
    with pytest.raises(ParameterError, match=r"^taken must be a whole number of at least 0, got "):
        STREAMS[name](0, taken=taken)


@pytest.mark.parametrize("name", STREAMS)
def test_the_largest_seed_is_a_seed(name: str) -> None:
    bits = 32 if name == "mt19937" else 64
    assert len(first(STREAMS[name](2**bits - 1), 3)) == 3


def test_a_mt19937_seed_of_33_bits_is_an_error() -> None:
    with pytest.raises(
        ParameterError, match=re.escape("seed must be a whole number from 0 to 2**32 - 1")
    ):
        mt19937(2**32)


def test_a_state_of_mt19937_is_continued_from_any_position() -> None:
    words = first(mt19937(7), 624 + 10)
    state = mt19937_state(7)
    assert first(mt19937_words(state), 624 + 10) == words
    assert state == mt19937_state(7)  # not changed by reading


def test_position_624_means_that_all_words_of_a_state_were_read() -> None:
    state = mt19937_state(7)
    read = first(mt19937_words(state, 0), 624 + 5)
    assert first(mt19937_words(state, 623), 6) == read[623:]
    assert first(mt19937_words(state, 624), 5) == read[624:]


def test_counters_carry_from_word_to_word() -> None:
    last = philox4x32_words(9, subsequence=5, offset=2**64 - 1)
    assert first(last, 8)[4:] == list(philox_block([0, 0, 6, 0], [9, 0]))
    words = philox4x64_words([1, 2], counter=[2**64 - 1, 0, 0, 0])
    assert (
        first(words, 4)
        == first(philox4x64_words([1, 2], counter=[0, 1, 0, 0], taken=0), 0)
        + (first(philox4x64_words([1, 2], counter=[2**64 - 2, 0, 0, 0]), 8)[4:])
    )


def test_the_high_half_of_the_counter_of_philox4x32_is_the_subsequence() -> None:
    words = first(philox4x32_words(2**32 * 3 + 9, subsequence=2**32 * 4 + 5, offset=6), 4)
    assert words == list(philox_block([6, 0, 5, 4], [9, 3]))


def test_the_counter_of_chacha_has_64_bits() -> None:
    words = first(chacha([1] * 8, rounds=8, taken=16 * (2**32 - 1)), 32)
    assert words[16:] == chacha_block([1] * 8, 2**32, 0, 8)
    assert first(chacha([1] * 8, rounds=8, taken=16 * 2**64), 16) == chacha_block([1] * 8, 0, 0, 8)


@pytest.mark.parametrize("count", range(9))
def test_mlx_fills_halves_and_gives_an_odd_middle_a_block_of_its_own(count: int) -> None:
    words = threefry2x32_bits([3, 4], count)
    half = count // 2
    assert len(words) == count
    for i in range(half):
        block = threefry2x32([i, half + count % 2 + i], [3, 4])
        assert (words[i], words[half + count % 2 + i]) == block
    if count % 2:
        assert words[half] == threefry2x32([half, 0], [3, 4])[0]


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_halves_and_pairs_undo_each_other(words: list[int]) -> None:
    halves = list(low_then_high(words))
    assert list(pairs_low_first(halves)) == words
    assert list(pairs_high_first(reversed(halves))) == words[::-1]
    assert list(low_halves(words)) == halves[::2]
    assert list(high_halves(words)) == halves[1::2]


def test_a_seed_of_isaac64_is_one_word_of_a_table_mixed_once() -> None:
    assert first(isaac64_by_seed(5), 1) != first(isaac64([5]), 1)
    assert first(isaac64([5]), 300) == first(isaac64([5] + [0] * 255), 300)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: isaac64([0] * 257), "key must be 256 whole numbers"),
        (lambda: isaac64([2**64]), "key[0] must be a whole number from 0 to 2**64 - 1"),
        (lambda: mt19937_by_array([]), "key must be at least one whole number"),
        (lambda: mt19937_by_array([2**32]), "key[0] must be a whole number from 0 to 2**32 - 1"),
        (lambda: mt19937_words([0] * 623), "state must be 624 whole numbers"),
        (lambda: mt19937_words([0] * 624, 625), "position must be a whole number from 0 to 624"),
        (lambda: mt19937_words([0] * 624, -1), "position must be a whole number from 0 to 624"),
        (lambda: mt19937_words([0] * 624, True), "position must be a whole number from 0 to 624"),
        (lambda: xoshiro256plusplus([0] * 4), "state must hold a word that is not 0"),
        (lambda: xoshiro256plusplus([0] * 3), "state must be 4 whole numbers"),
        (lambda: pcg64(2**128, 0), "initial_state must be a whole number from 0 to 2**128 - 1"),
        (lambda: pcg64(0, -1), "stream must be a whole number from 0 to 2**128 - 1"),
        (lambda: chacha([0] * 8, rounds=10), "rounds must be 8, 12 or 20"),  # type: ignore[arg-type]
        (lambda: chacha([0] * 8, rounds=8.0), "rounds must be 8, 12 or 20"),  # type: ignore[arg-type]
        (lambda: chacha([0] * 8, rounds=[8]), "rounds must be 8, 12 or 20"),  # type: ignore[arg-type]
        (lambda: chacha([0] * 7, rounds=8), "key must be 8 whole numbers"),
        (
            lambda: chacha([0] * 8, rounds=8, nonce=2**64),
            "nonce must be a whole number from 0 to 2**64 - 1",
        ),
        (
            lambda: chacha_block([0] * 8, 2**64, 0, 8),
            "counter must be a whole number from 0 to 2**64 - 1",
        ),
        (lambda: philox_block([0] * 3, [0] * 2), "counter must be 4 whole numbers"),
        (
            lambda: philox_block([0] * 4, [0, 2**32]),
            "key[1] must be a whole number from 0 to 2**32 - 1",
        ),
        (
            lambda: philox4x32_words(0, subsequence=-1),
            "subsequence must be a whole number from 0 to 2**64 - 1",
        ),
        (
            lambda: philox4x32_words(0, offset=2**64),
            "offset must be a whole number from 0 to 2**64 - 1",
        ),
        (lambda: philox4x64_words([0]), "key must be 2 whole numbers"),
        (lambda: threefry2x32([0, 0], [0]), "key must be 2 whole numbers"),
        (lambda: threefry2x32_bits([0, 0], -1), "count must be a whole number from 0 to 2**32 - 1"),
        (
            lambda: threefry2x32_bits([0, 0], 1.0),  # type: ignore[arg-type]
            "count must be a whole number from 0 to 2**32 - 1",
        ),
        (lambda: threefry2x32_key(2**64), "seed must be a whole number from 0 to 2**64 - 1"),
        (lambda: pcg32_key(2**64), "seed must be a whole number from 0 to 2**64 - 1"),
        (lambda: seed_sequence(-1, 2), "seed must be a whole number of at least 0"),
        (lambda: murmur3_32([2**32]), "words[0] must be a whole number from 0 to 2**32 - 1"),
        (lambda: murmur3_32("test"), "words must be 1 whole numbers"),  # type: ignore[arg-type]
        (lambda: murmur3_32([], 2**32), "seed must be a whole number from 0 to 2**32 - 1"),
        (lambda: murmur_noise(2**64, 0, 0), "seed must be a whole number from 0 to 2**64 - 1"),
        (lambda: murmur_noise(0, 2**32, 0), "position must be a whole number from 0 to 2**32 - 1"),
        (lambda: murmur_noise(0, 0, -1), "column must be a whole number from 0 to 2**32 - 1"),
        (
            lambda: murmur_noise(0, 0, 0, domain=-1),
            "domain must be a whole number from 0 to 2**32 - 1",
        ),
    ],
)
def test_what_does_not_fit_a_generator_gives_one_sentence(
    call: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}.*, got "):
        call()
