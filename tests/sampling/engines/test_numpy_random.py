"""numpy's generators give the words and numbers of the reference, for equal seeds."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from sampling_ref.random.mt19937 import (
    mt19937,
    mt19937_by_array,
    mt19937_by_seed_sequence,
    mt19937_words,
)
from sampling_ref.random.pcg64 import pcg64_by_seed_sequence
from sampling_ref.random.philox import philox4x64_by_seed_sequence, philox4x64_words
from sampling_ref.random.seed_sequence import seed_sequence, seed_sequence_64
from sampling_ref.random.uniforms import mt19937_double, numpy_double, numpy_float
from sampling_ref.random.words import low_then_high

numpy = pytest.importorskip("numpy", reason="numpy is not installed")

SEEDS = [0, 1, 42, 2**31, 2**32 - 1]
LONG_SEEDS = [*SEEDS, 2**32, 2**64 - 1, 2**128 + 12345, 3**200]
COUNT = 2000


def first(words: Iterator[int], count: int = COUNT) -> list[int]:
    return list(islice(words, count))


def in_pairs(words: Iterator[int]) -> list[float]:
    return [mt19937_double(next(words), next(words)) for _ in range(COUNT)]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_state_with_a_number_is_mt19937_seeded_by_one_word(seed: int) -> None:
    peer = numpy.random.RandomState(seed)
    assert in_pairs(mt19937(seed)) == peer.random_sample(COUNT).tolist()


def test_random_state_with_a_list_is_mt19937_seeded_by_an_array() -> None:
    for key in ([0], [1, 2, 3], [2**32 - 1] * 7, list(range(700))):
        peer = numpy.random.RandomState(key)
        assert in_pairs(mt19937_by_array(key)) == peer.random_sample(COUNT).tolist()


def test_a_state_of_numpy_can_be_continued() -> None:
    peer = numpy.random.RandomState(5)
    peer.random_sample(321)
    _, state, position, *_ = peer.get_state()
    words = mt19937_words(state.tolist(), int(position))
    assert in_pairs(words) == peer.random_sample(COUNT).tolist()


@pytest.mark.parametrize("seed", LONG_SEEDS)
def test_a_seed_sequence_is_numpys(seed: int) -> None:
    peer = numpy.random.SeedSequence(seed)
    for count in (1, 3, 4, 5, 50):
        assert seed_sequence(seed, count) == peer.generate_state(count).tolist()
        wide = peer.generate_state(count, numpy.uint64).tolist()
        assert seed_sequence_64(seed, count) == wide


@pytest.mark.parametrize("seed", LONG_SEEDS)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MT19937", mt19937_by_seed_sequence),
        ("PCG64", pcg64_by_seed_sequence),
        ("Philox", philox4x64_by_seed_sequence),
    ],
)
def test_bit_generators_give_the_same_words(name: str, words: Any, seed: int) -> None:
    peer = getattr(numpy.random, name)(seed)
    assert first(words(seed)) == peer.random_raw(COUNT).tolist()


def test_philox_with_key_and_counter_gives_the_same_words() -> None:
    top = 2**64 - 1
    for key, counter in (([0, 0], [0] * 4), ([1, 2], [top, 0, 5, 6]), ([top] * 2, [top] * 4)):
        peer = numpy.random.Philox(
            key=numpy.array(key, dtype=numpy.uint64),
            counter=numpy.array(counter, dtype=numpy.uint64),
        )
        assert first(philox4x64_words(key, counter=counter)) == peer.random_raw(COUNT).tolist()


@pytest.mark.parametrize("seed", LONG_SEEDS)
def test_generators_give_the_same_numbers(seed: int) -> None:
    peer = numpy.random.default_rng(seed)
    expected = [numpy_double(word) for word in first(pcg64_by_seed_sequence(seed))]
    assert expected == peer.random(COUNT).tolist()
    peer = numpy.random.Generator(numpy.random.Philox(seed))
    expected = [numpy_double(word) for word in first(philox4x64_by_seed_sequence(seed))]
    assert expected == peer.random(COUNT).tolist()
    peer = numpy.random.Generator(numpy.random.MT19937(seed))
    assert in_pairs(mt19937_by_seed_sequence(seed)) == peer.random(COUNT).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_generators_give_the_same_numbers_of_32_bits(seed: int) -> None:
    peer = numpy.random.default_rng(seed)
    halves = low_then_high(pcg64_by_seed_sequence(seed))
    expected = [numpy_float(word) for word in first(halves)]
    assert expected == peer.random(COUNT, dtype=numpy.float32).tolist()
