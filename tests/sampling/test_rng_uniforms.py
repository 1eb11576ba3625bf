"""Each conversion gives its engine's value: at both ends, where it rounds, from real streams."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import accumulate, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RandomNumberError
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.random import uniforms
from sampling_ref.random.chacha import chacha_by_seed
from sampling_ref.random.isaac64 import isaac64_by_seed
from sampling_ref.random.mt19937 import mt19937
from sampling_ref.random.threefry import threefry2x32_bits
from sampling_ref.random.words import high_halves, low_then_high, pairs_low_first
from sampling_ref.random.xoshiro256plusplus import xoshiro256plusplus_by_seed

WORD = 2**32 - 1
LONG = 2**64 - 1

ONE_WORD: dict[str, tuple[Callable[[int], float], int]] = {
    "libstdcxx_float": (uniforms.libstdcxx_float, 32),
    "numpy_double": (uniforms.numpy_double, 64),
    "numpy_float": (uniforms.numpy_float, 32),
    "torch_cpu_float": (uniforms.torch_cpu_float, 32),
    "curand_float": (uniforms.curand_float, 32),
    "torch_cuda_float": (uniforms.torch_cuda_float, 32),
    "rust_double": (uniforms.rust_double, 64),
    "rust_float": (uniforms.rust_float, 32),
    "rust_weighted_index": (uniforms.rust_weighted_index, 32),
    "vllm_float": (uniforms.vllm_float, 32),
    "sglang_double": (uniforms.sglang_double, 32),
    "mlx_float": (uniforms.mlx_float, 32),
}
TWO_WORDS: dict[str, Callable[[int, int], float]] = {
    "libstdcxx_double": uniforms.libstdcxx_double,
    "mt19937_double": uniforms.mt19937_double,
    "torch_cpu_double": uniforms.torch_cpu_double,
    "vllm_double": uniforms.vllm_double,
}
NARROW = {name for name in ONE_WORD if name.endswith(("float", "index"))}
REACHES_ONE = {"curand_float", "vllm_float", "sglang_double"}
NEVER_ZERO = {"curand_float", "vllm_float", "vllm_double"}


@pytest.mark.parametrize("name", ONE_WORD)
def test_the_lowest_and_the_highest_word_give_the_ends_that_the_table_says(name: str) -> None:
    convert, bits = ONE_WORD[name]
    assert (min(convert(0), convert(2**bits - 1)) > 0) == (name in NEVER_ZERO)
    top = max(convert(2**bits - 1), convert(2**bits - 200))
    assert (top == 1) == (name in REACHES_ONE)
    assert top > 1 - 2.0**-22


@pytest.mark.parametrize("name", TWO_WORDS)
def test_the_lowest_and_the_highest_words_give_the_ends_that_the_table_says(name: str) -> None:
    convert = TWO_WORDS[name]
    assert (convert(0, 0) > 0) == (name in NEVER_ZERO)
    assert convert(WORD, WORD) == 1 - 2.0**-53


@pytest.mark.parametrize("name", sorted(NARROW))
@given(word=st.integers(0, WORD) | st.integers(WORD - 600, WORD) | st.integers(0, 600))
def test_conversions_of_32_bits_give_floats_of_32_bits(name: str, word: int) -> None:
    value = ONE_WORD[name][0](word)
    assert value == to_binary32(value)


@given(st.integers(0, WORD), st.integers(0, WORD))
def test_libstdcxx_takes_the_low_word_first_and_rounds_once(first: int, second: int) -> None:
    exact = Fraction(first + (second << 32), 2**64)
    assert uniforms.libstdcxx_double(first, second) == min(float(exact), 1 - 2.0**-53)


@pytest.mark.parametrize(
    ("word", "double", "single"),
    [  # g++ 12.2: std::generate_canonical<double, 53> and <float, 24>, a constant generator
        (1, 2.3283064370807974e-10, 2.32830644e-10),
        (127, 2.9569491750926127e-08, 2.95694917e-08),
        (16777217, 0.0039062502337401384, 0.00390625),
        (2147483648, 0.50000000011641532, 0.5),
        (4294966000, 0.99999969848431636, 0.999999702),
        (4294967167, 0.99999997019767761, 0.99999994),
        (4294967168, 0.99999997043050826, 0.99999994),
        (4294967295, 0.99999999999999989, 0.99999994),
    ],
)
def test_libstdcxx_gives_what_the_library_gave(word: int, double: float, single: float) -> None:
    assert uniforms.libstdcxx_double(word, word) == double
    assert uniforms.libstdcxx_float(word) == to_binary32(single)


def test_libstdcxx_gives_a_seeded_program_its_numbers() -> None:
    # g++ 12.2: uniform_real_distribution<double>, then <float>, of std::mt19937(seed)
    expected = {
        0: (0.59284461651668263, 0.715189338),
        1: (0.99718480823026556, 0.720324516),
        5489: (0.1354770042967805, 0.905791938),
        WORD: (0.11160666544400902, 0.912382841),
    }
    for seed, (double, single) in expected.items():
        words = mt19937(seed)
        assert uniforms.libstdcxx_double(next(words), next(words)) == double
        assert uniforms.libstdcxx_float(next(words)) == to_binary32(single)


@given(st.integers(0, LONG))
def test_high_bits_are_cut_off_not_rounded(word: int) -> None:
    exact = Fraction(word, 2**64)
    for convert in (uniforms.numpy_double, uniforms.rust_double):
        assert 0 <= exact - Fraction(convert(word)) < Fraction(1, 2**53)
    half = word >> 32
    for convert in (uniforms.numpy_float, uniforms.rust_float):
        assert 0 <= Fraction(half, 2**32) - Fraction(convert(half)) < Fraction(1, 2**24)
    assert uniforms.rust_weighted_index(half) == (half >> 9) / 2**23


def test_torch_uses_low_bits() -> None:
    assert uniforms.torch_cpu_float(2**24) == 0
    assert uniforms.torch_cpu_float(2**24 + 1) == 2.0**-24
    assert uniforms.torch_cpu_double(2**21, 0) == 0
    assert uniforms.torch_cpu_double(0, 1) == 2.0**-53
    assert uniforms.torch_cpu_double(2**21 + 1, 0) == 2.0**-21


def test_mt19937_double_takes_27_and_26_bits() -> None:
    assert uniforms.mt19937_double(2**5, 0) == 2.0**-27
    assert uniforms.mt19937_double(2**5 - 1, 2**6) == 2.0**-53
    assert uniforms.mt19937_double(0, 2**6 - 1) == 0


def test_128_words_give_curand_a_one_and_torch_a_zero_instead() -> None:
    ones = [word for word in range(WORD - 300, WORD + 1) if uniforms.curand_float(word) == 1]
    assert ones == list(range(2**32 - 128, 2**32))
    assert {uniforms.torch_cuda_float(word) for word in ones} == {0.0}
    assert uniforms.torch_cuda_float(2**31) == uniforms.curand_float(2**31) == 0.5


def test_curand_rounds_the_word_before_it_adds_the_half() -> None:
    assert uniforms.curand_float(2**24 + 1) == 2.0**-8
    assert uniforms.vllm_float(2**24 + 1) == (2**24 + 2) / 2**32
    assert uniforms.curand_float(2**24 - 1) == uniforms.vllm_float(2**24 - 1)


@given(st.integers(0, WORD) | st.integers(0, 2000) | st.integers(WORD - 2000, WORD))
def test_vllm_rounds_the_middle_of_the_step_once(word: int) -> None:
    assert uniforms.vllm_float(word) == to_binary32(Fraction(2 * word + 1, 2**33))


@given(st.integers(0, WORD), st.integers(0, WORD) | st.just(WORD))
def test_vllm_in_64_bits_stays_inside(low: int, high: int) -> None:
    exact = Fraction(2 * ((high << 32 | low) >> 11) + 1, 2**54)
    value = uniforms.vllm_double(low, high)
    assert 0 < value < 1
    assert value == min(float(exact), 1 - 2.0**-53)


@given(st.integers(0, WORD))
def test_sglang_divides_by_the_largest_word(word: int) -> None:
    assert uniforms.sglang_double(word) == float(Fraction(word, WORD))


def test_mlx_gives_the_numbers_of_mlx() -> None:
    # mlx 0.32.4: mx.random.uniform(shape=(5,), key=mx.random.key(5))
    assert [uniforms.mlx_float(word) for word in threefry2x32_bits([0, 5], 5)] == [
        0.6844151616096497,
        0.6999379992485046,
        0.30842483043670654,
        0.7163480520248413,
        0.06504558026790619,
    ]


def test_exllamav2_stays_a_little_below() -> None:
    assert uniforms.exllamav2_float(1 - 2.0**-53) == to_binary32(0.9998)
    assert uniforms.exllamav2_float(0.1) == to_binary32(to_binary32(0.1) * 0.9998)


# rand 0.9.4, rand_isaac 0.4.0: twelve samples of WeightedIndex<f32> over 40 weights
# (i * 7 % 11) * 0.1, then three random::<f32>() and random::<f64>() of the same seed
RUST = {
    ("StdRng", 0): (
        [32, 29, 23, 31, 32, 1, 26, 24, 36, 10, 4, 31],
        [0.80145925, 0.7311134, 0.55528885],
        [0.7311134158637046, 0.7734601843532382, 0.025844634233355035],
    ),
    ("StdRng", 299792458): (
        [15, 1, 23, 3, 26, 32, 23, 31, 3, 31, 6, 29],
        [0.4008202, 0.014784217, 0.57094896],
        [0.014784271689322726, 0.08168150171892452, 0.8004252222960405],
    ),
    ("SmallRng", 42): (
        [32, 13, 39, 28, 31, 24, 4, 25, 7, 37, 23, 34],
        [0.8143051, 0.318821, 0.9838941],
        [0.8143051451229099, 0.3188210400616611, 0.9838941681774888],
    ),
    ("Isaac64", 42): (
        [39, 18, 15, 31, 29, 29, 36, 9, 37, 17, 9, 31],
        [0.9579947, 0.47098792, 0.39911777],
        [0.47098793460940813, 0.778179233288187, 0.7280398704422922],
    ),
    ("Isaac64", 2**64 - 1): (
        [35, 3, 3, 25, 3, 15, 9, 39, 28, 32, 3, 2],
        [0.8632561, 0.08222675, 0.09634465],
        [0.0822267799785491, 0.6003630808778909, 0.40060335423284277],
    ),
}


def rust_streams(name: str, seed: int) -> tuple[Iterator[int], Iterator[int]]:
    """Return the 32-bit and the 64-bit words of a seeded generator."""
    if name == "StdRng":
        return chacha_by_seed(seed), pairs_low_first(chacha_by_seed(seed))
    if name == "SmallRng":
        return high_halves(xoshiro256plusplus_by_seed(seed)), xoshiro256plusplus_by_seed(seed)
    return low_then_high(isaac64_by_seed(seed)), isaac64_by_seed(seed)


@pytest.mark.parametrize(("name", "seed"), RUST)
def test_rust_draws_and_numbers_are_those_of_the_crates(name: str, seed: int) -> None:
    draws, singles, doubles = RUST[name, seed]
    short, long = rust_streams(name, seed)
    words = list(islice(short, 12))
    tenth = to_binary32(0.1)
    weights = [to_binary32(i * 7 % 11 * tenth) for i in range(40)]
    sums = list(accumulate(weights, lambda one, other: to_binary32(one + other)))
    places = [uniforms.rust_weighted_index(word, sums[-1]) for word in words]
    assert [sum(part <= place for part in sums[:-1]) for place in places] == draws
    assert [uniforms.rust_float(word) for word in words[:3]] == [to_binary32(x) for x in singles]
    assert [uniforms.rust_double(word) for word in islice(long, 3)] == doubles


@pytest.mark.parametrize("name", ONE_WORD)
@pytest.mark.parametrize("word", [-1, 0.0, True, "0", None])
def test_what_is_no_word_is_an_error(name: str, word: Any) -> None:
    convert, bits = ONE_WORD[name]
    for wrong in (word, 2**bits):
        with pytest.raises(ParameterError, match=r"^word must be a whole number from 0 to 2\*\*"):
            convert(wrong)


@pytest.mark.parametrize("name", TWO_WORDS)
@pytest.mark.parametrize("word", [-1, 2**32, 0.0, True, "0", None])
def test_neither_of_two_words_may_be_wrong(name: str, word: Any) -> None:
    for pair in ((word, 0), (0, word)):
        with pytest.raises(ParameterError, match=r"must be a whole number from 0 to 2\*\*32 - 1"):
            TWO_WORDS[name](*pair)


@pytest.mark.parametrize("u", [-0.5, 1.0, float("nan"), True, "0", None])
def test_exllamav2_takes_a_number_in_its_interval(u: Any) -> None:
    with pytest.raises(RandomNumberError, match=r"^uniform must be in \[0, 1\), got "):
        uniforms.exllamav2_float(u)


@pytest.mark.parametrize("total", [0.0, -1.0, float("inf"), float("nan"), True, "1", None])
def test_a_total_is_a_positive_number(total: Any) -> None:
    with pytest.raises(RandomNumberError, match=r"^total must be a positive 32-bit float, got "):
        uniforms.rust_weighted_index(0, total)
