"""llama.cpp's samplers in 32 bits: what they do at their edges, without the engine.

Recorded values come from the engine (llama_cpp_python 0.3.36) and from the tests of its own
(tests/test-sampling.cpp). `engines/test_llama_cpp.py` compares with the engine itself.
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf, log, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling_ref.engines.llama_cpp_order import (
    falling_positions,
    order_of_partial_sort,
    order_of_sort,
)
from sampling_ref.errors import ParameterError, RandomNumberError, RowError
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.llama32 import sum_in_order
from sampling_ref.random.mt19937 import mt19937
from sampling_ref.random.uniforms import libstdcxx_double, libstdcxx_float
from sampling_ref.row import Candidates
from tests.sampling.llama_cpp_breakers import breakers_of_strings
from tests.sampling.llama_cpp_samplers import (
    AdaptiveState,
    adaptive_p,
    adaptive_p_accept,
    adaptive_p_start,
    discrete,
    dist,
    dist_probabilities,
    dry,
    greedy,
    logit_bias,
    min_p,
    mirostat,
    mirostat_v2,
    mirostat_v2_kept,
    penalties,
    softmax,
    temp,
    temp_ext,
    top_k,
    top_n_sigma,
    top_p,
    typical,
    xtc,
)
from tests.sampling.rows import rows


def of(*logits: float, is_sorted: bool = False) -> Candidates:
    return Candidates(range(len(logits)), logits, is_sorted=is_sorted)


def of_shares(*shares: float) -> Candidates:
    """Return candidates with such probabilities, as the engine's own tests make them."""
    return of(*[log(share) if share else -inf for share in shares])


def close_to(*shares: float) -> object:
    return pytest.approx(shares, abs=1e-5)


# Orders

TIED = [float(i * 7 % 5) for i in range(40)]

# M. D. McIlroy, "A killer adversary for quicksort", 1999: its answers, halved so that there
# are equals. A range of 35 is left when the rounds are used up, and is heap-sorted.
KILLER = [
    44,
    1,
    30,
    2,
    51,
    3,
    31,
    4,
    45,
    5,
    32,
    6,
    52,
    7,
    33,
    8,
    46,
    9,
    34,
    10,
    52,
    11,
    35,
    12,
    47,
    13,
    36,
    14,
    53,
    15,
    37,
    16,
    48,
    17,
    38,
    18,
    53,
    19,
    39,
    20,
    49,
    21,
    40,
    22,
    54,
    23,
    41,
    24,
    50,
    25,
    42,
    26,
    54,
    27,
    43,
    28,
    51,
    29,
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    26,
    27,
    28,
    29,
    30,
    31,
    32,
    33,
    34,
    35,
    36,
    37,
    38,
    39,
    40,
    41,
    42,
    43,
    44,
    45,
    46,
    47,
    48,
    49,
    50,
    55,
    55,
    56,
    56,
    57,
    57,
    58,
    58,
]


def test_equals_are_left_where_the_c_library_leaves_them() -> None:
    assert order_of_sort([-value for value in TIED]) == [
        10,
        20,
        25,
        15,
        30,
        35,
        5,
        0,
        33,
        8,
        28,
        13,
        3,
        38,
        23,
        18,
        31,
        1,
        36,
        26,
        21,
        6,
        16,
        11,
        39,
        19,
        4,
        34,
        9,
        29,
        14,
        24,
        12,
        27,
        32,
        7,
        17,
        37,
        2,
        22,
    ]
    assert order_of_partial_sort(TIED, 12) == [22, 17, 27, 7, 2, 37, 32, 12, 24, 14, 9, 4]
    assert order_of_partial_sort(TIED, 40) == [
        17,
        12,
        37,
        32,
        7,
        27,
        2,
        22,
        39,
        34,
        9,
        4,
        24,
        19,
        29,
        14,
        31,
        16,
        1,
        36,
        21,
        11,
        26,
        6,
        33,
        8,
        18,
        38,
        3,
        23,
        13,
        28,
        15,
        35,
        20,
        10,
        0,
        5,
        25,
        30,
    ]


