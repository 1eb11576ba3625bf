"""Where engines differ on the same numbers: each record gives the answer of its engine.

The rows are dyadic where a threshold is to be met exactly. Answers of transformers, vLLM,
SGLang, mlx-lm and llama.cpp were produced by their own code, the others by the rule in their
source.
"""

from fractions import Fraction
from math import inf
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import PROFILES, ParameterError, distribution, explain, sample, step
from tests.sampling.filtering import top_p, weights_of
from tests.sampling.records import Weights, alone, kept, kept_of_weights, logs, support
from tests.sampling.rows import rows
from tests.texts import drawn

HALVES = (0.5, 0.25, 0.125, 0.125)
EVEN = (0.25, 0.25, 0.25, 0.25)
MIXED = (0.125, 0.5, 0.25, 0.125)
TENTHS = tuple(Fraction(tenths, 10) for tenths in (3, 1, 1, 5))

# --- top-p ------------------------------------------------------------------------------------

TOP_P_RULES = {
    "upwards": ("transformers", "vllm"),
    "falling": ("candle", "mistral.rs", "openai"),
    "unstable": ("llama.cpp",),
    "one more": ("sglang", "tensorrt-llm", "chatstream", "antigravity"),
    "what is larger": ("flashinfer", "mlx-lm"),
    "not across": ("exllamav3",),
    "what fits": ("exllamav2",),
}
"""Engines by how they cut: rising sums above 1 - p, falling sums below p (with a sort that moves
equals) or at most p, the sum of all larger ones below p, falling sums up to p, and a heap that
never exceeds p."""

ALL = {0, 1, 2, 3}
TOP_P: list[tuple[Weights, float | Fraction, tuple[set[int], ...]]] = [
    (HALVES, 0.5, ({0}, {0}, {0}, {0, 1}, {0}, {0}, {0})),
    (HALVES, 0.75, ({0, 1}, {0, 1}, {0, 1}, {0, 1, 2}, {0, 1}, {0, 1}, {0, 1})),
    (HALVES, 0.6, ({0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0}, {0})),
    (HALVES, 0.625, ({0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0}, {0, 3})),
    (HALVES, 0.8, ({0, 1, 3}, {0, 1, 2}, {0, 1, 3}, {0, 1, 2}, ALL, {0, 1}, {0, 1})),
    (EVEN, 0.5, ({2, 3}, {0, 1}, {1, 3}, {0, 1, 2}, ALL, {0, 1}, {2, 3})),
    (EVEN, 0.6, ({1, 2, 3}, {0, 1, 2}, {0, 1, 3}, {0, 1, 2}, ALL, {0, 1}, {2, 3})),
    (TENTHS, Fraction(4, 5), ({0, 3}, {0, 3}, {0, 3}, {0, 1, 3}, {0, 3}, {0, 3}, {0, 3})),
    (MIXED, 1e-9, ({1}, {1}, {1}, {1}, {1}, {1}, {1})),
]
"""A row, p, and what each rule keeps, in the order of the rules above."""

TOP_P_CELLS = [
    pytest.param(name, row, p, answer, id=f"{name}-{place}-{float(p):g}")
    for place, (row, p, answers) in enumerate(TOP_P)
    for names, answer in zip(TOP_P_RULES.values(), answers, strict=True)
    for name in names
]


def test_every_engine_with_top_p_has_its_rule() -> None:
    named = [name for names in TOP_P_RULES.values() for name in names]
    having = [
        name
        for name, profile in PROFILES.items()
        if any(stage.step == "top_p" for stage in profile.stages)
    ]
    assert sorted(named) == sorted(having)


@pytest.mark.parametrize(("name", "row", "p", "answer"), TOP_P_CELLS)
def test_top_p_of_exact_weights(
    name: str, row: Weights, p: float | Fraction, answer: set[int]
) -> None:
    assert kept_of_weights(name, "top_p", row, **alone(name, top_p=p)) == answer


