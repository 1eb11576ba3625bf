"""The profile `transformers` as a whole beside generate(): every stage, the chain, the draws.

Values are compared bit for bit in precision f32 where the engine only adds, multiplies and
divides. Where it adds up or exponentiates, kept sets and draws may differ only where its
rounding can be the reason; the proofs are those of `test_transformers_filters` and of
`rounding`, and a draw must show two scores of its race that lie within rounding.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import exp, inf, log, log1p
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the engine needs PyTorch")
pytest.importorskip("transformers", reason="this file is about transformers")

import torch
from transformers import GenerationConfig
from transformers.generation import logits_process as process

from sampling_ref import (
    PROFILES,
    ParameterError,
    RowError,
    Sampler,
    SamplingError,
    UndecidedError,
    distribution,
    explain,
    logprobs,
    sample,
    step,
)
from sampling_ref.engines.profile import holds
from sampling_ref.random.mt19937 import mt19937
from sampling_ref.random.uniforms import torch_cpu_double
from tests.sampling.engines.rounding import TINY, Row, U, assert_same, kept_in, largest, long_row
from tests.sampling.engines.test_transformers_filters import (
    assert_same_nucleus,
    assert_same_number,
    epsilon_doubt,
    eta_doubt,
    min_p_doubt,
    typical_doubt,
)
from tests.sampling.engines.transformers_generation import (
    GivenRows,
    generated,
    processed,
    processors,
)
from tests.sampling.rows import histories, rows
from tests.texts import CAMPAIGN, drawn

NAME = "transformers"
PROFILE = PROFILES[NAME]

OPS: Mapping[str, type] = {
    "sequence_bias": process.SequenceBiasLogitsProcessor,
    "encoder_repetition": process.EncoderRepetitionPenaltyLogitsProcessor,
    "repetition_penalty": process.RepetitionPenaltyLogitsProcessor,
    "no_repeat_ngram": process.NoRepeatNGramLogitsProcessor,
    "encoder_no_repeat_ngram": process.EncoderNoRepeatNGramLogitsProcessor,
    "bad_words": process.NoBadWordsLogitsProcessor,
    "min_length": process.MinLengthLogitsProcessor,
    "min_new_tokens": process.MinNewTokensLengthLogitsProcessor,
    "prefix_allowed_tokens": process.PrefixConstrainedLogitsProcessor,
    "forced_bos": process.ForcedBOSTokenLogitsProcessor,
    "forced_eos": process.ForcedEOSTokenLogitsProcessor,
    "remove_invalid_values": process.InfNanRemoveLogitsProcessor,
    "exponential_decay_length": process.ExponentialDecayLengthPenalty,
    "suppress": process.SuppressTokensLogitsProcessor,
    "begin_suppress": process.SuppressTokensAtBeginLogitsProcessor,
    "temperature": process.TemperatureLogitsWarper,
    "top_h": process.TopHLogitsWarper,
    "top_k": process.TopKLogitsWarper,
    "top_p": process.TopPLogitsWarper,
    "min_p": process.MinPLogitsWarper,
    "typical": process.TypicalLogitsWarper,
    "epsilon": process.EpsilonLogitsWarper,
    "eta": process.EtaLogitsWarper,
    "logprobs": process.LogitNormalization,
}
"""The engine's class for each step, in the engine's order."""

FILTERS = ("top_h", "top_k", "top_p", "min_p", "typical", "epsilon", "eta")


def names_of(list_of_processors: Sequence[object]) -> list[str]:
    by_class = {kind: name for name, kind in OPS.items()}
    return [by_class[type(processor)] for processor in list_of_processors]


# ---------------------------------------------------------------------- what may differ


def assert_explained(
    op: str, row: list[float], engine: set[int], ours: set[int], value: float, least: int = 1
) -> None:
    """Compare the tokens that a filter kept; rounding must explain each difference."""
    if engine == ours:
        return
    if op == "top_p":
        assert_same_nucleus(row, engine, frozenset(ours), value)
    elif op == "top_h":
        if largest(row, engine) != largest(row, ours):
            assert_same_number(row, engine, ours, value)
    elif op == "top_k":
        raise AssertionError("no rounding explains this: top-k compares logits")
    else:
        doubts = {"min_p": min_p_doubt, "typical": typical_doubt}
        doubts |= {"epsilon": epsilon_doubt, "eta": eta_doubt}
        doubt = doubts[op](value)
        assert_same(row, engine, ours, lambda r, t: doubt(r, t) or fills_up(op, r, t, ours, least))


def fills_up(op: str, row: Row, token: int, ours: set[int], least: int) -> bool:
    """Say whether a token is one of nearly equal ones that fill up the least number."""
    if least == 1 or len(ours) > least:
        return False
    if op == "typical":
        far = (row.gaps - row.mean_gap).abs()
        last = max(float(far[other]) for other in ours)
        error = (4 * float(row.gaps[token]) + row.size / 4 + 64 + far[token]) * U
        return abs(float(far[token]) - last) <= float(error) + 2 * row.entropy_error()
    last = min(float(row.p[other]) for other in ours)
    return abs(float(row.p[token]) - last) <= 2 * row.probability_error(token) * last + TINY


# --------------------------------------------------------------------- stages, one by one

SIZE = 6
TOKENS = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=3)
SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=4)
BIASES = st.sampled_from([-inf, -2.0, -0.5, 0.1, 1.0, 2.0]) | st.floats(-4, 4)
FACTORS = st.sampled_from([0.5, 0.8, 1.1, 1.2, 2.0]) | st.floats(0.5, 2).filter(
    lambda factor: abs(factor - 1) > 1e-6  # which switches a step off
)
LENGTHS = st.integers(1, 8)
SMALL_ROWS = rows(most=SIZE).map(lambda row: (row * SIZE)[:SIZE])
SHARES = st.sampled_from([0.125, 0.25, 0.5, 0.75, 0.875, 0.9]) | st.floats(0.001, 0.999)


def next_ones(table: list[list[int]]) -> Callable[[list[int]], list[int]]:
    return lambda history: table[history[-1]]


PENALTIES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "sequence_bias": st.fixed_dictionaries(
        {"sequence_bias": st.dictionaries(SEQUENCES.map(lambda s: tuple(s[0])), BIASES, min_size=1)}
    ),
    "encoder_repetition": st.fixed_dictionaries({"encoder_repetition_penalty": FACTORS}),
    "repetition_penalty": st.fixed_dictionaries(
        {"repetition_penalty": FACTORS}, optional={"prompt_ignore_length": st.integers(0, 2)}
    ),
    "no_repeat_ngram": st.fixed_dictionaries({"no_repeat_ngram_size": st.integers(1, 4)}),
    "encoder_no_repeat_ngram": st.fixed_dictionaries(
        {"encoder_no_repeat_ngram_size": st.integers(1, 4)}
    ),
    "bad_words": st.fixed_dictionaries(
        {"bad_words_ids": SEQUENCES}, optional={"eos_token_id": st.integers(0, 2) | TOKENS}
    ),
    "min_length": st.fixed_dictionaries({"min_length": LENGTHS, "eos_token_id": TOKENS}),
    "min_new_tokens": st.fixed_dictionaries(
        {"min_new_tokens": LENGTHS, "eos_token_id": TOKENS}, optional={"min_length": LENGTHS}
    ),
    "prefix_allowed_tokens": st.fixed_dictionaries(
        {"prefix_allowed_tokens_fn": st.lists(TOKENS, min_size=SIZE, max_size=SIZE).map(next_ones)}
    ),
    "forced_bos": st.fixed_dictionaries({"forced_bos_token_id": st.integers(0, SIZE - 1)}),
    "forced_eos": st.fixed_dictionaries(
        {"forced_eos_token_id": st.integers(0, SIZE - 1) | TOKENS},
        optional={"max_length": LENGTHS, "max_new_tokens": LENGTHS},
    ),
    "remove_invalid_values": st.just({"remove_invalid_values": True}),
    "exponential_decay_length": st.fixed_dictionaries(
        {
            "exponential_decay_length_penalty": st.tuples(
                st.integers(0, 3), st.sampled_from([0.5, 1.01, 1.5, 2.0]) | st.floats(0.5, 2)
            ),
            "eos_token_id": TOKENS,
        }
    ),
    "suppress": st.fixed_dictionaries({"suppress_tokens": TOKENS}),
    "begin_suppress": st.fixed_dictionaries(
        {"begin_suppress_tokens": TOKENS},
        optional={"forced_bos_token_id": st.integers(0, SIZE - 1)},
    ),
    "temperature": st.fixed_dictionaries({"temperature": FACTORS}),
}
"""Parameters that switch a step on, under generate's names."""