def test_a_range_that_is_halved_too_badly_is_sorted_by_a_heap() -> None:
    assert order_of_sort([-float(value) for value in KILLER]) == [
        58,
        1,
        59,
        3,
        60,
        5,
        61,
        7,
        62,
        9,
        63,
        64,
        11,
        65,
        13,
        66,
        15,
        67,
        17,
        19,
        68,
        21,
        69,
        70,
        23,
        71,
        25,
        27,
        72,
        73,
        29,
        74,
        31,
        33,
        75,
        76,
        35,
        77,
        37,
        78,
        39,
        79,
        41,
        80,
        43,
        81,
        45,
        82,
        47,
        83,
        49,
        84,
        51,
        85,
        53,
        55,
        86,
        87,
        57,
        2,
        88,
        89,
        6,
        90,
        10,
        91,
        14,
        92,
        18,
        93,
        22,
        94,
        26,
        30,
        95,
        34,
        96,
        97,
        38,
        98,
        42,
        99,
        46,
        100,
        50,
        101,
        54,
        0,
        102,
        103,
        8,
        104,
        16,
        105,
        24,
        32,
        106,
        40,
        107,
        48,
        108,
        4,
        56,
        20,
        12,
        36,
        28,
        52,
        44,
        109,
        110,
        111,
        112,
        113,
        114,
        115,
        116,
    ]


@given(st.lists(st.integers(-3, 3).map(float), max_size=60), st.integers(0, 60))
def test_orders_are_falling_permutations(values: list[float], count: int) -> None:
    order = order_of_sort(values)
    assert sorted(order) == list(range(len(values)))
    assert [values[place] for place in order] == sorted(values, reverse=True)
    count = min(count, len(values))
    first = order_of_partial_sort(values, count)
    assert len(set(first)) == count
    assert [values[place] for place in first] == sorted(values, reverse=True)[:count]


def test_nan_everywhere_is_sorted_as_equals_are() -> None:
    for count in (5, 17, 40):
        assert order_of_sort([nan] * count) == order_of_sort([0.0] * count)
        assert order_of_sort([float("nan") for _ in range(count)]) == order_of_sort([0.0] * count)


def test_more_than_128_candidates_are_sorted_by_buckets() -> None:
    row = [0.0] * 130
    assert falling_positions(row, 128) == order_of_partial_sort(row, 128)
    assert falling_positions([1.0, *row], 131)[0] == 0
    # Two buckets: std::sort in the upper one, std::partial_sort in the lower one.
    row = [1.0 if place % 2 else 0.0 for place in range(140)]
    upper, lower = list(range(1, 140, 2)), list(range(0, 140, 2))
    expected = [upper[place] for place in order_of_sort([1.0] * 70)]
    expected += [lower[place] for place in order_of_partial_sort([0.0] * 70, 65)]
    assert falling_positions(row, 135) == expected


def test_buckets_end_at_minus_and_plus_ten_and_at_32_bit_integers() -> None:
    row = [50.0, 10.0, 9.9, -inf, -50.0, -10.0, 335_544_256.0, 335_544_288.0, 3e38] + [0.0] * 130
    order = falling_positions(row, len(row))
    assert order[:4] == [6, 0, 1, 2]
    assert order[-5:] == [8, 7, 5, 4, 3]
    assert falling_positions(row, 3) == [8, 7, 6]


