"""SGLang's sampler for PyTorch and the profile `sglang`, side by side.

The engine's code runs out of its wheel (see `tokenref.engines.from_wheels`): the penalties with the
object that orchestrates them, as its overlapping scheduler uses them, and the sampler.

Single changes of logits are bit for bit the same in 32 bits, but for a frequency penalty of
a token seen more than three times. Filters keep the same tokens except where rounding
provably decides (see `rounding`). For the whole chain our own answer is asked twice more then,
with every threshold moved by the largest rounding error, and the engine's answer must
lie between.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import inf, log
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the engine needs PyTorch")

import torch

from sampling_ref import ParameterError, RowError, distribution, explain, sample, step
from sampling_ref.engines.sglang import SGLANG
from sampling_ref.numbers.binary32 import to_binary32
from tests.sampling.engines.rounding import (
    ROWS,
    TINY,
    Row,
    U,
    assert_between,
    kept_in,
    largest,
    long_row,
    nearest_floats,
    supported,
    uniform_of,
)
from tests.sampling.engines.wheels_of_engines import sglang
from tests.sampling.rows import histories, rows, shares
from tests.texts import CAMPAIGN, drawn
from tokenref.engines.sglang_samplers import info_of as batch_of
from tokenref.engines.sglang_samplers import settings

ENGINE = sglang()

# ----------------------------------------------------------------------- running the engine


@dataclass(frozen=True)
class Drawn:
    """What the engine's sampler did: its last weights, the noise of each token, the token."""

    weights: list[float] | None
    noise: list[float] | None
    token: int

    def kept(self) -> set[int]:
        assert self.weights is not None
        return supported(self.weights)


def info_of(size: int, output: list[int], params: dict[str, Any]) -> Any:
    """Return the engine's batch of one request after these tokens."""
    return batch_of(size, [output], [params])


def processed(
    row: list[float], history: list[int], prompt_length: int, **params: object
) -> list[float]:
    """Return the logits after all that the engine does to them before the temperature."""
    logits = torch.tensor([row])
    info_of(len(row), history[prompt_length:], params).apply_logits_bias(logits)
    found: list[float] = logits[0].tolist()
    return found


def sampled(
    row: list[float], history: list[int], prompt_length: int, seed: int = 0, **params: object
) -> Drawn:
    """Run the engine's whole sampler once."""
    info = info_of(len(row), history[prompt_length:], params)
    logits = torch.tensor([row])
    info.apply_logits_bias(logits)
    seen: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    simple = ENGINE.sampler.sampling_from_probs_torch
    filtering = ENGINE.sampler.top_k_top_p_min_p_sampling_from_probs_torch

    def watched_simple(probabilities: torch.Tensor, **given: object) -> torch.Tensor:
        order = torch.arange(len(row)).unsqueeze(0)
        seen.append((probabilities.clone(), order, torch.empty_like(probabilities)))
        found: torch.Tensor = simple(probabilities, **given)
        return found

    def watched(
        probabilities: torch.Tensor, *given: object, max_top_k: int | None, **more: object
    ) -> torch.Tensor:
        """Ask for the weights first; they come from a sort of the whole row."""
        more.pop("return_filtered_probs")
        asked = {**more, "return_filtered_probs": True}
        _, weights, ids, _ = filtering(probabilities.clone(), *given, **asked)
        order, noisy = ids.long(), weights
        if max_top_k is not None and max_top_k < len(row):  # the engine sorts no more than these
            order = torch.topk(probabilities, k=max_top_k, dim=-1, sorted=True).indices
            noisy = weights[:, :max_top_k]
        by_token = torch.zeros_like(weights).scatter_(-1, ids.long(), weights)
        seen.append((by_token, order, torch.empty_like(noisy)))
        torch.manual_seed(seed)
        found: torch.Tensor = filtering(probabilities, *given, max_top_k=max_top_k, **more)
        return found

    torch.manual_seed(seed)
    with (
        patch.object(ENGINE.sampler, "sampling_from_probs_torch", watched_simple),
        patch.object(ENGINE.sampler, "top_k_top_p_min_p_sampling_from_probs_torch", watched),
    ):
        sampler = ENGINE.sampler.Sampler()
        output = SimpleNamespace(next_token_logits=logits)
        (token,) = sampler(output, info, False, [], [], torch.tensor([0])).tolist()
    if not seen:
        return Drawn(None, None, token)
    ((weights, order, noisy),) = seen
    torch.manual_seed(seed)
    noise = torch.ones_like(weights).scatter_(-1, order, noisy.exponential_(1.0))
    return Drawn(weights[0].tolist(), noise[0].tolist(), token)