WARPERS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "top_h": st.fixed_dictionaries({"top_h": SHARES | st.just(1.0)}),
    "top_k": st.fixed_dictionaries({"top_k": st.integers(1, 9)}),
    "top_p": st.fixed_dictionaries({"top_p": SHARES | st.just(0.0)}),
    "min_p": st.fixed_dictionaries({"min_p": SHARES | st.sampled_from([0.0, 1.0])}),
    "typical": st.fixed_dictionaries({"typical_p": SHARES}),
    "epsilon": st.fixed_dictionaries({"epsilon_cutoff": SHARES | st.just(0.0003)}),
    "eta": st.fixed_dictionaries({"eta_cutoff": SHARES | st.just(0.0003)}),
}

PARAMETER_OF = {"typical": "typical_p", "epsilon": "epsilon_cutoff", "eta": "eta_cutoff"}


@pytest.mark.parametrize("op", PENALTIES)
@drawn(20)
@given(row=SMALL_ROWS, data=st.data())
def test_a_step_that_looks_back_makes_the_same_numbers(
    op: str, row: list[float], data: st.DataObject
) -> None:
    prompt = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    history = prompt + data.draw(histories(SIZE, most=8))
    params = data.draw(PENALTIES[op])
    ignored = params.get("prompt_ignore_length", 0)
    if ignored >= len(prompt):  # generate() finds no place where the prompt begins
        params["prompt_ignore_length"] = 0
    if "max_length" in params:  # which the prompt must not have reached
        params["max_length"] += len(prompt)
    built = processors(SIZE, prompt, **{"top_k": 0, **params})
    assert set(names_of(built)) >= {op} - ({"min_length"} if "min_new_tokens" in params else set())
    engine = processed(next(one for one in built if isinstance(one, OPS[op])), row, history)
    own = {name: value for name, value in params.items() if op in used_by(name)}
    ours: dict[str, Any] = {"history": history, "prompt_length": len(prompt), **own}
    assert step(NAME, op, row, precision="f32", **ours) == engine
    exact = step(NAME, op, row, **ours)
    assert exact == pytest.approx(engine, rel=1e-6, abs=1e-5)


def test_what_is_forced_and_suppressed_leaves_nothing() -> None:
    """generate() looks for this one contradiction before it begins; here the row says so."""
    params: dict[str, Any] = {"forced_bos_token_id": 1, "suppress_tokens": [1]}
    with pytest.raises(ValueError, match="is also in `suppress_tokens`"):
        processors(SIZE, [0], **params)
    with pytest.raises(RowError, match="all are minus infinity"):
        distribution(NAME, ROW, [0], prompt_length=1, **params)
    assert distribution(NAME, ROW, [0, 0], prompt_length=1, **params)[1] == 0


def used_by(parameter: str) -> set[str]:
    return {stage.step for stage in PROFILE.stages if parameter in stage.parameters()}


