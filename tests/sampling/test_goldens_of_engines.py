"""The numbers in engines' own tests come out of the records, in both precisions.

llama.cpp
    tests/test-sampling.cpp at 07e4038f (https://github.com/ggml-org/llama.cpp), tolerance 1e-5.
candle
    candle-transformers/tests/generation_tests.rs at 2a13b0f3, seeds included.
mistral.rs
    the tests in mistralrs-core/src/sampler.rs at 9e922623.
exllamav3
    tests/test_sampler.py at 4f8ad012; the rows of many equals are shortened.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from math import inf, log
from typing import Any, Literal, TypeAlias

import pytest

from sampling_ref import Use, chain, distribution, explain, logprobs, sample, step
from sampling_ref.errors import RowError
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.random.chacha import chacha_by_seed
from sampling_ref.random.uniforms import rust_weighted_index
from sampling_ref.row import Candidates, ReadRow, all_candidates
from tests.sampling.llama_cpp_samplers import min_p, top_k, top_p
from tests.sampling.records import alone, kept, logs

Precision: TypeAlias = Literal["exact", "f32"]
both = pytest.mark.parametrize("precision", ["exact", "f32"])

TENTHS = (0.1, 0.2, 0.3, 0.4)
FALLING = (0.4, 0.3, 0.2, 0.1)
FOUR, FIVE = (0.25,) * 4, (0.2,) * 5

# --- llama.cpp --------------------------------------------------------------------------------


def logf(shares: Sequence[float]) -> list[float]:
    """Return 32-bit logarithms of 32-bit shares, as the engine's tests do."""
    return [to_binary32(log(to_binary32(share))) for share in shares]


def in_its_order(precision: Precision, shares: Sequence[float], **params: Any) -> list[float]:
    """Return the probabilities of llama.cpp's candidates, in the order that they have."""
    logits, params = logf(shares), alone("llama.cpp", precision=precision, **params)
    trace = explain("llama.cpp", logits, **params)
    result = distribution("llama.cpp", logits, **params)
    return [result[token] for token in trace.steps[-1].after.tokens]


@both
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"temp": 1.0}, [0.1, 0.2, 0.3, 0.4]),
        ({"temp": 0.0}, [0.0, 0.0, 0.0, 1.0]),
        ({"temp": 1.0, "dynatemp_range": 0.0}, [0.1, 0.2, 0.3, 0.4]),
        ({"temp": 0.0, "dynatemp_range": 0.0}, [0.0, 0.0, 0.0, 1.0]),
        ({"top_k": 1}, [1.0]),
        ({"top_k": 3}, [0.44444, 0.33333, 0.22222]),
        ({"top_k": 4}, [0.4, 0.3, 0.2, 0.1]),
        ({"top_k": 0}, [0.1, 0.2, 0.3, 0.4]),
        ({"top_p": 0.0}, [1.0]),
        ({"top_p": 0.7}, [0.571429, 0.428571]),
        ({"top_p": 0.8}, [0.44444, 0.33333, 0.22222]),
        ({"top_p": 1.0}, [0.1, 0.2, 0.3, 0.4]),
        ({"min_p": 0.0}, [0.1, 0.2, 0.3, 0.4]),
        ({"min_p": 0.24}, [0.1, 0.2, 0.3, 0.4]),
        ({"min_p": 0.26}, [2 / 9, 3 / 9, 4 / 9]),
        ({"min_p": 0.49}, [2 / 9, 3 / 9, 4 / 9]),
        ({"min_p": 0.51}, [3 / 7, 4 / 7]),
        ({"min_p": 0.74}, [3 / 7, 4 / 7]),
        ({"min_p": 0.76}, [1.0]),
        ({"min_p": 1.0}, [1.0]),
        ({"min_p": 1.05}, [1.0]),
        ({"top_n_sigma": 1.0}, [0.0, 0.0, 0.428571, 0.571429]),
        ({"top_n_sigma": 0.0}, [0.1, 0.2, 0.3, 0.4]),
        ({"top_n_sigma": 3.0}, [0.1, 0.2, 0.3, 0.4]),
    ],
)
def test_llama_cpp_filters_and_temperature(
    precision: Precision, params: dict[str, Any], expected: list[float]
) -> None:
    answer = in_its_order(precision, TENTHS, **params)
    if "top_n_sigma" in params:  # what is removed there stays in the engine's list
        answer = distribution(
            "llama.cpp", logf(TENTHS), precision=precision, **alone("llama.cpp", **params)
        )
    assert answer == pytest.approx(expected, abs=1e-5)