# Filters


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda row: top_k(row, 1), [1.0]),
        (lambda row: top_k(row, 3), [0.44444, 0.33333, 0.22222]),
        (lambda row: top_k(row, 4), [0.4, 0.3, 0.2, 0.1]),
        (lambda row: top_k(row, 0), [0.1, 0.2, 0.3, 0.4]),
        (lambda row: top_p(row, 0), [1.0]),
        (lambda row: top_p(row, 0.7), [0.571429, 0.428571]),
        (lambda row: top_p(row, 0.8), [0.44444, 0.33333, 0.22222]),
        (lambda row: top_p(row, 1), [0.1, 0.2, 0.3, 0.4]),
        (lambda row: min_p(row, 0), [0.1, 0.2, 0.3, 0.4]),
        (lambda row: min_p(row, 0.26), [0.22222, 0.33333, 0.44444]),
        (lambda row: min_p(row, 0.49), [0.22222, 0.33333, 0.44444]),
        (lambda row: min_p(row, 0.51), [0.428571, 0.571429]),
        (lambda row: min_p(row, 1.05), [1.0]),
        (lambda row: top_n_sigma(row, 1), [0.0, 0.0, 0.428571, 0.571429]),
        (lambda row: top_n_sigma(row, 0), [0.1, 0.2, 0.3, 0.4]),
        (lambda row: top_n_sigma(row, 3), [0.1, 0.2, 0.3, 0.4]),
        (lambda row: temp(row, 1), [0.1, 0.2, 0.3, 0.4]),
        (lambda row: temp(row, 0), [0.0, 0.0, 0.0, 1.0]),
        (lambda row: temp_ext(row, 1, 0, 1), [0.1, 0.2, 0.3, 0.4]),
        (lambda row: temp_ext(row, 0, 0, 1), [0.0, 0.0, 0.0, 1.0]),
    ],
)
def test_the_engines_own_tests_of_filters(
    step: Callable[[Candidates], Candidates], expected: list[float]
) -> None:
    assert softmax(step(of_shares(0.1, 0.2, 0.3, 0.4))) == close_to(*expected)


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.09, [3]), (0.19, [2, 3]), (0.29, [1, 2, 3]), (0.39, [0, 1, 2, 3])],
)
def test_the_engines_own_tests_of_xtc(threshold: float, expected: list[int]) -> None:
    row = of_shares(0.4, 0.3, 0.2, 0.1)
    assert xtc(row, mt19937(0), 0.99, threshold).tokens == expected


@pytest.mark.parametrize(
    ("history", "repeat", "additive", "expected"),
    [
        ([0], 50, 0, [0, 0.25, 0.25, 0.25, 0.25]),
        ([0, 1, 2], 50, 0, [0, 0, 0, 0.5, 0.5]),
        ([0, 1, 2, 0, 0], 50, 0, [0, 0, 0, 0.5, 0.5]),
        ([0], 1, 5, [0.000011, 0.249997, 0.249997, 0.249997, 0.249997]),
        ([0, 1, 2], 1, 5, [0.000023, 0.000023, 0.000023, 0.499966, 0.499966]),
        ([0, 1, 2, 0, 0], 1, 5, [0, 0.000023, 0.000023, 0.499977, 0.499977]),
    ],
)
def test_the_engines_own_tests_of_penalties(
    history: list[int], repeat: float, additive: float, expected: list[float]
) -> None:
    penalised = penalties(
        of_shares(0.2, 0.2, 0.2, 0.2, 0.2), history, len(history), repeat, additive, additive
    )
    assert softmax(penalised) == close_to(*expected)


@pytest.mark.parametrize(
    ("size", "history", "multiplier", "allowed", "breakers", "expected"),
    [
        (4, [0, 1], 1, 2, [], [0.25] * 4),
        (4, [0, 1, 2, 0, 1], 1, 2, [], [0.296923, 0.296923, 0.109232, 0.296923]),
        (5, [0, 1, 3, 4, 0, 1], 1, 2, [[3]], [0.2] * 5),
        (5, [0, 1, 2, 0, 1], 2, 2, [], [0.241818, 0.241818, 0.032727, 0.241818, 0.241818]),
        (5, [0, 1, 2, 3, 4, 0, 1], 1, 4, [], [0.2] * 5),
    ],
)
def test_the_engines_own_tests_of_dry(
    size: int,
    history: list[int],
    multiplier: float,
    allowed: int,
    breakers: list[list[int]],
    expected: list[float],
) -> None:
    row = of_shares(*[1 / size] * size)
    penalised = dry(row, history, multiplier, 1.1, allowed, len(history), breakers)
    assert softmax(penalised) == close_to(*expected)