@pytest.mark.parametrize("op", WARPERS)
@drawn(25)
@given(
    row=rows() | st.builds(long_row, st.just(151), st.integers(0, 99), st.just(2.0)), data=st.data()
)
def test_a_filter_keeps_the_same_tokens(op: str, row: list[float], data: st.DataObject) -> None:
    params = data.draw(WARPERS[op])
    (value,) = params.values()
    least = 1 if op == "top_h" else data.draw(st.sampled_from([1, 1, 2, 3, 50]))
    more: dict[str, Any] = {} if op == "top_h" else {"min_tokens_to_keep": least}
    engine = processed(OPS[op](value, **more), row, [0])
    for precision in ("exact", "f32"):
        ours = step(NAME, op, row, **params, **more, precision=precision)
        assert all(ours[token] == row[token] for token in kept_in(ours))
        assert_explained(op, row, kept_in(engine), kept_in(ours), value, least)


HALVES = torch.tensor([4.0, 2.0, 1.0, 1.0]).log().tolist()
"""Logits of 1/2, 1/4, 1/8 and 1/8, which 32 bits meet exactly, and their sums with them."""


@pytest.mark.parametrize("row", [HALVES, HALVES[::-1], [*HALVES, -inf], [1.0] * 8, [0.0] * 4])
@pytest.mark.parametrize("op", ["top_p", "min_p", "typical", "epsilon"])
@pytest.mark.parametrize("value", [0.125, 0.25, 0.5, 0.625, 0.75, 0.875])
def test_nothing_is_excused_where_32_bits_are_exact(
    op: str, row: list[float], value: float
) -> None:
    engine = processed(OPS[op](value), row, [0])
    given_here: dict[str, Any] = {PARAMETER_OF.get(op, op): value}
    assert step(NAME, op, row, precision="f32", **given_here) == engine


@drawn(40)
@given(row=rows(), precision=st.sampled_from(["exact", "f32"]))
def test_log_probabilities_are_the_same(row: list[float], precision: Any) -> None:
    engine = processed(process.LogitNormalization(), row, [0])
    bound = [(2 * (max(row) - logit) + len(row) / 8 + 32) * U for logit in row]
    trace = explain(NAME, row, renormalize_logits=True, top_k=0, precision=precision)
    for ours in (trace.row, logprobs(NAME, row, which="raw"), step(NAME, "logprobs", row)):
        for one, other, error in zip(ours, engine, bound, strict=True):
            assert one == other or abs(float(one) - other) <= error


# ----------------------------------------------------------------- order and off conditions

ON: dict[str, Any] = {
    "sequence_bias": {(0,): 1.0},
    "encoder_repetition_penalty": 2.0,
    "repetition_penalty": 2.0,
    "no_repeat_ngram_size": 3,
    "encoder_no_repeat_ngram_size": 3,
    "bad_words_ids": [[0, 0]],
    "min_length": 3,
    "prefix_allowed_tokens_fn": lambda _: list(range(SIZE)),
    "forced_bos_token_id": 1,
    "forced_eos_token_id": 2,
    "remove_invalid_values": True,
    "exponential_decay_length_penalty": (2, 1.5),
    "suppress_tokens": [5],
    "begin_suppress_tokens": [4],
    "temperature": 0.5,
    "top_h": 0.5,
    "top_k": 5,
    "top_p": 0.5,
    "min_p": 0.5,
    "typical_p": 0.5,
    "epsilon_cutoff": 0.5,
    "eta_cutoff": 0.5,
    "renormalize_logits": True,
}
"""A value for each parameter that switches a step on, in the order of the steps."""

OFF: list[dict[str, Any]] = [
    {name: None} for name in ON if name not in {"remove_invalid_values", "renormalize_logits"}
]
OFF += [
    *({"encoder_repetition_penalty": 1.0}, {"repetition_penalty": 1.0}),
    *({"no_repeat_ngram_size": 0}, {"encoder_no_repeat_ngram_size": 0}),
    *({"min_length": 0, "eos_token_id": 1}, {"min_length": 3}, {"min_new_tokens": 3}),
    *({"temperature": 1.0}, {"top_k": 0}, {"top_p": 1.0}, {"typical_p": 1.0}),
    *({"epsilon_cutoff": 0.0}, {"epsilon_cutoff": 1.0}, {"eta_cutoff": 0.0}, {"eta_cutoff": 1.0}),
    *({"remove_invalid_values": False}, {"renormalize_logits": False}),
]

EDGES: list[dict[str, Any]] = [
    *({"min_p": 0.0}, {"min_p": 1.0}, {"top_p": 0.0}, {"top_h": 1.0}),
    *({"typical_p": 1 - 2.0**-53}, {"typical_p": 1e-50}, {"epsilon_cutoff": 1 - 2.0**-53}),
    *({"epsilon_cutoff": 1e-50}, {"eta_cutoff": 1 - 2.0**-53}, {"eta_cutoff": 1e-50}),
    *({"top_h": 1e-50}, {"min_p": 1e-50}, {"top_p": 1 - 2.0**-53}, {"top_p": 1e-50}),
    *({"suppress_tokens": []}, {"begin_suppress_tokens": []}, {"top_k": SIZE + 1}),
    {"bad_words_ids": [[1]], "eos_token_id": 1},
    {"min_length": 3, "eos_token_id": 0},
    {"min_length": 3, "min_new_tokens": 1, "eos_token_id": 0},
    {"top_k": 1},
]
"""Just inside of where a step is on."""

ROW = [1.5, 1.0, 0.5, 0.25, -0.5, -1.0]


def applied(history: Sequence[int], prompt: int, **params: Any) -> list[str]:
    trace = explain(NAME, ROW, history, prompt_length=prompt, **params)
    return [one.step for one in trace.steps]


def stages_on(**params: Any) -> list[str]:
    parameters = {**PROFILE.defaults(), **params}
    return [stage.step for stage in PROFILE.stages if not holds(stage.off_if, parameters)]


@pytest.mark.parametrize("params", OFF, ids=str)
def test_what_generate_leaves_out_is_left_out(params: dict[str, Any]) -> None:
    rest = [] if "top_k" in params else ["top_k"]  # whose default is 50
    assert applied([0], 1, **params) == names_of(processors(SIZE, [0], **params)) == rest


UNSET = GenerationConfig(top_k=None)  # type: ignore[no-untyped-call]  # transformers has none