@both
@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.09, {3}), (0.19, {2, 3}), (0.29, {1, 2, 3}), (0.39, {0, 1, 2, 3})],
)
def test_llama_cpp_xtc(precision: Precision, threshold: float, expected: set[int]) -> None:
    row = step(
        "llama.cpp",
        "xtc",
        logf(FALLING),
        uniforms=[0.5],
        precision=precision,
        xtc_probability=0.99,
        xtc_threshold=threshold,
    )
    assert kept(row) == expected


@both
@pytest.mark.parametrize(
    ("shares", "expected"), [((0.97, 0.01, 0.01, 0.01), {0}), ((0.4, 0.2, 0.2, 0.2), {1, 2, 3})]
)
def test_llama_cpp_typical(
    precision: Precision, shares: Sequence[float], expected: set[int]
) -> None:
    row = step("llama.cpp", "typical", logf(shares), typical_p=0.5, precision=precision)
    assert kept(row) == expected


@both
@pytest.mark.parametrize(
    ("history", "penalties", "expected"),
    [
        ([0], (50.0, 0.0, 0.0), [0, 0.25, 0.25, 0.25, 0.25]),
        ([0, 1, 2], (50.0, 0.0, 0.0), [0, 0, 0, 0.5, 0.5]),
        ([0, 1, 2, 0, 0], (50.0, 0.0, 0.0), [0, 0, 0, 0.5, 0.5]),
        ([0], (1.0, 5.0, 5.0), [0.000011, *[0.249997] * 4]),
        ([0, 1, 2], (1.0, 5.0, 5.0), [*[0.000023] * 3, 0.499966, 0.499966]),
        ([0, 1, 2, 0, 0], (1.0, 5.0, 5.0), [0, 0.000023, 0.000023, 0.499977, 0.499977]),
    ],
)
def test_llama_cpp_penalties(
    precision: Precision,
    history: list[int],
    penalties: tuple[float, float, float],
    expected: list[float],
) -> None:
    repeat, frequency, presence = penalties
    answer = distribution(
        "llama.cpp",
        logf(FIVE),
        history,
        precision=precision,
        **alone(
            "llama.cpp",
            repeat_last_n=len(history),
            repeat_penalty=repeat,
            frequency_penalty=frequency,
            presence_penalty=presence,
        ),
    )
    assert answer == pytest.approx(expected, abs=1e-5)


@both
@pytest.mark.parametrize(
    ("shares", "history", "multiplier", "allowed", "last_n", "breakers", "expected"),
    [
        (FOUR, [0, 1], 1.0, 2, 4, [], FOUR),
        (FOUR, [0, 1, 2, 0, 1], 1.0, 2, 5, [], [0.296923, 0.296923, 0.109232, 0.296923]),
        (FIVE, [0, 1, 3, 4, 0, 1], 1.0, 2, 6, [[3]], FIVE),
        (FIVE, [0, 1, 2, 0, 1], 2.0, 2, 5, [], [*[0.241818] * 2, 0.032727, *[0.241818] * 2]),
        (FIVE, [0, 1, 2, 3, 4, 0, 1], 1.0, 4, 7, [], FIVE),
    ],
)
def test_llama_cpp_dry(
    precision: Precision,
    shares: Sequence[float],
    history: list[int],
    multiplier: float,
    allowed: int,
    last_n: int,
    breakers: list[list[int]],
    expected: Sequence[float],
) -> None:
    answer = distribution(
        "llama.cpp",
        logf(shares),
        history,
        precision=precision,
        **alone(
            "llama.cpp",
            dry_multiplier=multiplier,
            dry_base=1.1,
            dry_allowed_length=allowed,
            dry_penalty_last_n=last_n,
            dry_sequence_breakers=breakers,
        ),
    )
    assert answer == pytest.approx(list(expected), abs=1e-5)


SIZE = 10_000
QUEUES = [
    *(("k", 10_000, 1.0, 1.0), ("k", 1, 1.0, 1.0), ("k", 100, 1.0, 1.0)),
    *(("p", 10_000, 1.0, 1.0), ("p", 10_000, 0.0, 1.0)),
    *(("p", 10_000, 0.0003, 1.0), ("p", 10_000, 0.8, 1.0)),
    *(("m", 10_000, 1.0, 1.0), ("m", 10_000, 1.0, 1e-12)),
    *(("m", 10_000, 1.0, 9997.9 / 9999), ("m", 10_000, 1.0, 0.1)),
    ("mp", 100, 0.8, 9997.9 / 9999),
    *((order, 100, 0.8, 0.1) for order in ("kp", "km", "pk", "pm", "mk", "mp")),
    *((order, 100, 0.8, 0.1) for order in ("kpm", "kmp", "pkm", "pmk", "mkp", "mpk")),
]
"""Chains of top-k, top-p and min-p with their parameters, and the order that they stand in."""