@pytest.mark.parametrize("precision", ["exact", "f32"])
@pytest.mark.parametrize(
    ("name", "row", "p", "answer"),
    # Logarithms meet no threshold exactly, but equals are equals.
    [cell for cell in TOP_P_CELLS if cell.values[1] is EVEN or cell.values[2] in {0.6, 0.8, 1e-9}],
)
def test_top_p_of_logits(
    name: str, row: Weights, p: float, answer: set[int], precision: Literal["exact", "f32"]
) -> None:
    logits = [0.0] * 4 if row is EVEN else logs(row)
    assert kept(step(name, "top_p", logits, top_p=p, precision=precision)) == answer
    shares = distribution(name, logits, precision=precision, **alone(name, top_p=p))
    assert support(shares) == answer


@pytest.mark.parametrize(
    ("row", "p", "one_more", "as_in_its_test"),
    [
        (HALVES, 0.5, {0, 1}, {0, 1}),
        (HALVES, 0.75, {0, 1, 2}, {0, 1, 3}),
        (HALVES, 0.6, {0, 1}, {0, 1}),
        (HALVES, 0.8, {0, 1, 2}, {0, 1, 3}),
        (EVEN, 0.5, {0, 1, 2}, {1, 2, 3}),
        (EVEN, 0.6, {0, 1, 2}, {1, 2, 3}),
        (TENTHS, Fraction(4, 5), {0, 1, 3}, {0, 2, 3}),
        (MIXED, 1e-9, {1}, {1}),
    ],
)
def test_flashinfer_has_two_other_rules_for_top_p_in_its_own_repository(
    row: Weights, p: float, one_more: set[int], as_in_its_test: set[int]
) -> None:
    """Its reference function keeps one more, its test keeps rising sums of at least 1 - p."""
    assert top_p(row, p, boundary="exceed") == one_more
    assert top_p(row, p, boundary="exceed", ties="highest id") == as_in_its_test


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        *((name, {1}) for name in ("transformers", "llama.cpp", "tensorrt-llm", "exllamav3")),
        *((name, {1}) for name in ("openai", "chatstream", "antigravity")),
        *((name, {0, 1, 2, 3}) for name in ("candle", "mistral.rs", "mlx-lm", "exllamav2")),
    ],
)
def test_top_p_of_nothing_is_the_largest_or_off(name: str, answer: set[int]) -> None:
    assert support(distribution(name, logs(MIXED), **alone(name, top_p=0.0))) == answer


@pytest.mark.parametrize("name", ["vllm", "sglang", "flashinfer"])
def test_top_p_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=r"^top_p must be a number in \(0, 1\]"):
        distribution(name, logs(MIXED), top_p=0.0)


@pytest.mark.parametrize("name", list(PROFILES))
def test_top_p_of_all_removes_nothing(name: str) -> None:
    assert support(distribution(name, logs(MIXED), **alone(name, top_p=1.0))) == {0, 1, 2, 3}


# --- top-k ------------------------------------------------------------------------------------

TIED = [1.0, 2.0, 2.0, 2.0, 3.0]
TOP_K_OF_TIED: list[tuple[str, set[int]]] = [
    *((name, {1, 2, 3, 4}) for name in ("transformers", "vllm", "flashinfer", "tensorrt-llm")),
    *((name, {1, 2, 4}) for name in ("sglang", "mlx-lm", "exllamav3", "chatstream")),
    *((name, {1, 2, 4}) for name in ("candle", "mistral.rs", "antigravity")),
    ("llama.cpp", {1, 3, 4}),
    ("exllamav2", {2, 3, 4}),
]


def test_every_engine_with_top_k_has_its_answer() -> None:
    having = {
        name
        for name, profile in PROFILES.items()
        if any(stage.step == "top_k" for stage in profile.stages)
    }
    assert {name for name, _ in TOP_K_OF_TIED} == having


@pytest.mark.parametrize("precision", ["exact", "f32"])
@pytest.mark.parametrize(("name", "answer"), TOP_K_OF_TIED)
def test_top_k_with_equals_at_the_cut(
    name: str, answer: set[int], precision: Literal["exact", "f32"]
) -> None:
    assert kept(step(name, "top_k", TIED, top_k=3, precision=precision)) == answer
    shares = distribution(name, TIED, precision=precision, **alone(name, top_k=3))
    assert support(shares) == answer