def test_no_top_k_is_the_default_one_there() -> None:
    """That is, in a GenerationConfig; as an argument of its own None switches it off."""
    (built,) = processors(SIZE, [0], generation_config=UNSET)
    assert built.top_k == PROFILE.parameter("top_k").default


@pytest.mark.parametrize("name", ["temperature", "repetition_penalty"])
def test_what_is_1_in_32_bits_changes_nothing(name: str) -> None:
    (built,) = processors(SIZE, [0], top_k=0, **{name: 1 + 2.0**-52})
    assert processed(built, ROW, [0]) == ROW
    assert applied([0], 1, top_k=0, **{name: 1 + 2.0**-52}) == []


def test_no_new_tokens_are_a_minimum_length_that_the_prompt_has() -> None:
    params: dict[str, Any] = {"min_length": 9, "min_new_tokens": 0, "eos_token_id": 0, "top_k": 0}
    (built,) = processors(SIZE, [0], **params)
    assert processed(built, ROW, [0]) == ROW
    assert applied([0], 1, **params) == []


@pytest.mark.parametrize("params", EDGES, ids=str)
def test_what_generate_does_not_leave_out_is_applied(params: dict[str, Any]) -> None:
    built = needed(processors(SIZE, [0], **{"top_k": 0, **params}))
    given_params = {"top_k": 0, **params}
    assert applied([0, 0], 1, **given_params) == names_of(built)
    assert len(built) == 1
    engine = processed(built[0], ROW, [0, 0])
    for precision in ("exact", "f32"):
        ours = explain(NAME, ROW, [0, 0], prompt_length=1, precision=precision, **given_params)
        assert list(ours.row) == pytest.approx(engine, rel=1e-6)


def needed(built: Sequence[Any]) -> list[Any]:
    """Leave out the minimum length that generate() makes of min_new_tokens: it says the same."""
    if "min_new_tokens" not in names_of(built):
        return list(built)
    return [one for one in built if not isinstance(one, OPS["min_length"])]


def test_everything_at_once_stands_in_the_same_order() -> None:
    params = {**ON, "eos_token_id": 3}
    assert names_of(processors(SIZE, [0, 0], **params)) == applied([0, 0], 2, **params)
    assert len(set(applied([0, 0], 2, **params))) == len(OPS) - 1  # all but min_new_tokens
    assert list(OPS) == list(dict.fromkeys(stage.step for stage in PROFILE.stages))


def test_the_defaults_are_those_of_generate() -> None:
    own = GivenRows([[0.0]]).generation_config._get_default_generation_params()
    ours = PROFILE.defaults()
    kept = {name: value for name, value in own.items() if name in ours}
    different = {"do_sample", "max_length"}
    assert {n: v for n, v in kept.items() if n not in different} == {
        name: ours[name] for name in kept if name not in different
    }
    assert len(kept) > 15
    assert (own["do_sample"], own["max_length"]) == (False, 20)


@pytest.mark.parametrize(
    ("params", "length"),
    [({}, 22), ({"max_length": 5}, 5), ({"max_length": 5, "max_new_tokens": 1}, 3)],
)
def test_the_last_place_is_the_same(params: dict[str, Any], length: int) -> None:
    """Without any length generate() makes 20 tokens beyond the prompt; new ones go first."""
    (engine,) = processors(SIZE, [0, 0], top_k=0, forced_eos_token_id=2, **params)
    assert engine.max_length == length
    for there in range(2, 24):
        row = step(
            *(NAME, "forced_eos", ROW, [0] * there),
            prompt_length=2,
            forced_eos_token_id=2,
            **params,
        )
        assert row == processed(engine, ROW, [0] * there)
        assert (row == ROW) == (there != length - 1)


@pytest.mark.parametrize("forced", [None, 3])
@pytest.mark.parametrize("prompt", [1, 2])
def test_a_forced_beginning_moves_what_is_suppressed_at_the_beginning(
    forced: int | None, prompt: int
) -> None:
    params: dict[str, Any] = {"begin_suppress_tokens": [0], "forced_bos_token_id": forced}
    built = processors(SIZE, [0] * prompt, top_k=0, **params)
    assert built[-1].begin_index == (2 if prompt == 1 and forced else prompt)
    for there in range(prompt, 5):
        ours = step(*(NAME, "begin_suppress", ROW, [0] * there), prompt_length=prompt, **params)
        assert ours == processed(built[-1], ROW, [0] * there)


# ------------------------------------------------------------------------- the whole chain

CHAIN_ROWS = SMALL_ROWS.map(lambda row: [max(-20.0, min(20.0, x)) if x > -inf else x for x in row])
LONG_CHAIN_ROWS = st.builds(long_row, st.sampled_from([17, 300]), st.integers(0, 999), st.just(3.0))


@st.composite
def settings_of_generate(draw: st.DrawFn) -> dict[str, Any]:
    """Draw several parameters at once."""
    looking_back = draw(st.lists(st.sampled_from(sorted(PENALTIES)), max_size=4, unique=True))
    warpers = draw(st.lists(st.sampled_from(sorted(WARPERS)), max_size=4, unique=True))
    params: dict[str, Any] = {}
    for op in looking_back:
        params |= draw(PENALTIES[op])
    for op in warpers:
        params |= draw(WARPERS[op])
    params.pop("prompt_ignore_length", None)
    if "max_length" in params:  # which the prompt must not have reached
        params["max_length"] = max(params["max_length"], 4)
    if "forced_bos_token_id" in params or "forced_eos_token_id" in params:
        params.pop("suppress_tokens", None)  # generate() refuses to force what is suppressed
    if "remove_invalid_values" in params:  # see the tests about what cannot be told apart,
        params.pop("top_h", None)
        params.pop("exponential_decay_length_penalty", None)  # and about a raised lowest number
    if draw(st.booleans()):
        params.setdefault("top_k", 0)
    if draw(st.integers(0, 3)) == 0:
        params["renormalize_logits"] = True
    if draw(st.booleans()):
        params.setdefault("temperature", draw(st.sampled_from([0.5, 0.7, 1.5])))
    return params


