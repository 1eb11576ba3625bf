"""vLLM's sampler for PyTorch and the profile `vllm`, side by side.

The engine's code runs out of its wheel (see `tokenref.engines.from_wheels`), with tensors that
the adapter for `tokenref check` fills.

Penalties, biases, masks and the temperature are bit for bit the same in 32 bits. Filters keep
the same tokens except where rounding provably decides (see `rounding`). For the whole
chain our own answer is asked twice more then, with every threshold moved by the largest
rounding error, and the engine's answer must lie between.
"""

from dataclasses import dataclass, replace
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
from sampling_ref.engines.vllm import VLLM
from sampling_ref.numbers.binary32 import to_binary32
from tests.sampling.engines.rounding import (
    ROWS,
    TINY,
    Row,
    U,
    assert_between,
    assert_same,
    kept_in,
    long_row,
    nearest_floats,
    supported,
    uniform_of,
)
from tests.sampling.engines.wheels_of_engines import vllm
from tests.sampling.rows import histories, rows, shares
from tests.texts import CAMPAIGN, drawn
from tokenref.engines.vllm_samplers import Requested, metadata_of, settings

ENGINE = vllm()

# ----------------------------------------------------------------------- running the engine


@dataclass(frozen=True)
class Drawn:
    """What the engine's sampler did: its last logits, its probabilities, noise and token."""

    logits: list[float]
    probabilities: list[float] | None
    noise: list[float] | None
    token: int


def metadata(
    size: int, prompt: list[int], output: list[int], params: dict[str, Any], seed: int = 0
) -> Any:
    """Fill the tensors of a batch of one request, as the engine's input batch does."""
    generators = {0: torch.Generator().manual_seed(seed)}
    return metadata_of(size, [Requested(prompt, output, params)], generators)


def sampled(
    row: list[float], history: list[int], prompt_length: int, seed: int = 0, **params: object
) -> Drawn:
    """Run the engine's whole sampler once."""
    prompt, output = history[:prompt_length], history[prompt_length:]
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    draw = ENGINE.topk_topp_sampler.sample_with_exponential_noise

    def watched(probabilities: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        seen.append((probabilities.clone(), noise.clone()))
        chosen: torch.Tensor = draw(probabilities, noise)
        return chosen

    sampler = ENGINE.sampler.Sampler(logprobs_mode="processed_logits")
    with (
        patch.object(ENGINE.topk_topp_sampler, "sample_with_exponential_noise", watched),
        patch.object(ENGINE.sampler, "LogprobsTensors", lambda _, logits, __: logits),
    ):
        batch = metadata(len(row), prompt, output, params, seed)
        answer = sampler(torch.tensor([row]), batch)
    logits = answer.logprobs_tensors[0].tolist()
    token = int(answer.sampled_token_ids.item())
    if not seen:
        return Drawn(logits, None, None, token)
    ((probabilities, noise),) = seen
    return Drawn(logits, probabilities[0].tolist(), noise[0].tolist(), token)


def processed(
    row: list[float], history: list[int], prompt_length: int, **params: object
) -> list[float]:
    """Return the logits after all that the engine does to them before the temperature."""
    batch = metadata(len(row), history[:prompt_length], history[prompt_length:], params)
    sampler = ENGINE.sampler.Sampler()
    logits: list[float] = sampler.apply_logits_processors(
        torch.tensor([row]), batch, predict_bonus_token=False
    )[0].tolist()
    return logits


# ------------------------------------------------------------------------ what is asked


SIGNED = st.floats(-2, 2) | st.sampled_from([-2.0, -0.5, 0.0, 0.1, 0.5, 1.0, 2.0])
PENALTIES = st.floats(0.1, 5) | st.sampled_from([0.5, 1.0, 1.1, 1.3, 2.0])
TEMPERATURES = st.floats(0.01, 2) | st.sampled_from([0.01, 0.3, 0.7, 1.0, 1.5, 2.0])


@st.composite
def parts(draw: st.DrawFn, size: int) -> tuple[list[int], int]:
    """Draw a history and how much of it is the prompt."""
    history = draw(histories(size))
    return history, draw(st.integers(0, len(history)))


def tokens(size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, size - 1), min_size=1, max_size=4, unique=True)