def test_which_equals_a_heap_keeps_depends_on_who_comes_when() -> None:
    assert kept(step("exllamav2", "top_k", [3.0, 2.0, 2.0, 2.0, 1.0], top_k=3)) == {0, 1, 2}
    assert kept(step("exllamav2", "top_k", [2.0, 2.0, 2.0, 3.0, 1.0], top_k=2)) == {1, 3}


@pytest.mark.parametrize("name", [name for name, _ in TOP_K_OF_TIED if name != "mlx-lm"])
def test_top_k_of_the_whole_row_and_beyond_removes_nothing(name: str) -> None:
    for k in (5, 6):
        assert support(distribution(name, TIED, **alone(name, top_k=k))) == {0, 1, 2, 3, 4}


# --- top-k, then top-p ------------------------------------------------------------------------

FALLING = (0.4, 0.3, 0.2, 0.1)


@pytest.mark.parametrize(
    ("name", "half", "three_fifths"),
    [
        # 4/7 of what top-k left is at least 1/2, and less than 3/5.
        *((name, {0}, {0, 1}) for name in ("transformers", "vllm", "llama.cpp", "mistral.rs")),
        *((name, {0}, {0, 1}) for name in ("tensorrt-llm", "chatstream", "flashinfer")),
        # 2/5 of the whole row is less than both.
        *((name, {0, 1}, {0, 1}) for name in ("sglang", "candle", "antigravity", "mlx-lm")),
        # The token across is dropped.
        *((name, {0}, {0}) for name in ("exllamav2", "exllamav3")),
    ],
)
def test_top_p_after_top_k_is_a_share_of_what_is_left_or_of_the_whole(
    name: str, half: set[int], three_fifths: set[int]
) -> None:
    for p, answer in ((0.5, half), (0.6, three_fifths)):
        shares = distribution(name, logs(FALLING), **alone(name, top_k=2, top_p=p))
        assert support(shares) == answer


def test_flashinfer_can_be_told_which() -> None:
    for order, answer in (("top_k_first", {0}), ("joint", {0, 1})):
        shares = distribution(
            "flashinfer", logs(FALLING), top_k=2, top_p=0.5, filter_apply_order=order
        )
        assert support(shares) == answer


# --- typical ----------------------------------------------------------------------------------

THREE_EQUALS = (0.4, 0.2, 0.2, 0.2)


@pytest.mark.parametrize(
    ("name", "mass", "answer"),
    [
        ("transformers", 0.2, {1, 2, 3}),
        ("transformers", 0.4, {1, 2, 3}),
        ("transformers", 0.5, {1, 2, 3}),
        ("transformers", 0.61, {0, 1, 2, 3}),
        ("transformers", 0.9, {0, 1, 2, 3}),
        # One by one, and in exllamav2 never across.
        ("llama.cpp", 0.3, {1, 3}),  # as its library sorts equals
        ("llama.cpp", 0.5, {1, 2, 3}),
        ("exllamav2", 0.3, {1}),
        ("exllamav2", 0.5, {1, 2}),
    ],
)
def test_typical(name: str, mass: float, answer: set[int]) -> None:
    params: dict[str, Any] = {{"exllamav2": "typical"}.get(name, "typical_p"): mass}
    assert kept(step(name, "typical", logs(THREE_EQUALS), **params)) == answer


def test_typical_at_three_fifths_is_a_matter_of_rounding() -> None:
    """The engine keeps all four for logits from torch.log and three for those from math.log."""
    row = [Fraction(share, 5) for share in (2, 1, 1, 1)]
    params = alone("transformers", typical_p=Fraction(3, 5))
    assert kept_of_weights("transformers", "typical", row, **params) == {1, 2, 3}


def test_llama_cpp_sorts_equals_of_typical_as_its_library_does() -> None:
    assert kept(
        step("llama.cpp", "typical", logs(THREE_EQUALS), typical_p=0.3, precision="f32")
    ) == {1, 3}