# ------------------------------------------------------------------------ what is asked


SIGNED = st.floats(-2, 2) | st.sampled_from([-2.0, -0.5, 0.0, 0.1, 0.5, 1.0, 2.0])
PENALTIES = st.floats(0.1, 2) | st.sampled_from([0.5, 1.0, 1.1, 1.3, 2.0])
TEMPERATURES = st.floats(0.01, 3) | st.sampled_from([0.3, 0.7, 1.0, 1.5, 2.0])


@st.composite
def parts(draw: st.DrawFn, size: int) -> tuple[list[int], int]:
    """Draw a history and how much of it is the prompt."""
    history = draw(histories(size))
    return history, draw(st.integers(0, len(history)))


def changes(size: int) -> dict[str, st.SearchStrategy[Any]]:
    """Return what each parameter that changes logits may be in a row of some size."""
    ends = st.lists(st.integers(0, size - 1), min_size=1, max_size=4, unique=True)
    return {
        "frequency_penalty": SIGNED,
        "presence_penalty": SIGNED,
        "min_new_tokens": st.integers(0, 6),
        "stop_token_ids": ends,
        "repetition_penalty": PENALTIES,
        "logit_bias": st.dictionaries(st.integers(0, size - 1), st.floats(-9, 9), max_size=4),
    }


FILTERS = {
    "top_k": st.just(-1) | st.integers(1, 40),
    "top_p": shares(),
    "min_p": st.just(0.0) | shares(),
}

STEPS = {
    "frequency_penalty": ("frequency_penalty",),
    "presence_penalty": ("presence_penalty",),
    "min_new_tokens": ("min_new_tokens", "stop_token_ids"),
    "repetition_penalty": ("repetition_penalty",),
    "logit_bias": ("logit_bias",),
}

# -------------------------------------------------------------- steps that change logits


@pytest.mark.parametrize("op", STEPS)
@drawn(50)
@given(ROWS, st.data())
def test_a_step_that_changes_logits_is_the_same(
    op: str, row: list[float], data: st.DataObject
) -> None:
    """Bit for bit in 32 bits; the exact answer differs by one rounding for each operation."""
    history, prompt_length = data.draw(parts(len(row)))
    choices = changes(len(row))
    params = {name: data.draw(choices[name], label=name) for name in STEPS[op]}
    engine = processed(row, history, prompt_length, **params)
    given: dict[str, Any] = {"prompt_length": prompt_length, **params}
    ours = step("sglang", op, row, history, precision="f32", **given)
    exact = step("sglang", op, row, history, **given)
    counts = Counter(history[prompt_length:])
    for token, theirs in enumerate(engine):
        if theirs == -inf or op != "frequency_penalty" or counts[token] <= 3:
            assert ours[token] == theirs
        if theirs > -inf:
            change = abs(row[token]) + abs(exact[token] - row[token])
            operations = 1 + max(1, counts[token])
            assert abs(exact[token] - theirs) <= operations * U * (abs(theirs) + change) + TINY


@drawn(50)
@given(ROWS, TEMPERATURES)
def test_the_temperature_is_the_same(row: list[float], temperature: float) -> None:
    held = info_of(len(row), [], {"temperature": temperature}).temperatures
    engine = torch.tensor([row]).div_(held)[0].tolist()
    ours = step("sglang", "temperature", row, temperature=temperature, precision="f32")
    assert ours == engine
    exact = step("sglang", "temperature", row, temperature=temperature)
    assert [to_binary32(logit) for logit in exact] == engine


# ------------------------------------------------------------------------ the whole chain


def logit_error(row: list[float], history: list[int], params: dict[str, Any]) -> float:
    """Return by how much rounding may move the logits that the filters see."""
    size: float = max((abs(logit) for logit in row if logit > -inf), default=0.0)
    size += 2 * abs(params.get("frequency_penalty", 0.0)) * len(history)
    size += 2 * abs(params.get("presence_penalty", 0.0))
    penalty: float = params.get("repetition_penalty", 1.0)
    size = size * max(1.0, penalty, 1 / penalty)
    size += max(map(abs, params.get("logit_bias", {}).values()), default=0.0)
    temperature: float = params.get("temperature", 1.0)
    if temperature < 1e-6:  # greedy
        temperature = 1.0
    return 7 * U * size / temperature