def test_the_engines_own_tests_of_typical() -> None:
    assert typical(of_shares(0.97, 0.01, 0.01, 0.01), 0.5).tokens == [0]
    assert len(typical(of_shares(0.4, 0.2, 0.2, 0.2), 0.5).tokens) == 3
    assert 0 not in typical(of_shares(0.4, 0.2, 0.2, 0.2), 0.5).tokens


def test_recorded_logits() -> None:
    row = of(0.5, -1.25, 3.0)
    assert penalties(row, [0, 0, 1], 64, 1.5, 0.25, 0.5).logits == [
        -0.6666666269302368,
        -2.625,
        3.0,
    ]
    assert top_n_sigma(row, 1.0).logits == [-inf, -inf, 3.0]
    assert temp(row, 0.7).logits == [0.7142857313156128, -1.7857142686843872, 4.285714149475098]
    heated = temp_ext(row, 1.0, 0.5, 2.0)
    assert heated.tokens == [2, 0, 1]
    assert heated.logits == [5.061733245849609, 0.8436222076416016, -2.109055519104004]


def test_a_bias_of_a_token_listed_twice_counts_once_where_the_token_has_moved() -> None:
    biases = [(1, 1.0), (1, 2.0), (9, 5.0), (-1, 5.0)]
    assert logit_bias(of(0.0, 0.0), biases).logits == [0.0, 3.0]
    assert logit_bias(Candidates([1, 0], [0.0, 0.0]), biases).logits == [1.0, 0.0]
    assert logit_bias(of(1.0, 0.0, is_sorted=True), [(0, -inf)]).is_sorted
    assert logit_bias(of(1.0, 0.0), [(0, -inf)]).logits == [-inf, 0.0]


def test_penalties_that_change_nothing_still_take_the_flag() -> None:
    row = of(1.0, 0.5, is_sorted=True)
    assert not penalties(row, [], 64, 2.0).is_sorted
    assert penalties(row, [0], 0, 2.0) is row
    assert penalties(row, [0], -1, 2.0) is row
    assert penalties(row, [0], 64, 1.0, 0.0, 0.0) is row
    assert penalties(of(0.0), [0], 64, 2.0, 0.0, 0.5).logits == [-0.5]
    assert penalties(of(-1.0), [0, 0, 0], 2, 1.0, 0.25).logits == [-1.5]


def test_a_repetition_is_as_long_as_the_part_that_was_seen_before() -> None:
    row = of(0.0, 0.0, 0.0, 0.0)

    def penalty(history: list[int], breakers: list[list[int]], allowed: int = 1) -> list[float]:
        return [
            -float(logit) for logit in dry(row, history, 1.0, 2.0, allowed, 64, breakers).logits
        ]

    assert penalty([0, 1, 2, 0, 1], []) == [0, 0, 2, 0]
    assert penalty([0, 1, 2, 0, 1], [], 2) == [0, 0, 1, 0]
    assert penalty([0, 1, 2, 0, 1], [], 3) == [0, 0, 0, 0]
    assert penalty([0, 0, 0, 0], []) == [4, 0, 0, 0]
    assert penalty([0, 1, 2, 0, 1], [[0]]) == [0, 0, 1, 0]  # nothing reaches over token 0
    assert penalty([0, 1, 2, 0, 1], [[1]]) == [0, 0, 0, 0]
    assert penalty([0, 1, 2, 0, 1], [[2]]) == [0, 0, 0, 0]  # it is a breaker itself
    assert penalty([0, 1, 2, 0, 1], [[2, 3]]) == [0, 0, 2, 0]
    assert penalty([3, 1, 2, 0, 3, 1, 2], [[3, 1]]) == [1, 0, 0, 0]
    assert penalty([3, 1, 2, 0, 3, 1, 2], [[1, 3], [3], [3, 1]]) == [1, 0, 0, 0]
    assert penalty([3, 1, 2, 0, 3, 1, 2], [[3]]) == [2, 0, 0, 0]
    assert penalty([0, 1, 2, 0, 1], [[]]) == [0, 0, 2, 0]
    assert penalty([0], [], 0) == [0, 0, 0, 0]
    assert penalty([0, 1], [], 0) == [0, 1, 0, 0]  # what follows a repetition of nothing