def test_typical_where_a_token_is_impossible() -> None:
    assert kept(step("transformers", "typical", [1.0, 0.0, -inf], typical_p=0.9)) == {0, 1}
    assert kept(step("llama.cpp", "typical", [1.0, 0.0, -inf], typical_p=0.9)) == {0, 1}


@pytest.mark.parametrize(
    ("name", "answer"), [("transformers", {1}), ("llama.cpp", {0, 1}), ("exllamav2", {1})]
)
def test_typical_at_exactly_its_mass(name: str, answer: set[int]) -> None:
    """The surprises are 1, 2, 3 and 3 bits, their mean is 1.75."""
    parameter = {"exllamav2": "typical"}.get(name, "typical_p")
    assert kept_of_weights(name, "typical", HALVES, **alone(name, **{parameter: 0.25})) == answer


# --- which tokens a penalty sees ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameter", "answer"),
    [
        *((name, "repetition_penalty", [4, 4, 8]) for name in ("transformers", "vllm", "mlx-lm")),
        *((name, "repetition_penalty", [4, 4, 8]) for name in ("mistral.rs", "tensorrt-llm")),
        ("chatstream", "repetition_penalty", [4, 4, 8]),
        ("llama.cpp", "repeat_penalty", [4, 4, 8]),
        ("candle", "repeat_penalty", [4, 4, 8]),
        ("exllamav2", "token_repetition_penalty", [4, 4, 8]),
        ("exllamav3", "rep_p", [4, 4, 8]),
        # The output only; and once for every occurrence.
        ("sglang", "repetition_penalty", [8, 4, 8]),
        ("antigravity", "repetition_penalty", [2, 4, 8]),
    ],
)
def test_what_the_repetition_penalty_sees(name: str, parameter: str, answer: list[float]) -> None:
    params = alone(name, **{parameter: 2.0})
    trace = explain(name, [8.0, 8.0, 8.0], [0, 0, 1], prompt_length=2, **params)
    assert trace.steps[0].row_after == answer


@pytest.mark.parametrize(
    ("name", "parameter", "answer"),
    [
        *((name, "frequency_penalty", [8, 7, 8]) for name in ("vllm", "sglang", "mistral.rs")),
        ("openai", "frequency_penalty", [8, 7, 8]),
        *((name, "frequency_penalty", [6, 7, 8]) for name in ("llama.cpp", "mlx-lm")),
        ("tensorrt-llm", "frequency_penalty", [6, 7, 8]),
        ("exllamav2", "token_frequency_penalty", [6, 7, 8]),
        ("exllamav3", "freq_p", [6, 7, 8]),
    ],
)
def test_what_the_frequency_penalty_sees(name: str, parameter: str, answer: list[float]) -> None:
    params = alone(name, **{parameter: 1.0})
    trace = explain(name, [8.0, 8.0, 8.0], [0, 0, 1], prompt_length=2, **params)
    assert trace.steps[0].row_after == answer


@pytest.mark.parametrize("ignored", [0, 1, 2, 3])
def test_tensorrt_llm_ignores_the_beginning_of_the_prompt(ignored: int) -> None:
    row, history = [8.0, 8.0, 8.0], [0, 0, 1]
    for op, parameter, answers in (
        ("frequency_penalty", "frequency_penalty", [6, 7, 8, 8]),
        ("presence_penalty", "presence_penalty", [7, 7, 8, 8]),
    ):
        params: dict[str, Any] = {parameter: 1.0, "prompt_ignore_length": ignored}
        changed = step("tensorrt-llm", op, row, history, prompt_length=2, **params)
        assert changed == [answers[ignored], 7, 8]


@pytest.mark.parametrize(
    ("name", "params", "answer"),
    [
        ("llama.cpp", {"repeat_penalty": 2.0, "repeat_last_n": 2}, [8, 4, 4]),
        ("candle", {"repeat_penalty": 2.0, "repeat_last_n": 2}, [8, 4, 4]),
        ("mlx-lm", {"repetition_penalty": 2.0, "repetition_context_size": 2}, [8, 4, 4]),
        ("antigravity", {"repetition_penalty": 2.0, "repetition_window": 2}, [8, 4, 4]),
        ("exllamav2", {"token_repetition_penalty": 2.0, "token_repetition_range": 2}, [8, 4, 4]),
        ("exllamav3", {"rep_p": 2.0, "rep_sustain_range": 2}, [8, 8, 4]),
    ],
)
def test_a_window_of_two(name: str, params: dict[str, Any], answer: list[float]) -> None:
    trace = explain(name, [8.0, 8.0, 8.0], [0, 1, 2], **alone(name, **params))
    assert trace.steps[0].row_after == answer