def test_what_is_impossible_to_tell_apart_is_undecided() -> None:
    """All but one token at the lowest number of 32 bits: their entropy is e**(-3.4e38)."""
    row = [1.0, 2.0, 3.0]
    params: dict[str, Any] = {"forced_bos_token_id": 0, "remove_invalid_values": True}
    (engine,) = [processors(3, [0], top_k=0, top_h=0.5, **params)]
    assert kept_in(processed(engine, row, [0])) == {0}
    assert explain(NAME, row, [0], top_h=0.5, precision="f32", **params).row == [0.0, -inf, -inf]
    with pytest.raises(UndecidedError):
        distribution(NAME, row, [0], top_h=0.5, **params)


def test_an_impossible_end_that_was_made_finite_is_raised_to_infinity() -> None:
    """In the engine, which then fails to draw; exactly it is a large number."""
    row = [-inf, 0.0]
    params: dict[str, Any] = {"remove_invalid_values": True, "eos_token_id": 0}
    params["exponential_decay_length_penalty"] = (0, 1.5)
    about: dict[str, Any] = {"history": [1, 1, 1], "prompt_length": 1}
    built = processors(2, [1], top_k=0, **params)
    assert processed(built, row, [1, 1, 1]) == [inf, 0.0]
    assert distribution(NAME, row, **about, **params) == [1.0, 0.0]
    with pytest.raises(RowError, match="makes no finite number of the logit of token 0"):
        distribution(NAME, row, **about, **params, precision="f32")


@dataclass
class Tally:
    """How many chains were compared, and how many parted where rounding decides."""

    chains: int = 0
    parted: int = 0
    worst: float = 0.0
    seen: set[str] = field(default_factory=set)


TALLY = Tally()


@drawn(300)
@given(row=CHAIN_ROWS | LONG_CHAIN_ROWS, params=settings_of_generate(), data=st.data())
def test_the_whole_chain_is_the_same(
    row: list[float], params: dict[str, Any], data: st.DataObject
) -> None:
    """Each of the engine's rows goes through our step too; then the ends are compared."""
    prompt = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    history = prompt + data.draw(histories(SIZE, most=6))
    about: dict[str, Any] = {"history": history, "prompt_length": len(prompt)}
    built = needed(processors(len(row), prompt, **params))
    if not possible_after(built, row, history):
        with pytest.raises(RowError, match="all are minus infinity"):
            distribution(NAME, row, **about, **params)
        return
    trace = explain(NAME, row, **about, **params)
    assert names_of(built) == [one.step for one in trace.steps]
    TALLY.chains += 1
    engine, largest_logit = row, 1.0
    for processor, ours in zip(built, trace.steps, strict=True):
        before, engine = engine, processed(processor, engine, history)
        assert_same_step(ours.step, before, engine, about, params)
        TALLY.seen.add(ours.step)
        if kept_in(map(float, ours.row_after)) != kept_in(engine):  # explained for this row
            TALLY.parted += 1
            return
        finite = [abs(logit) for logit in engine if abs(logit) < 1e30]
        largest_logit = max([largest_logit, *finite])
    shares = torch.tensor(engine).softmax(0).tolist()
    top = max(engine)
    for one, other, logit in zip(
        distribution(NAME, row, **about, **params), shares, engine, strict=True
    ):
        error = (16 * largest_logit + (top - logit) + len(row) / 8 + 32) * U if logit > -inf else 0
        assert abs(one - other) <= error * one + 2.0**-125
        if one > 1e-30:
            TALLY.worst = max(TALLY.worst, abs(one - other) / one)


def possible_after(built: Sequence[Any], row: list[float], history: list[int]) -> bool:
    """Say whether the engine's processors leave a token possible; some break if none is."""
    try:
        return bool(kept_in(processed(process.LogitsProcessorList(built), row, history)))
    except ValueError:
        return False


def assert_same_step(
    op: str,
    before: list[float],
    after: list[float],
    about: Mapping[str, Any],
    params: Mapping[str, Any],
) -> None:
    """Compare a step of ours with the engine's, both given the engine's row before it."""
    own = {name: value for name, value in params.items() if op in used_by(name)}
    if op == "logprobs":
        assert step(NAME, op, before) == pytest.approx(after, rel=1e-6, abs=1e-5)
    elif op in FILTERS:
        ours = step(NAME, op, before, **about, **own)
        value = own.get(PARAMETER_OF.get(op, op), 50)
        assert_explained(op, before, kept_in(after), kept_in(ours), value)
    else:
        assert step(NAME, op, before, **about, **own, precision="f32") == after


def test_chains_hardly_ever_part_and_all_steps_were_in_them() -> None:
    """It runs behind the test above; alone it has nothing to say."""
    if TALLY.chains:
        assert TALLY.parted <= TALLY.chains / 10
        assert TALLY.seen == set(OPS)
        assert TALLY.worst <= 1e-5


@drawn(80)
@given(row=CHAIN_ROWS | LONG_CHAIN_ROWS, params=settings_of_generate(), data=st.data())
def test_without_sampling_it_is_the_first_largest(
    row: list[float], params: dict[str, Any], data: st.DataObject
) -> None:
    prompt = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    history = prompt + data.draw(histories(SIZE, most=6))
    about: dict[str, Any] = {"history": history, "prompt_length": len(prompt)}
    engine = processed(processors(len(row), prompt, do_sample=False, **params), row, history)
    if not kept_in(engine):
        with pytest.raises(RowError):
            sample(NAME, row, **about, do_sample=False, **params)
        return
    token = int(torch.tensor(engine).argmax())
    if not params.get("renormalize_logits"):  # whose rounding makes equals
        assert sample(NAME, row, **about, do_sample=False, precision="f32", **params) == token
    exact = explain(NAME, row, **about, do_sample=False, **params).row or row
    ours = sample(NAME, row, **about, do_sample=False, **params)
    assert abs(exact[ours] - exact[token]) <= 16 * U * max(
        abs(exact[ours]), 1.0, *map(abs, row[:1])
    )
    probabilities = distribution(NAME, row, **about, do_sample=False, **params)
    assert probabilities == [float(one == ours) for one in range(len(row))]