def moved(params: dict[str, Any], row: list[float], error: float, sign: int) -> dict[str, Any]:
    """Return parameters whose thresholds keep more (1) or less (-1) by the rounding error.

    The engine compares with top_p = 1 too, where it filters at all.
    """
    found = dict(params)
    if {"top_k", "top_p", "min_p"} & set(params):
        shift = Row(row).sum_error() + 2 * error + 4 * U
        found["top_p"] = nearest_floats(shift, params.get("top_p", 1.0))[sign > 0]
    if params.get("min_p"):
        gap = -log(params["min_p"])
        shift = params["min_p"] * ((gap + 16) * U + 2 * error) + TINY
        found["min_p"] = nearest_floats(shift, params["min_p"])[sign < 0]
    return found


def last_logits(row: list[float], given: dict[str, Any]) -> list[float]:
    """Return the logits that the filters see."""
    trace = explain("sglang", row, **given)
    warm = next(applied for applied in trace.steps if applied.step == "temperature")
    return [float(logit) for logit in warm.row_after]


def assert_same_chain(
    row: list[float], history: list[int], prompt_length: int, params: dict[str, Any]
) -> None:
    given: dict[str, Any] = {"history": history, "prompt_length": prompt_length}
    try:
        ours = distribution("sglang", row, **given, **params)
    except RowError:  # everything was banned
        assert set(processed(row, history, prompt_length, **params)) == {-inf}
        return
    engine = sampled(row, history, prompt_length, **params)
    error = logit_error(row, history, params)
    if engine.weights is None:
        own = processed(row, history, prompt_length, **params)
        (token,) = supported(ours)
        assert abs(own[token] - own[engine.token]) <= 2 * error
        return
    assert engine.token in engine.kept() or params.get("top_k", -1) > 0
    seen = last_logits(row, {**given, **params})
    if supported(ours) != engine.kept():
        fewest, most = (
            supported(distribution("sglang", row, **given, **moved(params, seen, error, sign)))
            for sign in (-1, 1)
        )
        # The engine sorts probabilities: logits so close that rounding takes their order away.
        close = 2 * error + 2 * (100 + 8) * U
        assert_between(seen, engine.kept(), supported(ours), fewest, most, close=close)
        return
    total, numbers = sum(engine.weights), Row(seen)
    for token in engine.kept():
        bound = 2 * error + numbers.probability_error(token)
        theirs, wanted = engine.weights[token] / total, ours[token]
        assert abs(theirs - wanted) <= max(bound, 1e-5) * wanted + TINY


@pytest.mark.parametrize("name", FILTERS)
@drawn(50)
@given(ROWS, st.data())
def test_a_filter_is_the_same(name: str, row: list[float], data: st.DataObject) -> None:
    params: dict[str, Any] = {name: data.draw(FILTERS[name])}
    assume(params != {"top_k": 1})  # greedy
    assert_same_chain(row, [], 0, params)
    kept = kept_in(step("sglang", name, row, **params))
    assert supported(distribution("sglang", row, **params)) == {
        token for token in kept if row[token] > max(row) - 700
    }


@st.composite
def requests(draw: st.DrawFn, size: int) -> dict[str, Any]:
    """Draw a few parameters, of all that there are; the others are left at their defaults."""
    choices = {**changes(size), **FILTERS, "temperature": TEMPERATURES}
    names = draw(st.lists(st.sampled_from(sorted(choices)), max_size=6, unique=True))
    return {name: draw(choices[name]) for name in names}


@drawn(120)
@given(ROWS, st.data())
def test_the_whole_chain_is_the_same(row: list[float], data: st.DataObject) -> None:
    history, prompt_length = data.draw(parts(len(row)))
    assert_same_chain(row, history, prompt_length, data.draw(requests(len(row))))


TYPICAL: dict[str, dict[str, Any]] = {
    "frequency_penalty": {"frequency_penalty": 0.7},
    "presence_penalty": {"presence_penalty": 0.9},
    "min_new_tokens": {"min_new_tokens": 9, "stop_token_ids": [1, 2]},
    "repetition_penalty": {"repetition_penalty": 1.7},
    "logit_bias": {"logit_bias": {0: 3.0, 1: -1.5, 2: 0.75, 4: 5.0}},
    "temperature": {"temperature": 0.5},
    "hot": {"temperature": 1.9},
    "top_k": {"top_k": 4},
    "top_p": {"top_p": 0.8},
    "min_p": {"min_p": 0.15},
}
"""Every stage, with values that do something to a row of ten tokens."""


@pytest.mark.parametrize(("one", "other"), list(combinations(TYPICAL, 2)))
def test_two_stages_come_in_the_same_order(one: str, other: str) -> None:
    params = TYPICAL[one] | TYPICAL[other]
    for seed in range(12 * CAMPAIGN):
        history = [seed % 7, 1, 2, 1, 0, 1, 3, 2, 2, seed % 5][: 4 + seed % 7]
        for temperature in (params.get("temperature", 1.0), 0.0):
            row = long_row(10, seed, (0.7, 2.0)[seed % 2])
            assert_same_chain(row, history, seed % 4, {**params, "temperature": temperature})