# --- the order of steps -----------------------------------------------------------------------

TOGETHER: dict[str, dict[str, str]] = {
    "vllm": {},
    "sglang": {},
    "mistral.rs": {},
    "tensorrt-llm": {},
    "llama.cpp": {"repetition_penalty": "repeat_penalty"},
    "mlx-lm": {},
    "exllamav2": {
        "repetition_penalty": "token_repetition_penalty",
        "frequency_penalty": "token_frequency_penalty",
    },
    "exllamav3": {"repetition_penalty": "rep_p", "frequency_penalty": "freq_p"},
}
"""The engines that have both penalties, and what they call them."""

ADDITIVE_FIRST = {"sglang", "mistral.rs"}


def after_penalties(name: str, logit: float, repetition: float, frequency: float) -> float:
    """Return what becomes of the logit of a token that was generated once."""
    names = {**{key: key for key in ("repetition_penalty", "frequency_penalty")}, **TOGETHER[name]}
    params: dict[str, Any] = {
        names["repetition_penalty"]: repetition,
        names["frequency_penalty"]: frequency,
    }
    trace = explain(name, [logit, 0.0], [0], **alone(name, **params))
    changed = [applied for applied in trace.steps if applied.changed == (0,)]
    return float(changed[-1].row_after[0])


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize(
    ("logit", "frequency", "division_first", "subtraction_first"),
    [(2.0, 1.0, 0.0, 0.5), (1.0, 2.0, -1.5, -2.0)],
)
def test_subtraction_before_division_can_turn_the_sign(
    name: str, logit: float, frequency: float, division_first: float, subtraction_first: float
) -> None:
    expected = subtraction_first if name in ADDITIVE_FIRST else division_first
    assert after_penalties(name, logit, 2.0, frequency) == expected


TEMPERATURE_FIRST: list[tuple[str, dict[str, Any]]] = [
    *((name, {"temperature": 2.0}) for name in ("transformers", "vllm", "sglang", "flashinfer")),
    *((name, {"temperature": 2.0}) for name in ("mistral.rs", "exllamav2", "exllamav3")),
]
TEMPERATURE_LAST: list[tuple[str, dict[str, Any]]] = [
    ("llama.cpp", {"temp": 2.0}),
    ("mlx-lm", {"temp": 2.0}),
    ("exllamav2", {"temperature": 2.0, "temperature_last": True}),
    ("exllamav3", {"temperature": 2.0, "temp_last": True}),
]


@pytest.mark.parametrize(
    ("name", "params", "answer"),
    [
        *((name, params, {0, 1}) for name, params in TEMPERATURE_FIRST),
        *((name, params, {0}) for name, params in TEMPERATURE_LAST),
    ],
)
def test_min_p_before_or_after_the_temperature(
    name: str, params: dict[str, Any], answer: set[int]
) -> None:
    """1/5 is less than 0.3 of 4/5; at temperature 2 the two stand as 2 to 1."""
    shares = distribution(name, logs((0.8, 0.2)), **alone(name, min_p=0.3, **params))
    assert support(shares) == answer


@pytest.mark.parametrize(
    ("name", "params", "answer"),
    [
        *((name, params, {0, 1}) for name, params in TEMPERATURE_FIRST if "exl" not in name),
        *(
            (name, {"temperature": 2.0}, {0, 1})
            for name in ("candle", "tensorrt-llm", "chatstream", "openai", "antigravity")
        ),
        *((name, params, {0}) for name, params in TEMPERATURE_LAST),
    ],
)
def test_top_p_before_or_after_the_temperature(
    name: str, params: dict[str, Any], answer: set[int]
) -> None:
    """16/25 is more than 3/5; at temperature 2 the first has 4/7, which is less."""
    shares = distribution(name, logs((16 / 25, 9 / 25)), **alone(name, top_p=0.6, **params))
    assert support(shares) == answer