def test_dry_takes_the_flag_only_where_it_has_searched() -> None:
    row = of(1.0, 0.0, is_sorted=True)
    assert dry(row, [0, 1], 1.0, 2.0, 2) is row
    assert dry(row, [0, 1, 0], 0.0) is row
    assert dry(row, [0, 1, 0], 1.0, 0.99) is row
    assert dry(row, [0, 1, 0], 1.0, 2.0, 1, 0) is row
    assert dry(row, [0, 1, 0], 1.0, 2.0, 1, -1) is row
    assert dry(row, [0, 1, 0], 1.0, 2.0, 1, 64, [[0]]) is row
    assert not dry(row, [1, 1, 0], 1.0, 2.0, 2).is_sorted


def test_the_penalty_of_dry_stops_growing_before_it_is_infinite() -> None:
    history = [0] * 300
    assert dry(of(0.0), history, 1.0, 1.5, 0, 300).logits == [-to_binary32(1.5**218)]
    assert dry(of(0.0), [0] * 2000, 1.0, 1.05, 0, 2000).logits == [
        -to_binary32(Fraction(to_binary32(1.05)) ** 1818)
    ]
    assert dry(of(0.0), history, 1.0, 60.0, 0, 300).logits == [-to_binary32(Fraction(60**21))]
    assert dry(of(0.0), history, 1.0, 1.0, 0, 300).logits == [-1.0]
    assert dry(of(0.0), history, 1.0, 3e38, 0, 300).logits == [-to_binary32(3e38)]
    # With base 2 the largest exponent is 128, one too many.
    assert dry(of(0.0), history, 1.0, 2.0, 0, 300).logits == [-inf]
    assert dry(of(0.0), history[:128], 1.0, 2.0, 0, 300).logits == [-(2.0**127)]


def test_sorted_candidates_are_cut_where_they_are() -> None:
    row = Candidates([5, 3, 4], [2.0, 1.0, 1.0], is_sorted=True)
    assert top_k(row, 2).tokens == [5, 3]
    assert top_p(row, 0.7).tokens == [5, 3]
    assert min_p(row, 0.5).tokens == [5]
    assert top_k(row, -1) is row
    assert top_p(row, 1.5) is row
    assert min_p(row, -0.5) is row
    assert typical(row, 1.0) is row
    assert top_n_sigma(row, -1.0) is row


def test_at_least_min_keep_are_kept() -> None:
    row = of(0.0, 5.0, 1.0, 0.5)
    assert top_p(row, 0.1, 3).tokens == [1, 2, 3]
    assert top_p(row, 0.1, 9).tokens == [1, 2, 3, 0]
    assert min_p(row, 0.5, 1).tokens == [1]
    assert min_p(row, 0.5, 1).is_sorted is False
    assert min_p(row, 0.5, 2).tokens == [1, 2]
    assert min_p(row, 0.5, 2).is_sorted is True
    assert min_p(row, 0.5, 9).tokens == [1, 2, 3, 0]
    assert len(typical(row, 0.0, 2).tokens) == 2
    assert xtc(of(1.0, 1.0, 0.0), iter([0]), 1.0, 0.25, 2).tokens == [1, 2]
    assert xtc(of(1.0, 1.0, 0.0), iter([0]), 1.0, 0.25, 3).tokens == [0, 1, 2]


def test_top_p_of_more_than_1024_candidates_tries_256_of_them_first() -> None:
    row = [0.0] * 1024
    assert top_p(of(*row), 0.125).tokens == falling_positions(row, 1024)[:128]
    row = [0.0] * 1025
    assert top_p(of(*row), 0.125).tokens == falling_positions(row, 256)[:129]
    assert top_p(of(*row), 0.5).tokens == falling_positions(row, 1025)[:513]
    assert falling_positions(row, 256)[:129] != falling_positions(row, 1025)[:129]