@pytest.mark.parametrize("op", ["repetition_penalty", "frequency_penalty", "presence_penalty"])
def test_the_prompt_does_not_count(op: str) -> None:
    row, history = [1.0, 1.0, 1.0], [0, 1]
    given: dict[str, Any] = {op: 2.0}
    engine = processed(row, history, 1, **given)
    assert step("sglang", op, row, history, prompt_length=1, **given) == engine
    assert engine[0] == 1.0


@drawn(60)
@given(rows(), st.data(), st.sampled_from([{"temperature": 0.0}, {"top_k": 1}]))
def test_a_greedy_engine_takes_the_same_token(
    row: list[float], data: st.DataObject, greedy: dict[str, Any]
) -> None:
    history, prompt_length = data.draw(parts(len(row)))
    params = data.draw(requests(len(row))) | greedy
    assert_same_chain(row, history, prompt_length, {"temperature": 1.0, **params})
    if not history:  # nothing rounds but a bias
        given: dict[str, Any] = {"precision": "f32", **params}
        engine = sampled(row, [], 0, **params)
        own = processed(row, [], 0, **params)
        assert engine.weights is None
        assert max(own) == -inf or sample("sglang", row, **given) == engine.token


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("eighths", range(1, 8))
def test_nothing_is_excused_where_32_bits_are_exact(size: int, eighths: int) -> None:
    """Equal logits, a power of two of them, and dyadic thresholds: no operation rounds."""
    row, share = [0.5] * size + [-inf], eighths / 8
    engine = sampled(row, [], 0, top_p=share)
    assert len(engine.kept()) == min(size, size * eighths // 8 + 1)
    ours = distribution("sglang", row, top_p=share)
    assert largest(row, supported(ours)) == largest(row, engine.kept())
    assert sampled(row, [], 0, min_p=1.0).kept() == set(range(size))
    assert supported(distribution("sglang", row, min_p=1.0)) == set(range(size))


def test_shares_stay_shares_of_the_whole_row() -> None:
    """Of 1/2, 1/4, 1/8, 1/8 top-k leaves 3/4, and 1/2 is two thirds of that, more than 5/8."""
    row = [log(share) for share in (0.5, 0.25, 0.125, 0.125)]
    params: dict[str, Any] = {"top_k": 2, "top_p": 0.625}
    assert sampled(row, [], 0, **params).kept() == {0, 1}
    assert supported(distribution("sglang", row, **params)) == {0, 1}
    params = {"top_k": 2, "top_p": 0.375}
    assert sampled(row, [], 0, **params).kept() == {0}
    assert supported(distribution("sglang", row, **params)) == {0}


@pytest.mark.parametrize("k", [2, 3, 4])
def test_top_k_keeps_exactly_k_of_equals(k: int) -> None:
    """Which of them is an accident of the engine's sort."""
    row = [1.0, 2.0, 2.0, 2.0, 3.0]
    engine = sampled(row, [], 0, top_k=k).kept()
    ours = supported(distribution("sglang", row, top_k=k))
    assert len(engine) == len(ours) == k
    assert 4 in engine & ours
    assert 0 not in engine | ours


def test_the_proof_excuses_no_wrong_rule() -> None:
    row = [3.0, 2.0, 1.0, 0.5, 0.0, -1.0, -2.0]
    engine = sampled(row, [], 0, top_p=0.75).kept()
    ours = supported(distribution("sglang", row, top_p=0.75))
    near = [moved({"top_p": 0.75}, row, 0.0, sign) for sign in (-1, 1)]
    fewest, most = (supported(distribution("sglang", row, **params)) for params in near)
    assert engine == ours == fewest == most
    for wrong in (engine | {2}, engine - {1}, {0, 2}):
        with pytest.raises(AssertionError, match="no rounding explains this"):
            assert_between(row, wrong, ours, fewest, most, close=0.0001)


@pytest.mark.parametrize("size", [32_000, 128_256][: min(2, CAMPAIGN + 1)])
def test_a_whole_vocabulary_is_filtered_the_same_way(size: int) -> None:
    row = long_row(size, 7, 2.0)
    assert_same_chain(row, [], 0, {"top_p": 0.9})
    chain: dict[str, Any] = {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.01}
    assert_same_chain(row, [5, 5, 6], 1, {**chain, "repetition_penalty": 1.3})


def test_an_unfiltered_row_loses_tokens_where_another_filter_is_on() -> None:
    """Sums in 32 bits pass 1, and the engine compares with top_p = 1 where it filters."""
    lost = 0
    for seed in range(10):
        row = long_row(1000, seed, 4.0)
        engine = sampled(row, [], 0, top_k=len(row) - 1).kept()
        ours = supported(distribution("sglang", row, top_k=len(row) - 1))
        assert engine <= ours
        lost += len(ours) - len(engine)
        assert_same_chain(row, [], 0, {"top_k": len(row) - 1})
    assert lost > 0


# -------------------------------------------------------------------------------- draws


@drawn(120)
@given(rows(), st.integers(0, 2**31), st.data())
def test_with_the_engines_noise_the_same_token_is_drawn(
    row: list[float], seed: int, data: st.DataObject
) -> None:
    history, prompt_length = data.draw(parts(len(row)))
    params = data.draw(requests(len(row)))
    assume(max(processed(row, history, prompt_length, **params)) > -inf)
    engine = sampled(row, history, prompt_length, seed, **params)
    assume(engine.noise is not None)
    assert engine.noise is not None
    given: dict[str, Any] = {"history": history, "prompt_length": prompt_length, **params}
    law = distribution("sglang", row, **given)
    if supported(law) != engine.kept() or law[engine.token] == 0:
        return  # explained by the test of the chain, or equals that a sort put elsewhere
    ours = sample("sglang", row, uniforms=list(map(uniform_of, engine.noise)), **given)
    scores = [log(law[token]) - log(engine.noise[token]) for token in (ours, engine.token)]
    error = 4 * logit_error(row, history, params) + 200 * U
    assert ours == engine.token or abs(scores[0] - scores[1]) <= error


# ------------------------------------------------------------------------------- domains

GOOD: list[dict[str, Any]] = [
    *({"temperature": value} for value in (0, 1e-7, 1e-6, 0.01, 1, 5.0)),
    *({"top_p": value} for value in (1e-30, 0.5, 1, 1.0)),
    *({"top_k": value} for value in (-1, 1, 2, 10**6)),
    *({"min_p": value} for value in (0, 0.0, 1.0)),
    *({"repetition_penalty": value} for value in (1e-6, 1, 2.0)),
    *({"frequency_penalty": value} for value in (-2, 2.0)),
    *({"presence_penalty": value} for value in (-2, 2.0)),
    *({"min_new_tokens": value} for value in (0, 100)),
    {"stop_token_ids": [0]},
    {"logit_bias": {0: -100.0, 1: 1000.0}},
]
BAD: list[dict[str, Any]] = [
    *({"temperature": value} for value in (-0.1, inf, -inf, float("nan"))),
    *({"top_p": value} for value in (0, -0.5, 1.1, float("nan"))),
    *({"top_k": value} for value in (-2, 0)),
    *({"min_p": value} for value in (-0.1, 1.1, float("nan"))),
    *({"repetition_penalty": value} for value in (0, -1.0, 2.1, inf, float("nan"))),
    *({"frequency_penalty": value} for value in (-2.1, 2.1, float("nan"))),
    *({"presence_penalty": value} for value in (-2.1, 2.1, float("nan"))),
    {"min_new_tokens": -1},
    {"logit_bias": {3: 1.0}},
]
ROW = [1.0, 2.0, 3.0]


@pytest.mark.parametrize("params", GOOD, ids=str)
def test_what_the_engine_accepts_is_accepted(params: dict[str, Any]) -> None:
    assert_same_chain(ROW, [0, 1], 1, params)


@pytest.mark.parametrize("params", BAD, ids=str)
def test_what_the_engine_refuses_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        settings(params).verify(len(ROW))
    with pytest.raises(ParameterError):
        distribution("sglang", ROW, **params)


def test_a_millionth_is_the_lowest_temperature() -> None:
    """Below it the engine is greedy; there it divides, and the best token is all that is left."""
    row = [1.0, 1.0 + 2.0**-23]
    assert sampled(row, [], 0, temperature=9.99e-7).weights is None
    assert sampled(row, [], 0, temperature=1e-6).kept() == {0, 1}
    assert supported(distribution("sglang", row, temperature=9.99e-7)) == {1}
    assert supported(distribution("sglang", row, temperature=1e-6)) == {0, 1}


@pytest.mark.parametrize("name", [one.name for one in SGLANG.parameters])
def test_the_defaults_are_the_engines(name: str) -> None:
    own = getattr(settings({}), name)
    assert SGLANG.parameter(name).default == (-1 if name == "top_k" and own == 2**30 else own)