@pytest.mark.parametrize("size", [2, 40, 5000])
def test_the_first_of_equals_is_taken_without_sampling(size: int) -> None:
    row = [0.0, *[1.0] * (size - 1)]
    assert generated([row], [0], 0, do_sample=False) == [1]
    assert sample(NAME, row, do_sample=False) == 1


def test_where_nothing_is_possible_the_engine_fails_or_takes_the_first() -> None:
    everything: dict[str, Any] = {"suppress_tokens": [0, 1]}
    with pytest.raises(RuntimeError, match="probability tensor contains"):
        generated([[0.0, 1.0]], [0], 0, **everything)
    assert generated([[0.0, 1.0]], [0], 0, do_sample=False, **everything) == [0]
    for do_sample in (True, False):
        with pytest.raises(RowError, match="all are minus infinity"):
            sample(NAME, [0.0, 1.0], uniforms=[0.5, 0.5], do_sample=do_sample, **everything)


def test_a_temperature_may_leave_nothing_of_what_was_made_finite() -> None:
    """In 32 bits the lowest number over 0.5 is minus infinity; exactly it is a number."""
    row = [-inf, -inf, 0.0]
    params: dict[str, Any] = {"remove_invalid_values": True, "temperature": 0.5}
    engine = processed(processors(3, [0], top_k=0, **params), row, [0])
    assert engine == [-inf, -inf, 0.0]
    assert explain(NAME, row, [0], precision="f32", **params).row == engine
    assert max(explain(NAME, row, [0], **params).row[:2]) > -inf
    assert distribution(NAME, row, [0], **params) == [0.0, 0.0, 1.0]


# ------------------------------------------------------------------------------ parameters

REFUSED: list[dict[str, Any]] = [
    *({"temperature": 0.0}, {"temperature": -1.0}, {"temperature": float("nan")}),
    *({"top_k": -1}, {"top_k": 1.5}, {"top_k": "3"}),
    *({"top_p": -0.1}, {"min_p": -0.1}, {"min_p": 1.1}, {"min_p": float("nan")}),
    *({"top_h": 0.0}, {"top_h": 1.1}, {"top_h": float("nan")}),
    *({"typical_p": 0.0}, {"typical_p": -0.1}),
    *({"repetition_penalty": 0.0}, {"repetition_penalty": -1.0}),
    *({"repetition_penalty": float("nan")}, {"repetition_penalty": "2"}),
    *({"encoder_repetition_penalty": 0.0}, {"encoder_repetition_penalty": float("nan")}),
    *({"no_repeat_ngram_size": 1.5}, {"encoder_no_repeat_ngram_size": 1.5}),
    *({"bad_words_ids": []}, {"bad_words_ids": [1]}, {"bad_words_ids": [[-1]]}),
    *({"bad_words_ids": 1}, {"bad_words_ids": [[0.5]]}),
    *({"sequence_bias": {}}, {"sequence_bias": []}, {"sequence_bias": {(): 1.0}}),
    *({"sequence_bias": {(-1,): 1.0}}, {"sequence_bias": {(0,): "1"}}, {"sequence_bias": {0: 1.0}}),
    *({"min_length": 1.5, "eos_token_id": 0}, {"min_new_tokens": 1.5, "eos_token_id": 0}),
    *({"forced_eos_token_id": -1}, {"forced_eos_token_id": 0.5}),
    *({"exponential_decay_length_penalty": (1,), "eos_token_id": 0}, {"max_new_tokens": 0}),
    *({"max_new_tokens": -1}, {"forced_bos_token_id": 0.5}, {"max_length": 0}),
]

STRICTER: list[tuple[dict[str, Any], str]] = [
    ({"temperature": inf}, "temperature"),
    ({"temperature": 1e-46}, "temperature"),
    ({"repetition_penalty": inf}, "repetition_penalty"),
    ({"repetition_penalty": 1e-46}, "repetition_penalty"),
    ({"encoder_repetition_penalty": inf}, "encoder_repetition_penalty"),
    ({"top_p": float("nan")}, "top_p"),
    ({"top_p": 1.5}, "top_p"),
    ({"typical_p": 1.5}, "typical_p"),
    ({"epsilon_cutoff": 1.5}, "epsilon_cutoff"),
    ({"epsilon_cutoff": -0.5}, "epsilon_cutoff"),
    ({"eta_cutoff": 1.5}, "eta_cutoff"),
    ({"eta_cutoff": -0.5}, "eta_cutoff"),
    ({"sequence_bias": {(0,): inf}}, "sequence_bias"),
    ({"sequence_bias": {(0,): float("nan")}}, "sequence_bias"),
    ({"bad_words_ids": [[], [0]]}, "bad_words_ids"),
    ({"no_repeat_ngram_size": -1}, "no_repeat_ngram_size"),
    ({"encoder_no_repeat_ngram_size": -1}, "encoder_no_repeat_ngram_size"),
    ({"min_length": -1, "eos_token_id": 0}, "min_length"),
    ({"eos_token_id": SIZE, "min_length": 5}, "eos_token_id"),
    ({"suppress_tokens": [SIZE]}, "suppress_tokens"),
    ({"begin_suppress_tokens": [SIZE]}, "begin_suppress_tokens"),
    ({"forced_bos_token_id": -1}, "forced_bos_token_id"),
    (
        {"exponential_decay_length_penalty": (0, -2.0), "eos_token_id": 0},
        "exponential_decay_length_penalty",
    ),
    (
        {"exponential_decay_length_penalty": (-1, 2.0), "eos_token_id": 0},
        "exponential_decay_length_penalty",
    ),
    ({"min_new_tokens": -1, "eos_token_id": 0}, "min_new_tokens"),
]