def test_an_impossible_candidate_makes_typical_cut_an_unordered_list() -> None:
    row = of(*[float(place % 3) for place in range(20)], -inf)
    expected = [1, 20, 6, 12, 9, 0, 18, 3, 15, 13, 19, 8, 10, 4, 7, 16, 2]
    assert typical(row, 0.5).tokens == expected


def test_temperature_0_keeps_the_first_maximum_and_the_impossible_candidates() -> None:
    assert temp(of(1.0, 2.0, 2.0), 0.0).logits == [-inf, 2.0, -inf]
    assert temp(of(1.0, 2.0, 2.0), -1.0).logits == [-inf, 2.0, -inf]
    assert temp(of(1.0, 2.0, 2.0), 1e-46).logits == [-inf, 2.0, -inf]  # 0 in 32 bits
    assert temp(of(1.0, is_sorted=True), 0.5).is_sorted


def test_dynamic_temperature_leaves_a_single_candidate_and_sorts_others() -> None:
    assert temp_ext(of(3.0), 2.0, 0.5).logits == (3.0,)
    assert temp_ext(of(3.0), 2.0, 0.0).logits == [1.5]
    assert temp_ext(of(1.0, 1.0), 1.5, 0.5).logits == [0.5, 0.5]
    assert temp_ext(of(0.0, 200.0), 0.5, 1.0).logits == [200.0, -inf]  # temperature 0
    assert temp_ext(of(0.0, 200.0), 1.0, 0.5, 0.0).logits == [to_binary32(200 / 1.5), 0.0]
    assert temp_ext(of(0.0, 1.0), 1.0, 0.5).is_sorted


# Selectors


def test_recorded_draws() -> None:
    words = mt19937(7)
    drawn = [dist(of(0.0, 1.0, 2.0), words) for _ in range(12)]
    assert drawn == [1, 1, 2, 2, 1, 1, 0, 2, 0, 2, 2, 1]
    words = mt19937(11)
    left = [len(xtc(of(0.0, 1.0, 2.0), words, 0.5, 0.1).tokens) for _ in range(12)]
    assert left == [2, 2, 2, 3, 2, 2, 3, 3, 2, 2, 2, 2]

    row = of(0.0, 1.0, 2.0, 0.5, 0.5, -1.0, 1.5, 0.0)
    words, mu, drawn = mt19937(3), 6.0, []
    for _ in range(12):
        token, mu = mirostat(row, words, mu, n_vocab=8, tau=3.0)
        drawn.append(token)
    assert drawn == [2, 4, 2, 6, 6, 2, 2, 2, 2, 1, 2, 6]
    words, mu, drawn = mt19937(3), 6.0, []
    for _ in range(12):
        token, mu = mirostat_v2(row, words, mu, tau=3.0)
        drawn.append(token)
    assert drawn == [2, 4, 2, 6, 6, 2, 2, 2, 2, 1, 2, 6]
    words, state, drawn = mt19937(3), adaptive_p_start(0.3, 0.9), []
    for _ in range(12):
        token, state = adaptive_p(row, words, state, 0.3)
        state = adaptive_p_accept(state, token, 0.9)
        drawn.append(token)
    assert drawn == [1, 6, 2, 2, 2, 1, 1, 2, 2, 6, 2, 2]


def test_a_single_candidate_takes_words_in_dist_only() -> None:
    words = iter([1, 2, 3])
    assert dist(of(0.5), words) == 0
    assert next(words) == 3
    assert mirostat(of(0.5), iter([]), 10.0, n_vocab=1)[0] == 0
    assert mirostat_v2(of(0.5), iter([]), 10.0)[0] == 0
    assert adaptive_p(of(0.5), iter([]), adaptive_p_start(0.5), 0.5)[0] == 0
    assert xtc(of(0.5), iter([]), 1.0, 0.1).tokens == range(1)