@pytest.mark.parametrize(
    ("name", "params", "answer"),
    [
        ("transformers", {"sequence_bias": {(0,): 1.0}, "repetition_penalty": 2.0}, 1.0),
        ("llama.cpp", {"logit_bias": {0: 1.0}, "repeat_penalty": 2.0}, 1.0),
        ("vllm", {"logit_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.0),
        ("mlx-lm", {"logit_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.0),
        ("exllamav3", {"logit_bias": {0: 1.0}, "rep_p": 2.0}, 1.0),
        ("tensorrt-llm", {"embedding_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.0),
        ("sglang", {"logit_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.5),
        ("mistral.rs", {"logits_bias": {0: 1.0}, "repetition_penalty": 2.0}, 1.5),
        ("exllamav2", {"token_bias": {0: 1.0}, "token_repetition_penalty": 2.0}, 1.5),
    ],
)
def test_a_bias_before_the_penalty_is_divided_with_the_logit(
    name: str, params: dict[str, Any], answer: float
) -> None:
    trace = explain(name, [1.0, 0.0], [0], **alone(name, **params))
    changed = [applied for applied in trace.steps if applied.changed == (0,)]
    assert changed[-1].row_after[0] == answer


def test_a_bias_brings_no_forbidden_token_back() -> None:
    shares = distribution("vllm", [0.0, 0.0], allowed_token_ids=[1], logit_bias={0: 100.0})
    assert shares == [0.0, 1.0]
    shares = distribution("sglang", [-inf, 0.0], logit_bias={0: 100.0})
    assert shares == [0.0, 1.0]


def test_removing_invalid_values_makes_impossible_tokens_finite() -> None:
    least = step("transformers", "remove_invalid_values", [-inf, 0.0], remove_invalid_values=True)
    assert least == [-(2.0**128 - 2.0**104), 0.0]


# --- min-p, greedy and the draw -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        *((name, {0, 1, 2}) for name in ("transformers", "vllm", "sglang", "flashinfer")),
        *((name, {0, 1, 2}) for name in ("llama.cpp", "mlx-lm", "exllamav2", "exllamav3")),
        ("mistral.rs", {0}),
    ],
)
def test_min_p_of_exactly_its_share(name: str, answer: set[int]) -> None:
    row = (0.5, 0.25, 0.25)
    assert kept_of_weights(name, "min_p", row, **alone(name, min_p=0.5)) == answer


def test_llama_cpp_keeps_the_largest_for_any_min_p() -> None:
    for m in (1.0, 1.05, 7.0):
        assert kept_of_weights("llama.cpp", "min_p", MIXED, **alone("llama.cpp", min_p=m)) == {1}


@pytest.mark.parametrize(
    ("name", "params", "token"),
    [
        ("transformers", {"do_sample": False}, 1),
        ("llama.cpp", {"temp": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}, 1),
        ("vllm", {"temperature": 0.0}, 1),
        ("sglang", {"temperature": 9e-7}, 1),
        ("candle", {}, 1),
        ("candle", {"temperature": 9e-8}, 1),
        ("mistral.rs", {"temperature": None}, 1),
        ("mistral.rs", {"temperature": 9e-8}, 1),
        ("mlx-lm", {}, 1),
        ("exllamav2", {"temperature": 0.009}, 1),
        ("exllamav3", {"temperature": 0.0}, 1),
        ("exllamav3", {"top_k": 1}, 1),
        ("tensorrt-llm", {}, 1),
        ("tensorrt-llm", {"temperature": 0.0}, 1),
        ("tensorrt-llm", {"top_k": 1}, 1),
        ("tensorrt-llm", {"top_p": 0.0}, 1),
        ("openai", {"temperature": 0.0}, 1),
        ("antigravity", {"temperature": 0.0}, 2),
    ],
)
def test_greedy_takes_the_first_of_equals_but_for_one(
    name: str, params: dict[str, Any], token: int
) -> None:
    shares = distribution(name, [0.0, 2.0, 2.0, 1.0], **params)
    assert support(shares) == {token}


@pytest.mark.parametrize("params", [{"top_p": 0.0}, {"top_k": 1}, {"temperature": 0.0}, {}])
def test_a_greedy_engine_needs_no_random_number(params: dict[str, Any]) -> None:
    assert sample("tensorrt-llm", [0.0, 2.0, 2.0], uniforms=[], **params) == 1


@pytest.mark.parametrize(
    ("name", "temperature"),
    [("vllm", 1e-6), ("sglang", 1e-6), ("candle", 1e-7), ("mistral.rs", 1e-7)],
)
def test_from_its_own_threshold_on_an_engine_draws(name: str, temperature: float) -> None:
    shares = distribution(name, [0.0, 2.0, 2.0, 1.0], temperature=temperature)
    assert shares == pytest.approx([0.0, 0.5, 0.5, 0.0], abs=1e-30)


def test_vllm_raises_a_temperature_rather_than_be_greedy() -> None:
    row = [0.0, 0.001]
    assert distribution("vllm", row, temperature=1e-6) == distribution(
        "vllm", row, temperature=0.01
    )


def test_exllamav2_is_not_greedy_where_the_temperature_comes_last() -> None:
    params = alone("exllamav2", temperature=0.005, temperature_last=True)
    shares = distribution("exllamav2", [0.0, 2.0, 2.0, 1.0], **params)
    assert shares == pytest.approx([0.0, 0.5, 0.5, 0.0], abs=1e-30)


@pytest.mark.parametrize(
    ("name", "token"),
    [
        # A walk by the vocabulary meets 1/2 behind token 1.
        *((name, 2) for name in ("flashinfer", "mistral.rs", "candle", "openai", "chatstream")),
        *((name, 1) for name in ("llama.cpp", "exllamav2")),
        # Antigravity sorts: 2, 0, 1, 3.
        ("antigravity", 2),
    ],
)
def test_a_number_that_meets_a_boundary_exactly(name: str, token: int) -> None:
    row = [0.0, 0.0, 0.0, 0.0] if name != "antigravity" else [0.0, 0.0, 2.0, 0.0]
    u = 0.5
    assert sample(name, row, uniforms=[u], **alone(name)) == token


def test_llama_cpp_and_exllamav2_give_zero_to_the_first_token_even_if_impossible() -> None:
    row = [-inf, 0.0, 0.0]
    for name in ("llama.cpp", "exllamav2"):
        assert sample(name, row, uniforms=[0.0], **alone(name)) == 0
    for name in ("flashinfer", "mistral.rs", "candle", "openai"):
        assert sample(name, row, uniforms=[0.0], **alone(name)) == 1


def test_candle_walks_the_vocabulary_unless_top_k_cuts() -> None:
    row = [0.0, 1.0, 2.0]
    assert sample("candle", row, uniforms=[0.0], **alone("candle", top_k=3)) == 0
    assert sample("candle", row, uniforms=[0.0], **alone("candle", top_k=2)) == 2


# --- records on weights and on logits -------------------------------------------------------------


@pytest.mark.parametrize("op", ["top_p", "top_k", "min_p"])
@drawn(20)
@given(row=rows(most=8), data=st.data())
def test_a_record_says_the_same_about_weights_and_about_logits(
    op: str, row: list[float], data: st.DataObject
) -> None:
    having = [
        name
        for name, profile in PROFILES.items()
        if any(stage.step == op for stage in profile.stages)
    ]
    name = data.draw(st.sampled_from(having))
    value = data.draw(
        st.integers(1, 7) if op == "top_k" else st.sampled_from([0.125, 0.25, 0.5, 0.75])
    )
    if name == "tensorrt-llm" and value == 1:
        value = 2
    params: dict[str, Any] = {op: value}
    expected = kept(step(name, op, row, **params))
    weights = [Fraction(weight) for weight in weights_of(row)]
    if min(weight for weight in weights if weight) < 2**-60:
        return  # llama.cpp orders floats, and weights so small would be none
    assert kept_of_weights(name, op, weights, **alone(name, **params)) == expected