LAXER: list[tuple[dict[str, Any], str]] = [
    ({"temperature": 2}, "temperature"),
    ({"repetition_penalty": 2}, "repetition_penalty"),
    ({"encoder_repetition_penalty": 2}, "encoder_repetition_penalty"),
    ({"sequence_bias": {(0,): 2}}, "sequence_bias"),
    ({"exponential_decay_length_penalty": (0, 1.5)}, "exponential_decay_length_penalty"),
    ({"forced_eos_token_id": 0, "max_length": 1}, "max_length"),
    ({"eos_token_id": []}, "eos_token_id"),
]
"""What the engine refuses though it means something, or breaks at."""


@pytest.mark.parametrize("params", REFUSED, ids=str)
def test_what_the_engine_refuses_is_refused_in_one_sentence(params: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError, IndexError)):
        processed(processors(SIZE, [0], **params), ROW, [0])
    with pytest.raises(ParameterError) as caught:
        distribution(NAME, ROW, [0], prompt_length=1, **params)
    assert "\n" not in str(caught.value)


UNREAD = [
    {name: value}
    for params in REFUSED
    for name, value in params.items()
    if name in PROFILE.greedy.unread and isinstance(value, int | float)
]


@pytest.mark.parametrize("params", UNREAD, ids=str)
def test_without_sampling_what_only_sampling_uses_is_not_checked(params: dict[str, Any]) -> None:
    row = [0.0, 2.0, 1.0]
    assert generated([row], [0], 0, do_sample=False, **params) == [1]
    assert sample(NAME, row, do_sample=False, **params) == 1
    assert Sampler(NAME, seed=1, **params, do_sample=False).sample(row) == 1
    assert distribution(NAME, row, **params, do_sample=False) == [0.0, 1.0, 0.0]


def test_without_sampling_exactly_the_parameters_of_steps_left_out_are_not_read() -> None:
    after = PROFILE.greedy.after
    used, left_out = (
        {
            name
            for stage in PROFILE.stages
            if (stage.step in after) is is_used
            for name in stage.parameters()
        }
        for is_used in (True, False)
    )
    assert left_out - used - {"min_tokens_to_keep"} == {*PROFILE.greedy.unread}


@pytest.mark.parametrize(("params", "name"), STRICTER, ids=str)
def test_where_we_are_stricter_the_profile_says_so(params: dict[str, Any], name: str) -> None:
    processed(processors(SIZE, [0], **params), ROW, [0])
    with pytest.raises(SamplingError) as caught:
        distribution(NAME, ROW, [0], prompt_length=1, **params)
    assert "\n" not in str(caught.value)
    assert PROFILE.engine_rules[name]


@pytest.mark.parametrize(("params", "name"), LAXER, ids=str)
def test_where_we_are_laxer_the_profile_says_so(params: dict[str, Any], name: str) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError, IndexError)):
        processors(SIZE, [0], **params)
    distribution(NAME, ROW, [0], prompt_length=1, **params)
    assert PROFILE.engine_rules[name]


def nothing_allowed(_: list[int]) -> list[int]:
    return []


@pytest.mark.parametrize(
    "params",
    [
        *({"encoder_input_ids": [SIZE], "encoder_repetition_penalty": 2.0}, {"max_length": 0.5}),
        *({"prompt_ignore_length": -1}, {"min_tokens_to_keep": 0}, {"renormalize_logits": 1}),
        *({"prefix_allowed_tokens_fn": 3}, {"prefix_allowed_tokens_fn": nothing_allowed}),
        *({"do_sample": None}, {"remove_invalid_values": None}, {"suppress_tokens": 3}),
        *({"exponential_decay_length_penalty": 3}, {"eos_token_id": 1.5}),
    ],
    ids=" ".join,  # not what they are: a function shows its address
)
def test_other_nonsense_is_one_sentence_too(params: dict[str, Any]) -> None:
    with pytest.raises(SamplingError) as caught:
        distribution(NAME, ROW, [0], prompt_length=1, **params)
    assert "\n" not in str(caught.value)


# ----------------------------------------------------------------------------------- draws


def race(row: Sequence[float], seed: int, place: int, token: int) -> float:
    """Return the logarithm of a token's score in the race for the token at a place."""
    first = 2 * (place * len(row) + token)
    high, low = islice(mt19937(seed), first, first + 2)
    return row[token] - log(-log1p(-torch_cpu_double(high, low)))


def assert_same_draws(
    logits: list[list[float]], seed: int, prompt: list[int], **params: Any
) -> int:
    """Follow a seed through the rows; return how many draws differ, all within rounding."""
    engine = generated(logits, prompt, seed, **params)
    sampler, differing = Sampler(NAME, seed=seed, prompt=prompt, **params), 0
    logits = logits[: len(engine)]  # an end may have been drawn
    for place, (row, token) in enumerate(zip(logits, engine, strict=True)):
        ours = sampler.sample(row)
        if ours != token:
            differing += 1
            left = [float(logit) for logit in sampler.trace.row] if sampler.trace.steps else row
            gaps = 2 * max(left) - left[ours] - left[token]
            near = abs(race(left, seed, place, ours) - race(left, seed, place, token))
            assert near <= (gaps + 32) * U, f"draw {place}: no rounding explains this"
        sampler.accept(token)
    assert sampler.state["words_taken"] == 2 * sum(map(len, logits))
    return differing


def rows_of(size: int, count: int, seed: int) -> list[list[float]]:
    source = torch.Generator().manual_seed(seed)
    found: list[list[float]] = (
        torch.randn(count, size, generator=source) * (1 + seed % 4)
    ).tolist()
    return found


@pytest.mark.parametrize(
    ("size", "count", "seeds"),
    [(2, 400, 3), (3, 300, 2), (7, 300, 2), (60, 200, 2), (700, 20, 2), (5000, 4, 2)],
)
def test_a_seed_draws_the_same_tokens(size: int, count: int, seeds: int) -> None:
    differing = [
        assert_same_draws(rows_of(size, count, seed), seed, [0], top_k=top_k)
        for seed in range(seeds * CAMPAIGN)
        for top_k in (0, 50)
    ]
    assert sum(differing) <= len(differing) * count / 1000