@pytest.mark.parametrize(("probability", "threshold"), [(0.0, 0.1), (-1.0, 0.1), (1.0, 0.51)])
def test_xtc_that_is_off_takes_no_word(probability: float, threshold: float) -> None:
    row = of(1.0, 1.0)
    assert xtc(row, iter([]), probability, threshold) is row


def test_a_uniform_number_of_zero_draws_the_first_candidate_even_if_impossible() -> None:
    assert dist(of(-inf, 1.0), iter([0, 0])) == 0
    assert dist(of(-inf, 1.0), iter([1, 0])) == 1
    assert dist(of(0.0, 0.0), iter([2**32 - 1, 2**32 - 1])) == 1
    assert dist_probabilities(of(-inf, 1.0)) == [0.0, 1.0]
    assert dist_probabilities(of(7.0)) == [1.0]


def test_a_running_sum_that_hits_the_target_is_enough() -> None:
    half = [0, 2**31]
    assert dist(of(0.0, 0.0), iter(half)) == 0
    assert discrete(of(0.0, 0.0), iter(half)) == 0
    assert dist(of(0.0, 0.0), iter([2**12, 2**31])) == 1
    assert discrete(of(0.0, 0.0), iter([2**12, 2**31])) == 1


def test_the_last_running_sum_is_one_whatever_the_sum_is() -> None:
    row = of(*[0.0] * 14)  # the running sums of 1 / 14 end below the largest uniform number
    assert discrete(row, iter([2**32 - 1, 2**32 - 1])) == 14 - 1
    assert sum_in_order([2.0**53, 1.0, 1.0]) == 2.0**53


def test_xtc_acts_where_the_uniform_number_equals_the_probability() -> None:
    row = of(1.0, 1.0, 0.0)
    assert len(xtc(row, iter([2**31]), 0.5, 0.25).tokens) == 2
    assert len(xtc(row, iter([2**31 + 2**8]), 0.5, 0.25).tokens) == 3


def test_uniform_numbers_stay_below_one() -> None:
    assert libstdcxx_double(2**32 - 1, 2**32 - 1) == 1 - 2.0**-53
    assert libstdcxx_double(2**31, 0) == 2.0**-33
    assert libstdcxx_float(2**32 - 1) == 1 - 2.0**-24
    assert libstdcxx_float(2**8 - 1) == 255 * 2.0**-32


@pytest.mark.parametrize("word", [-1, 2**32, 0.5, True, None])
def test_words_are_32_bit_integers(word: object) -> None:
    with pytest.raises(ParameterError, match="must be a whole number from 0 to 2"):
        dist(of(0.0, 0.0), iter([word, word]))  # type: ignore[list-item]
    with pytest.raises(RandomNumberError, match="none is left"):
        dist(of(0.0, 0.0), iter([0]))


def test_greedy_takes_the_first_in_the_order_of_the_candidates() -> None:
    assert greedy(of(1.0, 2.0, 2.0)) == 1
    assert greedy(Candidates([2, 1, 0], [2.0, 2.0, 1.0])) == 2


def test_mirostat_of_a_flat_row_keeps_one_candidate() -> None:
    token, mu = mirostat(of(*[0.0] * 20), iter([]), 10.0, n_vocab=20, tau=5.0, eta=0.5)
    assert (token, mu) == (order_of_partial_sort([0.0] * 20, 20)[0], 12.5)


def test_mirostat_v2_keeps_what_is_not_more_surprising_than_mu() -> None:
    assert len(mirostat_v2_kept(of(0.0, 0.0, 0.0, 0.0), 2.0).tokens) == 4
    assert len(mirostat_v2_kept(of(0.0, 0.0, 0.0, 0.0), 1.9999).tokens) == 1
    assert len(mirostat_v2_kept(of(0.0, 0.0, -inf), 200.0).tokens) == 2