def changes(size: int) -> dict[str, st.SearchStrategy[Any]]:
    """Return what each parameter that changes logits may be in a row of some size."""
    few = st.integers(0, min(size, 4) - 1)
    return {
        "allowed_token_ids": tokens(size),
        "bad_words": st.lists(st.lists(few, min_size=1, max_size=3), min_size=1, max_size=4),
        "min_tokens": st.integers(0, 6),
        "stop_token_ids": tokens(size),
        "logit_bias": st.dictionaries(st.integers(0, size - 1), st.floats(-9, 9), max_size=4),
        "repetition_penalty": PENALTIES,
        "frequency_penalty": SIGNED,
        "presence_penalty": SIGNED,
    }


FILTERS = {"min_p": st.just(0.0) | shares(), "top_k": st.integers(-1, 40), "top_p": shares()}

STEPS = {
    "allowed_tokens": ("allowed_token_ids",),
    "bad_words": ("bad_words",),
    "min_new_tokens": ("min_tokens", "stop_token_ids"),
    "logit_bias": ("logit_bias",),
    "repetition_penalty": ("repetition_penalty",),
    "frequency_penalty": ("frequency_penalty",),
    "presence_penalty": ("presence_penalty",),
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
    assert step("vllm", op, row, history, precision="f32", **given) == engine
    for ours, theirs, before in zip(
        step("vllm", op, row, history, **given), engine, row, strict=True
    ):
        if theirs == -inf or ours == -inf:
            assert theirs == ours
        else:
            moved = abs(before) + abs(ours - before)
            assert abs(ours - theirs) <= 2 * U * (abs(ours) + moved) + TINY


@drawn(60)
@given(ROWS, st.data())
def test_all_changes_of_logits_together_are_bit_for_bit_the_same(
    row: list[float], data: st.DataObject
) -> None:
    history, prompt_length = data.draw(parts(len(row)))
    choices = changes(len(row))
    names = data.draw(st.lists(st.sampled_from(sorted(choices)), min_size=2, unique=True))
    params: dict[str, Any] = {name: data.draw(choices[name], label=name) for name in names}
    engine = processed(row, history, prompt_length, **params)
    given: dict[str, Any] = {"prompt_length": prompt_length, "temperature": 0.0, **params}
    trace = explain("vllm", row, history, precision="f32", **given)
    assert (trace.row if trace.steps else row) == engine


def test_frequency_and_presence_are_subtracted_in_the_same_order() -> None:
    """Only a last bit tells which comes first."""
    row, history = long_row(40, 1, 2.0), list(range(40))
    params: dict[str, Any] = {"frequency_penalty": 0.1, "presence_penalty": 0.3}
    trace = explain("vllm", row, history, precision="f32", temperature=0.0, **params)
    assert trace.row == processed(row, history, 0, **params)


@drawn(50)
@given(ROWS, TEMPERATURES)
def test_the_temperature_is_the_same(row: list[float], temperature: float) -> None:
    held = torch.tensor([temperature])
    engine = ENGINE.sampler.Sampler.apply_temperature(torch.tensor([row]), held, all_random=True)
    ours = step("vllm", "temperature", row, temperature=temperature, precision="f32")
    assert ours == engine[0].tolist()
    exact = step("vllm", "temperature", row, temperature=temperature)
    assert [to_binary32(logit) for logit in exact] == engine[0].tolist()


# ------------------------------------------------------------------------------- filters


@drawn(50)
@given(ROWS, shares())
def test_min_p_is_the_same(row: list[float], m: float) -> None:
    (processor,) = metadata(len(row), [], [], {"min_p": m}).logitsprocs.argmax_invariant
    engine = kept_in(processor.apply(torch.tensor([row]))[0].tolist())
    held = to_binary32(m)

    def doubt(numbers: Row, token: int) -> bool:
        error = float(numbers.gaps[token] + 16) * U * held + TINY
        return abs(float((-numbers.gaps[token]).exp()) - held) <= error

    assert_same(row, engine, kept_in(step("vllm", "min_p", row, min_p=m)), doubt)


@drawn(50)
@given(ROWS, st.integers(1, 60))
def test_top_k_is_the_same(row: list[float], k: int) -> None:
    """Both ways that the engine has on a processor: by a sort, and without one."""
    ours = step("vllm", "top_k", row, top_k=k)
    assert step("vllm", "top_k", row, top_k=k, precision="f32") == ours
    held = torch.tensor([min(k, len(row))], dtype=torch.int32)
    functions = ENGINE.topk_topp_sampler
    by_sort = functions.apply_top_k_top_p_pytorch(torch.tensor([row]), held, None)
    assert by_sort[0].tolist() == ours
    assert functions.apply_top_k_only(torch.tensor([row]), held)[0].tolist() == ours


@drawn(60)
@given(ROWS, shares())
def test_top_p_is_the_same(row: list[float], p: float) -> None:
    assume(p < 1)  # as the engine's runner does
    functions = ENGINE.topk_topp_sampler
    after = functions.apply_top_k_top_p_pytorch(torch.tensor([row]), None, torch.tensor([p]))
    engine = kept_in(after[0].tolist())
    assert_same_nucleus(row, engine, p)


def assert_same_nucleus(row: list[float], engine: set[int], p: float) -> None:
    """Compare nuclei: the same number of the largest logits, or rounding decides about more.

    Which of equals the engine takes depends on a sort that is not stable in long rows.
    """
    ours = kept_in(step("vllm", "top_p", row, top_p=p))
    low, high = nearest_floats(Row(row).sum_error() + 2 * U, p)
    fewest, most = (kept_in(step("vllm", "top_p", row, top_p=share)) for share in (low, high))
    assert_between(row, engine, ours, fewest, most, close=0)
    upwards = sorted(range(len(row)), key=lambda token: (row[token], token))
    if len(engine) == len(ours) and torch.sort(torch.tensor(row)).indices.tolist() == upwards:
        assert engine == ours


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("eighths", range(1, 8))
def test_nothing_is_excused_where_32_bits_are_exact(size: int, eighths: int) -> None:
    """Equal logits, a power of two of them, and dyadic thresholds: no operation rounds."""
    row, share = [0.5] * size + [-inf], eighths / 8
    engine = kept_in(sampled(row, [], 0, top_p=share).logits)
    assert engine == supported(distribution("vllm", row, top_p=share))
    assert engine == set(range(size - -(-size * eighths // 8), size))
    assert kept_in(sampled(row, [], 0, min_p=1.0).logits) == set(range(size))
    assert supported(distribution("vllm", row, min_p=1.0)) == set(range(size))


def test_the_proof_excuses_no_wrong_rule() -> None:
    row = [3.0, 2.0, 1.0, 0.5, 0.0, -1.0, -2.0]
    engine = kept_in(sampled(row, [], 0, top_p=0.75).logits)
    assert_same_nucleus(row, engine, 0.75)
    for wrong in (engine | {2}, engine - {1}, {0, 2}):
        with pytest.raises(AssertionError, match="no rounding explains this"):
            assert_same_nucleus(row, wrong, 0.75)


@pytest.mark.parametrize("size", [32_000, 128_256][: min(2, CAMPAIGN + 1)])
def test_a_whole_vocabulary_is_filtered_the_same_way(size: int) -> None:
    row = long_row(size, 7, 2.0)
    functions = ENGINE.topk_topp_sampler
    held = torch.tensor([50], dtype=torch.int32)
    assert functions.apply_top_k_only(torch.tensor([row]), held)[0].tolist() == step(
        "vllm", "top_k", row, top_k=50
    )
    after = functions.apply_top_k_top_p_pytorch(torch.tensor([row]), None, torch.tensor([0.9]))
    assert_same_nucleus(row, kept_in(after[0].tolist()), 0.9)
    chain: dict[str, Any] = {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.01}
    assert_same_chain(row, [5, 5, 6], 1, {**chain, "repetition_penalty": 1.3})


# ------------------------------------------------------------------------ the whole chain


@st.composite
def requests(draw: st.DrawFn, size: int) -> dict[str, Any]:
    """Draw a few parameters, of all that there are; the others are left at their defaults."""
    choices = {**changes(size), **FILTERS, "temperature": TEMPERATURES}
    names = draw(st.lists(st.sampled_from(sorted(choices)), max_size=6, unique=True))
    return {name: draw(choices[name]) for name in names}


def logit_error(row: list[float], history: list[int], params: dict[str, Any]) -> float:
    """Return by how much rounding may move the logits that the filters see."""
    size: float = max((abs(logit) for logit in row if logit > -inf), default=0.0)
    penalty: float = params.get("repetition_penalty", 1.0)
    size = size * max(1.0, penalty, 1 / penalty)
    size += max(map(abs, params.get("logit_bias", {}).values()), default=0.0)
    size += abs(params.get("frequency_penalty", 0.0)) * len(history)
    size += abs(params.get("presence_penalty", 0.0))
    temperature: float = max(params.get("temperature", 1.0), 0.01)
    return 6 * U * size / temperature


def moved(params: dict[str, Any], row: list[float], error: float, sign: int) -> dict[str, Any]:
    """Return parameters whose thresholds keep more (1) or less (-1) by the rounding error."""
    found = dict(params)
    if "top_p" in params:
        shift = Row(row).sum_error() + 2 * error + 2 * U
        found["top_p"] = nearest_floats(shift, params["top_p"])[sign > 0]
    if params.get("min_p"):
        gap = -log(params["min_p"])
        shift = params["min_p"] * ((gap + 16) * U + 2 * error) + TINY
        found["min_p"] = nearest_floats(shift, params["min_p"])[sign < 0]
    if sign > 0 and 0 < params.get("top_k", 0) < len(row):
        nearly = sorted(row, reverse=True)[params["top_k"] - 1] - 2 * error
        found["top_k"] = sum(logit >= nearly for logit in row)
    return found


def assert_same_chain(
    row: list[float], history: list[int], prompt_length: int, params: dict[str, Any]
) -> None:
    engine = sampled(row, history, prompt_length, **params)
    given: dict[str, Any] = {"history": history, "prompt_length": prompt_length}
    try:
        ours = distribution("vllm", row, **given, **params)
    except RowError:  # everything was banned
        assert set(engine.logits) == {-inf}
        return
    if engine.probabilities is None:  # greedy
        assert supported(ours) == {engine.token}
        return
    trace = explain("vllm", row, **given, **params)
    warm = next(applied for applied in trace.steps if applied.step == "temperature")
    seen = [float(logit) for logit in warm.row_after]
    error = logit_error(row, history, params)
    kept = supported(ours)
    if kept != kept_in(engine.logits):
        fewest, most = (
            supported(distribution("vllm", row, **given, **moved(params, seen, error, sign)))
            for sign in (-1, 1)
        )
        assert_between(seen, kept_in(engine.logits), kept, fewest, most, close=2 * error)
        return
    numbers = Row(seen)
    for token in kept:
        bound = 2 * error + numbers.probability_error(token)
        theirs, wanted = engine.probabilities[token], ours[token]
        assert abs(theirs - wanted) <= max(bound, 1e-5) * wanted + TINY


@drawn(120)
@given(ROWS, st.data())
def test_the_whole_chain_is_the_same(row: list[float], data: st.DataObject) -> None:
    history, prompt_length = data.draw(parts(len(row)))
    assert_same_chain(row, history, prompt_length, data.draw(requests(len(row))))


TYPICAL: dict[str, dict[str, Any]] = {
    "allowed_tokens": {"allowed_token_ids": [0, 1, 2, 3, 5, 6]},
    "bad_words": {"bad_words": [[4], [1, 3], [2, 0]]},
    "min_tokens": {"min_tokens": 9, "stop_token_ids": [1, 2]},
    "logit_bias": {"logit_bias": {0: 3.0, 1: -1.5, 2: 0.75, 4: 50.0}},
    "repetition_penalty": {"repetition_penalty": 1.7},
    "frequency_penalty": {"frequency_penalty": 0.7},
    "presence_penalty": {"presence_penalty": 0.9},
    "temperature": {"temperature": 0.5},
    "hot": {"temperature": 1.9},
    "min_p": {"min_p": 0.15},
    "top_k": {"top_k": 4},
    "top_p": {"top_p": 0.8},
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
def test_which_part_of_the_history_counts(op: str) -> None:
    row, history = [1.0, 1.0, 1.0], [0, 1]
    given: dict[str, Any] = {op: 2.0}
    engine = processed(row, history, 1, **given)
    assert step("vllm", op, row, history, prompt_length=1, **given) == engine
    assert (engine[0] == 1.0) == (op != "repetition_penalty")


@pytest.mark.parametrize("prompt_length", [0, 1, 2])
def test_a_bad_word_begins_after_the_prompt(prompt_length: int) -> None:
    row, history, words = [1.0, 1.0, 1.0], [0, 1], [[0, 1, 2]]
    engine = processed(row, history, prompt_length, bad_words=words)
    ours = step("vllm", "bad_words", row, history, prompt_length=prompt_length, bad_words=words)
    assert ours == engine
    assert (engine[2] == -inf) == (prompt_length == 0)


@drawn(60)
@given(rows(), st.data())
def test_a_greedy_engine_takes_the_same_token(row: list[float], data: st.DataObject) -> None:
    """Equals that only rounding makes equal are taken from the 32-bit answer."""
    history, prompt_length = data.draw(parts(len(row)))
    params = data.draw(requests(len(row))) | {"temperature": 0.0}
    engine = sampled(row, history, prompt_length, **params)
    given: dict[str, Any] = {"history": history, "prompt_length": prompt_length, **params}
    if set(engine.logits) == {-inf}:
        with pytest.raises(RowError):
            distribution("vllm", row, precision="f32", **given)
        return
    ours = distribution("vllm", row, precision="f32", **given)
    assert supported(ours) == {engine.token}
    assert sample("vllm", row, precision="f32", **given) == engine.token


# -------------------------------------------------------------------------------- draws


@drawn(120)
@given(rows(), st.integers(0, 2**31), st.data())
def test_with_the_engines_noise_the_same_token_is_drawn(
    row: list[float], seed: int, data: st.DataObject
) -> None:
    history, prompt_length = data.draw(parts(len(row)))
    params = data.draw(requests(len(row)))
    engine = sampled(row, history, prompt_length, seed, **params)
    assume(max(engine.logits) > -inf)
    assert engine.noise is not None
    given: dict[str, Any] = {"history": history, "prompt_length": prompt_length, **params}
    law = distribution("vllm", row, **given)
    if supported(law) != kept_in(engine.logits):
        return  # explained by the test of the chain
    ours = sample("vllm", row, uniforms=list(map(uniform_of, engine.noise)), **given)
    scores = [log(law[token]) - log(engine.noise[token]) for token in (ours, engine.token)]
    error = 4 * logit_error(row, history, params) + 200 * U
    assert ours == engine.token or abs(scores[0] - scores[1]) <= error


# ----------------------------------------------------------------- drafts, many requests


@st.composite
def drafted(draw: st.DrawFn, size: int) -> Requested:
    """Draw a request whose number of drafts is from none to four."""
    history, prompt_length = draw(parts(size))
    choices = {name: each for name, each in changes(size).items() if name != "logit_bias"}
    names = draw(st.lists(st.sampled_from(sorted(choices)), unique=True))
    return Requested(
        prompt=history[:prompt_length],
        output=history[prompt_length:],
        params={name: draw(choices[name], label=name) for name in names},
        drafts=draw(st.lists(st.integers(0, size - 1), max_size=4)),
    )


def judged_rows(requests: list[Requested], rows: list[list[list[float]]]) -> list[list[float]]:
    """Return the rows by which the engine judges the drafts of all requests, one after another."""
    engine = ENGINE.rejection_sampler.RejectionSampler
    itself = SimpleNamespace(
        apply_penalties=engine.apply_penalties,
        _combine_outputs_with_spec_tokens=engine._combine_outputs_with_spec_tokens,
    )
    counts = [len(request.drafts) for request in requests]
    flat = [row for request in rows for row in request[:-1]]
    logits: list[list[float]] = engine.apply_logits_processors(
        itself,
        torch.tensor(flat).reshape(-1, len(rows[0][0])),
        metadata_of(len(rows[0][0]), requests, {}),
        SimpleNamespace(num_draft_tokens=counts),
    ).tolist()
    return logits


def bonus_rows(requests: list[Requested], rows: list[list[list[float]]]) -> list[list[float]]:
    """Return the rows from which the engine draws behind the last drafts."""
    logits: list[list[float]] = (
        ENGINE.sampler.Sampler()
        .apply_logits_processors(
            torch.tensor([request[-1] for request in rows]),
            metadata_of(len(rows[0][0]), requests, {}),
            predict_bonus_token=True,
        )
        .tolist()
    )
    return logits


def row_at(request: Requested, row: list[float], place: int) -> list[float]:
    """Return our row at a place: the drafts before it are history."""
    history = [*request.prompt, *request.output, *request.drafts[:place]]
    given: dict[str, Any] = {"temperature": 0.0, **request.params}
    trace = explain(
        "vllm", row, history, precision="f32", prompt_length=len(request.prompt), **given
    )
    return trace.row if trace.steps else row


@drawn(80)
@given(st.data())
def test_drafts_are_judged_after_the_same_steps_bit_for_bit(data: st.DataObject) -> None:
    """Requests have different numbers of drafts; each row sees the drafts before it."""
    size = data.draw(st.integers(2, 6))
    requests = data.draw(st.lists(drafted(size), min_size=1, max_size=3))
    row = st.lists(st.integers(-16, 16).map(lambda k: k / 8), min_size=size, max_size=size)
    lengths = [len(request.drafts) + 1 for request in requests]
    rows = [data.draw(st.lists(row, min_size=length, max_size=length)) for length in lengths]
    pairs = list(zip(requests, rows, strict=True))
    ours = [row_at(each, own[n], n) for each, own in pairs for n in range(len(each.drafts))]
    assert ours == judged_rows(requests, rows)
    without = [replace(each, params=dict(each.params) | {"min_tokens": 0}) for each in requests]
    last = [own[-1] for own in rows]
    ours = [row_at(each, own, len(each.drafts)) for each, own in zip(without, last, strict=True)]
    assert ours == bonus_rows(without, rows)


def test_the_engines_bonus_row_does_not_count_drafts_as_tokens() -> None:
    """With `min_tokens` the end stays forbidden behind drafts that are enough: one step longer."""
    enough = Requested([0], [], {"min_tokens": 2, "stop_token_ids": [1]}, drafts=[0, 0])
    row = [[0.0, 1.0]] * 3
    assert judged_rows([enough], [row]) == [[0.0, -inf], [0.0, -inf]]
    assert row_at(enough, row[-1], 2) == [0.0, 1.0]
    assert bonus_rows([enough], [row]) == [[0.0, -inf]]


# ------------------------------------------------------------------------------- domains

GOOD: list[dict[str, Any]] = [
    *({"temperature": value} for value in (0, 0.01, 1, 2.0)),
    *({"top_p": value} for value in (1e-30, 0.5, 1, 1.0)),
    *({"top_k": value} for value in (-1, 0, 1, 10**6)),
    *({"min_p": value} for value in (0, 0.0, 1.0)),
    *({"repetition_penalty": value} for value in (1e-6, 1, 100.0)),
    *({"frequency_penalty": value} for value in (-2, 2.0)),
    *({"presence_penalty": value} for value in (-2, 2.0)),
    *({"min_tokens": value} for value in (0, 100)),
    {"stop_token_ids": [0]},
    {"logit_bias": {0: -100.0, 1: 1000.0}},
    {"allowed_token_ids": [0, 1]},
]
BAD: list[dict[str, Any]] = [
    *({"temperature": value} for value in (-0.1, 2.1, inf, -inf, float("nan"))),
    *({"top_p": value} for value in (0, -0.5, 1.1, float("nan"))),
    *({"top_k": value} for value in (-2, 1.5)),
    *({"min_p": value} for value in (-0.1, 1.1, float("nan"))),
    *({"repetition_penalty": value} for value in (0, -1.0, inf, float("nan"))),
    *({"frequency_penalty": value} for value in (-2.1, 2.1, float("nan"))),
    *({"presence_penalty": value} for value in (-2.1, 2.1, float("nan"))),
    {"min_tokens": -1},
    {"stop_token_ids": ["a"]},
]
ROW = [1.0, 2.0, 3.0]


@pytest.mark.parametrize("params", GOOD, ids=str)
def test_what_the_engine_accepts_is_accepted(params: dict[str, Any]) -> None:
    assert_same_chain(ROW, [0, 1], 1, params)


@pytest.mark.parametrize("params", BAD, ids=str)
def test_what_the_engine_refuses_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        settings(params)
    with pytest.raises(ParameterError):
        distribution("vllm", ROW, **params)


@pytest.mark.parametrize("temperature", [0.005, 1e-5, 1e-6, 1e-30])
def test_a_low_temperature_is_raised(temperature: float) -> None:
    """The engine is greedy at 0 alone; below a hundredth it draws at a hundredth."""
    row = [1.0, 1.0 + 2.0**-7]
    assert settings({"temperature": temperature}).temperature == 0.01
    assert_same_chain(row, [], 0, {"temperature": temperature})
    ours = distribution("vllm", row, temperature=temperature)
    assert ours == distribution("vllm", row, temperature=0.01)
    assert supported(ours) == {0, 1}


@pytest.mark.parametrize("name", [one.name for one in VLLM.parameters])
def test_the_defaults_are_the_engines(name: str) -> None:
    if name in {"bad_words", "logprobs_mode"}:
        return  # the engine's are words, and a setting of the whole engine
    own = getattr(settings({}), name)
    assert VLLM.parameter(name).default == (own or None if name == "stop_token_ids" else own)