@pytest.mark.parametrize(
    "params",
    [
        {"temperature": 0.7, "top_p": 0.9},
        {"repetition_penalty": 1.1, "no_repeat_ngram_size": 3},
        {"min_p": 0.05, "temperature": 1.5, "top_k": 0},
        {"typical_p": 0.9},
        {"epsilon_cutoff": 0.02, "eta_cutoff": 0.01, "renormalize_logits": True},
        {"top_h": 0.6, "encoder_repetition_penalty": 1.3},
        {"sequence_bias": {(0,): 1.5, (1, 2): -2.0}, "suppress_tokens": [3]},
        {"exponential_decay_length_penalty": (3, 1.05), "min_new_tokens": 9, "eos_token_id": 0},
        {"do_sample": False, "repetition_penalty": 1.3},
    ],
    ids=str,
)
def test_a_seed_draws_the_same_tokens_whatever_the_parameters(params: dict[str, Any]) -> None:
    for seed in range(2 * CAMPAIGN):
        if params.get("do_sample") is False:
            logits = rows_of(20, 100, seed)
            sampler = Sampler(NAME, seed=seed, prompt=[1, 2], **params)
            for row, token in zip(logits, generated(logits, [1, 2], seed, **params), strict=True):
                assert sampler.sample(row) == token
                sampler.accept(token)
        else:
            assert_same_draws(rows_of(20, 100, seed), seed, [1, 2], **params)


def test_the_proof_of_a_draw_does_not_excuse_a_wrong_stream() -> None:
    logits = rows_of(7, 30, 1)
    engine, wrong = generated(logits, [0], 1), Sampler(NAME, seed=2, prompt=[0])
    tokens = [wrong.sample(row) for row in logits]
    far = [
        abs(race(row, 1, place, one) - race(row, 1, place, other)) > 64 * U
        for place, (row, one, other) in enumerate(zip(logits, engine, tokens, strict=True))
        if one != other
    ]
    assert len(far) > 10
    assert all(far)


def test_equal_scores_are_decided_as_torch_decides_them() -> None:
    """The race is run on 32-bit numbers: the first of two equal scores wins."""
    for seed in range(60 * CAMPAIGN):
        words = mt19937(seed)
        noise = [-log1p(-torch_cpu_double(next(words), next(words))) for _ in range(4)]
        # weights that are the noise to come: all scores are nearly equal
        row = torch.tensor(noise, dtype=torch.float64).log().to(torch.float32).tolist()
        assert_same_draws([row], seed, [0])


def test_scores_that_are_equal_in_32_bits_are_a_draw_for_the_first() -> None:
    row, numbers = [0.0, 0.0], [0.5, 0.5 - 2.0**-53]
    assert sample(NAME, row, uniforms=numbers, precision="exact") == 1
    assert sample(NAME, row, uniforms=numbers, precision="f32") == 0


def test_no_noise_at_all_draws_what_is_impossible() -> None:
    """0 / 0 is NaN, which torch takes for the largest; once in 2**53 numbers."""
    row, numbers = [-inf, 0.0], [0.0, 0.5]
    assert sample(NAME, row, uniforms=numbers, precision="exact") == 1
    assert sample(NAME, row, uniforms=numbers, precision="f32") == 0


def test_given_numbers_are_those_of_the_stream() -> None:
    row = rows_of(5, 1, 3)[0]
    words = mt19937(11)
    numbers = [torch_cpu_double(next(words), next(words)) for _ in row]
    (token,) = generated([row], [0], 11)
    for precision in ("exact", "f32"):
        assert sample(NAME, row, uniforms=numbers, precision=precision) == token


def test_an_exact_sampler_follows_the_seed_too() -> None:
    logits = rows_of(4, 150, 5)
    exact = Sampler(NAME, seed=5, prompt=[0], precision="exact")
    assert [exact.sample(row) for row in logits] == generated(logits, [0], 5)


# ---------------------------------------------------------------------- whole vocabularies

WHOLE = 128_256


@pytest.mark.parametrize("op", WARPERS)
def test_a_filter_keeps_the_same_of_a_whole_vocabulary(op: str) -> None:
    value: Any = {"top_h": 0.4, "top_k": 50, "min_p": 0.05, "epsilon": 0.0003, "eta": 0.0003}.get(
        op, 0.9
    )
    for seed, spread in list(enumerate([2.0, 0.01]))[: 1 + (op != "typical" or CAMPAIGN > 1)]:
        row = long_row(WHOLE, seed, spread)
        engine = processed(OPS[op](value), row, [0])
        given_here: dict[str, Any] = {PARAMETER_OF.get(op, op): value}
        ours = step(NAME, op, row, **given_here)
        assert_explained(op, row, kept_in(engine), kept_in(ours), value)


def test_a_seed_draws_the_same_tokens_of_a_whole_vocabulary() -> None:
    logits = [long_row(WHOLE, seed, 2.0) for seed in range(2)]
    assert assert_same_draws(logits, 3, [0], temperature=0.7) == 0
    assert assert_same_draws(logits[:1], 4, [0], top_k=0) == 0


def test_a_penalty_makes_the_same_numbers_of_a_whole_vocabulary() -> None:
    row, history = long_row(WHOLE, 5, 3.0), [5, 5, WHOLE - 1, *range(1000)]
    engine = processed(processors(WHOLE, history, top_k=0, repetition_penalty=1.1), row, history)
    assert (
        step(NAME, "repetition_penalty", row, history, repetition_penalty=1.1, precision="f32")
        == engine
    )
    warm = processed(OPS["temperature"](0.7), row, history)
    assert step(NAME, "temperature", row, temperature=0.7, precision="f32") == warm


def test_the_probability_of_a_token_is_what_softmax_says() -> None:
    row = [0.0, 1.0, 2.0]
    assert distribution(NAME, row)[2] == pytest.approx(1 / (1 + exp(-1) + exp(-2)), rel=1e-15)