def lowest_id_kept(order: str, k: int, p: float, m: float) -> int:
    """Return the lowest id that stays of ids whose weights are the ids themselves."""
    lowest = 0
    for name in order:
        if name == "k":
            lowest = max(lowest, SIZE - k)
        elif name == "m":
            lowest = max(lowest, min(-int(-to_binary32(m) * (SIZE - 1) // 1), SIZE - 1), 1)
        elif p < 1:
            required, token, total = sum(range(lowest, SIZE)) * to_binary32(p), SIZE - 1, SIZE - 1
            while total < required:
                token -= 1
                total += token
            lowest = token
    return lowest


@pytest.fixture(scope="module")
def logarithms() -> list[float]:
    return [-inf, *(log(token) for token in range(1, SIZE))]


@pytest.mark.parametrize(("order", "k", "p", "m"), QUEUES)
def test_a_queue_of_samplers_keeps_what_it_should(
    logarithms: list[float], order: str, k: int, p: float, m: float
) -> None:
    links = {
        "k": Use("top_k", k=k),
        "p": Use("top_p", p=to_binary32(p), zero="best"),
        "m": Use("min_p", m=to_binary32(m), above_one="best"),
    }
    trace = chain([links[name] for name in order], logarithms)
    lowest = max(lowest_id_kept(order, k, p, m), 1)  # a weight of 0 is never kept
    assert set(trace.steps[-1].kept) == set(range(lowest, SIZE))


@pytest.mark.parametrize(("order", "k", "p", "m"), QUEUES)
def test_a_queue_of_samplers_in_32_bits(
    logarithms: list[float], order: str, k: int, p: float, m: float
) -> None:
    apply: dict[str, Callable[[Candidates], Candidates]] = {
        "k": lambda candidates: top_k(candidates, k),
        "p": lambda candidates: top_p(candidates, p, 1),
        "m": lambda candidates: min_p(candidates, m, 1),
    }
    candidates = all_candidates(ReadRow([to_binary32(logit) for logit in logarithms]))
    for name in order:
        candidates = apply[name](candidates)
    lowest = lowest_id_kept(order, k, p, m)
    assert sorted(candidates.tokens) == list(range(lowest, SIZE))
    if candidates.is_sorted:
        assert (candidates.tokens[0], candidates.tokens[-1]) == (SIZE - 1, lowest)


@both
def test_the_queue_in_its_own_order_is_the_profile(
    logarithms: list[float], precision: Precision
) -> None:
    params = alone("llama.cpp", top_k=100, top_p=0.8, min_p=0.1)
    shares = distribution("llama.cpp", logarithms, precision=precision, **params)
    lowest = lowest_id_kept("kpm", 100, 0.8, 0.1)
    assert {token for token, share in enumerate(shares) if share} == set(range(lowest, SIZE))
    assert shares[-1] == pytest.approx((SIZE - 1) / sum(range(lowest, SIZE)), rel=1e-5)


# --- candle -----------------------------------------------------------------------------------

ROW = [0.1, 0.2, 0.3, 0.4]


@both
@pytest.mark.parametrize(
    ("params", "tokens"),
    [
        ({"temperature": None}, [3]),
        ({"temperature": 0.9}, [0]),
        ({"temperature": 1.0, "top_p": 0.5}, [2]),
        ({"temperature": 1.0, "top_k": 1}, [3]),
        ({"temperature": 1.0, "top_k": 2}, [3, 2]),
    ],
)
def test_candle_draws_with_its_seeds(
    precision: Precision, params: dict[str, Any], tokens: list[int]
) -> None:
    words = islice(chacha_by_seed(42), len(tokens))
    drawn = [
        sample("candle", ROW, uniforms=[rust_weighted_index(word)], precision=precision, **params)
        for word in words
    ]
    assert drawn == tokens


# --- mistral.rs -------------------------------------------------------------------------------


def test_mistral_rs_takes_the_first_maximum_and_refuses_impossible_rows() -> None:
    for row, token in (([-3.0, -1.0, -2.0], 1), ([-2.0, 4.0, 4.0, 1.0], 1), ([-inf, -3.0, 2.0], 2)):
        assert sample("mistral.rs", row, uniforms=[], temperature=None) == token
    for bad in ([0.0, float("nan")], [0.0, inf], [-inf, -inf], []):
        with pytest.raises(RowError):
            sample("mistral.rs", bad, uniforms=[], temperature=None)


@both
@pytest.mark.parametrize(
    ("weights", "params", "expected"),
    [
        ((1, 2, 4), {"top_k": 3, "top_p": 1.0, "min_p": 0.4}, [0, 1 / 3, 2 / 3]),
        ((1, 2.718281828, 7.389056099), {"top_k": 1, "top_p": 1.0, "min_p": 0.0}, [0, 0, 1]),
    ],
)
def test_mistral_rs_filters(
    precision: Precision, weights: Sequence[float], params: dict[str, Any], expected: list[float]
) -> None:
    answer = distribution("mistral.rs", logs(weights), precision=precision, **params)
    assert answer == pytest.approx(expected, abs=1e-6)


def test_mistral_rs_reports_what_the_filters_have_not_seen() -> None:
    answer = logprobs("mistral.rs", logs((1, 2, 3)), top_k=1, top_p=1.0, min_p=0.0)
    assert answer == pytest.approx([log(1 / 6), log(2 / 6), log(3 / 6)], abs=1e-6)


def test_mistral_rs_suppresses_by_a_bias() -> None:
    row = [0.0, 1.0, 10.0]
    bias = {2: -1.0e9}
    assert sample("mistral.rs", row, uniforms=[], temperature=None, logits_bias=bias) == 1


# --- exllamav3 --------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("row", "history", "params", "expected"),
    [
        ([2.0] * 5, [0, 1, 2, 4, 1], {"pres_p": 0.5, "freq_p": 0.5}, [1, 0.5, 1, 2, 1]),
        (
            [10.0] * 10,
            [0, 0, 0, 1, 1, 1, 1, 1, 1, 9],
            {"pres_p": 1.0, "freq_p": 1.0},
            [6, 3, 10, 10, 10, 10, 10, 10, 10, 8],
        ),
        (
            [2.0] * 10,
            list(range(10)),
            {"pres_p": 1.0, "rep_sustain_range": 4, "rep_decay_range": 4},
            [2, 2, 2, 1.75, 1.5, 1.25, 1, 1, 1, 1],
        ),
        ([2.0] * 5, [0, 1, 2, 4], {"rep_p": 2.0}, [1, 1, 1, 2, 1]),
        (
            [2.0] * 10,
            list(range(10)),
            {"rep_p": 2.0, "rep_sustain_range": 4, "rep_decay_range": 4},
            [2, 2, 2, 1.75, 1.5, 1.25, 1, 1, 1, 1],
        ),
        ([2.0, 2.0, -2.0, 2.0, 2.0, 2.0], [1, 2, 3], {"rep_p": 2.0}, [2, 1, -4, 1, 2, 2]),
    ],
)
def test_exllamav3_penalties(
    precision: Precision,
    row: list[float],
    history: list[int],
    params: dict[str, Any],
    expected: list[float],
) -> None:
    answer = step("exllamav3", "decaying_penalties", row, history, precision=precision, **params)
    assert answer == pytest.approx(expected, abs=1e-6)


@both
@pytest.mark.parametrize(
    ("row", "params", "expected"),
    [
        (
            [5, 3, 2.5, 1, 4, 2, 1.5],
            {"temperature": 0.75, "top_p": 0.95},
            [0.79139, 0, 0, 0, 0.20861, 0, 0],
        ),
        ([3, 3.5, 4, 4.5, 5, 5.5], {"min_p": 0.16}, [0, 0, 0.10154, 0.16741, 0.27600, 0.45505]),
    ],
)
def test_exllamav3_filters(
    precision: Precision, row: list[float], params: dict[str, Any], expected: list[float]
) -> None:
    answer = distribution("exllamav3", row, precision=precision, **params)
    assert answer == pytest.approx(expected, abs=1e-5)


@both
def test_exllamav3_top_k_and_bias(precision: Precision) -> None:
    row = [3.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9]
    assert kept(step("exllamav3", "top_k", row, top_k=5, precision=precision)) == {0, 9, 8, 7, 6}
    biased = step(
        "exllamav3", "logit_bias", [1.0] * 5, logit_bias={1: 5.0, 3: -2.0}, precision=precision
    )
    assert biased == [1.0, 6.0, 1.0, -1.0, 1.0]
    banned = step("exllamav3", "logit_bias", [1.0, 2.0], logit_bias={1: -inf}, precision=precision)
    assert banned == [1.0, -inf]