def test_adaptive_p_forgets_what_was_not_accepted() -> None:
    state = AdaptiveState(1.0, 2.0, (4, 0.25))
    assert adaptive_p_accept(state, 5, 0.5) == AdaptiveState(1.0, 2.0)
    assert adaptive_p_accept(AdaptiveState(1.0, 2.0), 5, 0.5) == AdaptiveState(1.0, 2.0)
    assert adaptive_p_start(0.5, -3.0) == AdaptiveState(0.5, 1.0)
    assert adaptive_p_start(0.5, 7.0) == adaptive_p_start(0.5, 0.99)
    row = of(0.0, 0.0)
    assert adaptive_p(row, iter([0, 0]), state, -1.0) == (0, state)


def test_strings_break_where_a_token_contains_or_begins_them() -> None:
    pieces = [b"a", b"b", b"xab", b"xa", b"aa", b""]
    assert breakers_of_strings([b"ab"], pieces, lambda _: [1]) == [(2,), (0, 1), (3, 1), (4, 1)]
    assert breakers_of_strings([b""], pieces, lambda _: [1]) == []
    # A text can end with several beginnings: "aa" with "aa" and with "a" of "aab".
    found = breakers_of_strings([b"aab"], [b"aa"], list)
    assert sorted(found) == [(0, *b"ab"), (0, *b"b")]
    long = breakers_of_strings([b"a" + b"b" * 60], [b"a"], list)
    assert long == [(0, *b"b" * 20)]


# Bad input

STEPS: dict[str, Callable[[Candidates], object]] = {
    "logit_bias": lambda row: logit_bias(row, [(0, 1.0)]),
    "penalties": lambda row: penalties(row, [0], 64, 1.5),
    "dry": lambda row: dry(row, [0, 0, 0], 1.0),
    "top_n_sigma": lambda row: top_n_sigma(row, 1.0),
    "top_k": lambda row: top_k(row, 2),
    "typical": lambda row: typical(row, 0.5),
    "top_p": lambda row: top_p(row, 0.5),
    "min_p": lambda row: min_p(row, 0.5),
    "xtc": lambda row: xtc(row, iter([0]), 1.0, 0.1),
    "temp": lambda row: temp(row, 0.5),
    "temp_ext": lambda row: temp_ext(row, 0.5, 0.5),
    "greedy": greedy,
    "dist": lambda row: dist(row, iter([0, 0])),
    "mirostat": lambda row: mirostat(row, iter([0, 0]), 10.0, n_vocab=2),
    "mirostat_v2": lambda row: mirostat_v2(row, iter([0, 0]), 10.0),
    "adaptive_p": lambda row: adaptive_p(row, iter([0, 0]), adaptive_p_start(0.5), 0.5),
}
THAT_NEED_A_POSSIBLE_TOKEN = [
    *("typical", "top_p", "min_p", "xtc", "temp_ext"),
    *("greedy", "dist", "mirostat", "mirostat_v2", "adaptive_p"),
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("logits", [[], [nan, 0.0], [0.0, inf], [0.0, 1e39]])
def test_rows_that_mean_nothing_are_errors(step: str, logits: list[float]) -> None:
    with pytest.raises(RowError):
        STEPS[step](of(*logits))


@pytest.mark.parametrize("step", STEPS)
def test_candidates_behind_an_exact_temperature_are_an_error(step: str) -> None:
    with pytest.raises(ParameterError, match="factor must be 1"):
        STEPS[step](Candidates([0, 1], [0.0, 0.0], Fraction(1, 2)))


@pytest.mark.parametrize("step", THAT_NEED_A_POSSIBLE_TOKEN)
def test_rows_without_a_possible_token_are_errors(step: str) -> None:
    with pytest.raises(RowError, match="must leave a token possible"):
        STEPS[step](of(-inf, -inf))


@settings(max_examples=30)
@given(rows(most=2))
def test_no_argument_is_changed(row: list[float]) -> None:
    tokens, logits = list(range(len(row))), list(row)
    candidates = Candidates(tokens, logits)
    for step in STEPS.values():
        step(candidates)
    assert (tokens, logits) == (list(range(len(row))), row)


def test_a_wrong_maximum_that_makes_weights_infinite_is_an_error() -> None:
    with pytest.raises(RowError, match="not the largest"):
        softmax(of(0.0, 100.0, is_sorted=True))
