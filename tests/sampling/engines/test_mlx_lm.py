"""mlx-lm's logits processors and sampler and the profile `mlx-lm`, side by side.

The engine runs on the processor. Its functions are run as they are written, not compiled:
that needs no C++ compiler, and compiles nothing anew for each parameter.

Single changes of logits are bit for bit the same in 32 bits. Filters keep the same tokens
except where rounding provably decides (see `rounding`; this engine adds one number
after the other in 32 bits, so a sum of n numbers may be n u off). For the whole chain our own
answer is asked again then, with every threshold moved by the largest rounding error, and the
engine's answer must lie between.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from itertools import combinations, pairwise
from math import inf, log
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mlx.core", reason="the engine calculates with MLX: mlx and mlx-cpu")
pytest.importorskip("torch", reason="the bounds are calculated with PyTorch")
if find_spec("mlx_lm") is None:
    pytest.skip("mlx-lm is absent: pip install --no-deps mlx-lm", allow_module_level=True)

import mlx.core as mx

from sampling_ref import ParameterError, distribution, explain, sample, step
from sampling_ref.engines.mlx_lm import MLX_LM
from tests.sampling.engines.asking_adapters import logits, out, question, taken_up
from tests.sampling.engines.rounding import (
    ROWS,
    TINY,
    Row,
    U,
    assert_between,
    kept_in,
    long_row,
    nearest_floats,
    supported,
)
from tests.sampling.rows import histories, rows, shares
from tests.texts import CAMPAIGN, drawn
from tokenref.answers import Unsupported
from tokenref.engines.mlx_lm_samplers import sample_utils
from tokenref.floats import pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import rule_name

# ----------------------------------------------------------------------- running the engine

ENGINE = sample_utils()


@dataclass(frozen=True)
class Drawn:
    """What the engine did: its last log-probabilities, its random numbers, the token."""

    logits: list[float] | None
    probabilities: list[float] | None
    uniforms: list[float]
    token: int


CHANGES = (
    *("logit_bias", "repetition_penalty", "repetition_context_size", "presence_penalty"),
    *("presence_context_size", "frequency_penalty", "frequency_context_size"),
)


def processed(row: list[float], history: list[int], **params: object) -> list[float]:
    """Return the logits after the engine's processors."""
    logits: Any = mx.array([row], dtype=mx.float32)
    for processor in ENGINE.make_logits_processors(**params):
        logits = processor(mx.array(history, dtype=mx.int32), logits)
    found: list[float] = logits[0].tolist()
    return found


def normalised(row: list[float]) -> Any:
    """Return the log-probabilities that the engine's loop hands to its sampler."""
    logits = mx.array([row], dtype=mx.float32)
    return logits - mx.logsumexp(logits, keepdims=True)


def sampled(row: list[float], history: list[int], seed: int = 0, **params: Any) -> Drawn:
    """Run the engine's processors and sampler once; the random numbers are its own."""
    before = {name: value for name, value in params.items() if name in CHANGES}
    rest = {name: value for name, value in params.items() if name not in CHANGES}
    seen: list[tuple[list[float], list[float]]] = []
    draw = ENGINE.categorical_sampling

    def watched(logits: Any, temp: float) -> object:
        law: Any = mx.softmax(logits * (1.0 / temp), axis=-1)
        seen.append((logits[0].tolist(), law[0].tolist()))
        return draw(logits, temp)

    mx.random.seed(seed)
    is_warm = rest.get("temp", 0.0) != 0
    coins = (rest.get("xtc_probability", 0.0) > 0) + 1 if is_warm else 0
    uniforms: list[Any] = [mx.random.uniform().item() for _ in range(coins)]
    mx.random.seed(seed)
    with patch.object(ENGINE, "categorical_sampling", watched):
        sampler = ENGINE.make_sampler(**rest)
        token = sampler(normalised(processed(row, history, **before))).item()
    logits, law = seen[0] if seen else (None, None)
    return Drawn(logits, law, uniforms, token)


# ------------------------------------------------------------------------ what is asked


SIGNED = st.floats(-3, 3) | st.sampled_from([-2.0, -0.5, 0.0, 0.1, 0.5, 1.0, 2.0])
PENALTIES = st.floats(0.1, 5) | st.sampled_from([0.0, 0.5, 1.0, 1.1, 1.3, 2.0])
WINDOWS = st.integers(1, 6)
TEMPERATURES = st.floats(0.01, 3) | st.sampled_from([0.3, 0.7, 1.0, 1.5, 2.0])


def choices_of(size: int) -> dict[str, st.SearchStrategy[Any]]:
    """Return what each parameter may be in a row of some size."""
    ids = st.integers(0, size - 1)
    found: dict[str, st.SearchStrategy[Any]] = {
        "logit_bias": st.dictionaries(ids, st.floats(-9, 9), max_size=4),
        "repetition_penalty": PENALTIES,
        "repetition_context_size": WINDOWS,
        "presence_penalty": SIGNED,
        "presence_context_size": WINDOWS,
        "frequency_penalty": SIGNED,
        "frequency_context_size": WINDOWS,
        "top_p": shares().filter(lambda p: p > TINY) | st.sampled_from([-1.0, 0.0, 2.0]),
        "min_p": st.just(0.0) | shares(),
        "min_tokens_to_keep": st.integers(1, min(3, size)),
        "xtc_probability": st.just(0.0) | shares(),
        "xtc_threshold": st.floats(0, 0.5) | st.sampled_from([0.0, 0.125, 0.25, 0.5]),
        "xtc_special_tokens": st.lists(ids, max_size=3),
    }
    if size > 1:  # the engine refuses what is not below the size
        found["top_k"] = st.integers(-1, min(40, size - 1))
    return found


STEPS = {
    "logit_bias": ("logit_bias",),
    "repetition_penalty": ("repetition_penalty", "repetition_context_size"),
    "presence_penalty": ("presence_penalty", "presence_context_size"),
    "frequency_penalty": ("frequency_penalty", "frequency_context_size"),
}

# -------------------------------------------------------------- steps that change logits


@pytest.mark.parametrize("op", STEPS)
@drawn(60)
@given(ROWS, st.data())
def test_a_step_that_changes_logits_is_the_same(
    op: str, row: list[float], data: st.DataObject
) -> None:
    """Bit for bit in 32 bits; the exact answer differs by one rounding for each operation."""
    history = data.draw(histories(len(row)))
    choices = choices_of(len(row))
    params: dict[str, Any] = {name: data.draw(choices[name], label=name) for name in STEPS[op]}
    engine = processed(row, history, **params)
    params["prompt_length"] = data.draw(st.integers(0, len(history)))  # makes no difference
    assert step("mlx-lm", op, row, history, precision="f32", **params) == engine
    operations = 1 + max(map(history.count, history), default=0)
    for before, ours, theirs in zip(
        row, step("mlx-lm", op, row, history, **params), engine, strict=True
    ):
        if theirs == -inf:
            assert ours == -inf
        else:
            change = abs(before) + abs(ours - before)
            assert abs(ours - theirs) <= operations * U * (abs(theirs) + change) + TINY


@drawn(60)
@given(ROWS, st.data())
def test_all_changes_of_logits_together_are_bit_for_bit_the_same(
    row: list[float], data: st.DataObject
) -> None:
    history = data.draw(histories(len(row)))
    choices = choices_of(len(row))
    names = data.draw(st.lists(st.sampled_from(CHANGES), min_size=2, unique=True))
    params: dict[str, Any] = {name: data.draw(choices[name], label=name) for name in names}
    trace = explain("mlx-lm", row, history, precision="f32", **params)
    assert (trace.row if trace.steps else row) == processed(row, history, **params)


def test_presence_and_frequency_are_subtracted_in_the_same_order() -> None:
    """Only a last bit tells which comes first."""
    row, history = long_row(40, 1, 2.0), list(range(40))
    params: dict[str, Any] = {"frequency_penalty": 0.1, "presence_penalty": 0.3}
    params |= {"frequency_context_size": 40, "presence_context_size": 40}
    trace = explain("mlx-lm", row, history, precision="f32", **params)
    assert trace.row == processed(row, history, **params)


def test_twenty_tokens_count_unless_it_is_said() -> None:
    history, row = [3] + [0] * 20, [1.0] * 4
    assert processed(row, history, repetition_penalty=2.0) == [0.5, 1.0, 1.0, 1.0]
    assert step("mlx-lm", "repetition_penalty", row, history, repetition_penalty=2.0) == [
        *(0.5, 1.0, 1.0, 1.0)
    ]
    for name in ("presence", "frequency"):
        params: dict[str, Any] = {f"{name}_penalty": 0.5}
        ours = step("mlx-lm", f"{name}_penalty", row, history, **params)
        assert processed(row, history, **params) == ours
        assert ours[3] == 1.0


@drawn(50)
@given(ROWS, TEMPERATURES)
def test_the_temperature_is_the_same(row: list[float], temperature: float) -> None:
    """Two roundings: that of 1 / temperature, and that of the product."""
    held: Any = mx.array(row, dtype=mx.float32)
    engine = (held * (1.0 / temperature)).tolist()
    ours = step("mlx-lm", "temperature", row, temp=temperature)
    for wanted, theirs in zip(ours, engine, strict=True):
        assert wanted == theirs or abs(wanted - theirs) <= 2.001 * U * abs(wanted) + TINY


# ------------------------------------------------------------------------ the whole chain


def logit_error(row: list[float], history: list[int], params: dict[str, Any]) -> float:
    """Return by how much rounding may move the log-probabilities that the filters see."""
    size: float = max((abs(logit) for logit in row if logit > -inf), default=0.0)
    size += max(map(abs, (params.get("logit_bias") or {}).values()), default=0.0)
    penalty: float = params.get("repetition_penalty") or 1.0
    size *= max(1.0, penalty, 1 / penalty)
    size += abs(params.get("presence_penalty") or 0.0)
    size += abs(params.get("frequency_penalty") or 0.0) * len(history)
    return U * (6 * size + 2 * (2 * size + log(len(row))))


def share_error(row: list[float], error: float) -> float:
    """Return by how much rounding may move a running sum of shares."""
    numbers = Row(row)
    return numbers.sum_error() + 2 * error + (len(row) + 4) * U


def moved(params: dict[str, Any], row: list[float], error: float, sign: int) -> dict[str, Any]:
    """Return parameters whose thresholds keep more (1) or less (-1) by the rounding error."""
    found = dict(params)
    if 0 < params.get("top_p", 0.0) < 1:
        found["top_p"] = nearest_floats(share_error(row, error), params["top_p"])[sign > 0]
    if params.get("min_p"):
        gap = -log(params["min_p"])
        shift = params["min_p"] * ((gap + 16) * U + 2 * error) + TINY
        found["min_p"] = nearest_floats(shift, params["min_p"])[sign < 0]
    return found


def rounding_may_decide(
    row: list[float], ours: set[int], error: float, params: dict[str, Any], given: dict[str, Any]
) -> bool:
    """Say whether our own answer, XTC in it, changes if thresholds move by the rounding error.

    It also may if two different logits lie so close that rounding makes them equals.
    """
    threshold = params.get("xtc_threshold", 0.1)
    for sign in (-1, 1):
        for side in (-1, 1):
            near = moved(params, row, error, sign)
            # Behind other filters, shares are of what these left: as much larger at most.
            shift = 4 * share_error(row, error) * max(threshold, U)
            near["xtc_threshold"] = min(max(threshold + side * shift, 0.0), 0.5)
            if supported(distribution("mlx-lm", row, **given, **near)) != ours:
                return True
    values = sorted({logit for logit in row if logit > -inf})
    return any(high - low <= 2 * error for low, high in pairwise(values))


def assert_same_chain(row: list[float], history: list[int], params: dict[str, Any]) -> None:
    engine = sampled(row, history, **params)
    prompt: dict[str, Any] = {"history": history, "prompt_length": len(history) // 2}
    given: dict[str, Any] = {**prompt, "uniforms": engine.uniforms}
    ours = distribution("mlx-lm", row, **given, **params)
    before = {name: value for name, value in params.items() if name in CHANGES}
    trace = explain("mlx-lm", row, **prompt, **before)
    seen = trace.row if trace.steps else row
    error = logit_error(row, history, params)
    if engine.logits is None or engine.probabilities is None:  # greedy
        (token,) = supported(ours)
        assert seen[token] - seen[engine.token] <= 2 * error
        return
    kept, wanted = kept_in(engine.logits), supported(ours)
    cool = [logit / params["temp"] for logit in seen]
    lowest = max(cool[token] for token in kept) - 700  # below, no float holds a probability
    kept = {token for token in kept if cool[token] > lowest}
    wanted = {token for token in wanted if cool[token] > lowest}
    if params.get("xtc_probability", 0.0) > 0 and kept != wanted:
        rest = {name: value for name, value in params.items() if name not in CHANGES}
        more = {"uniforms": engine.uniforms}
        assert rounding_may_decide(seen, wanted, error, rest, more), "no rounding explains this"
        return
    if kept != wanted:
        fewest, most = (
            supported(distribution("mlx-lm", row, **given, **moved(params, seen, error, sign)))
            for sign in (-1, 1)
        )
        lowest = min(seen[token] for token in most)
        if params.get("top_k", 0) <= 0:  # equals, and what rounding makes equal, are kept together
            most |= {token for token in kept if seen[token] >= lowest - 2 * error}
        assert_between(seen, kept, wanted, fewest, most, close=2 * error)
        return
    numbers = Row([logit if token in kept else -inf for token, logit in enumerate(cool)])
    spread = (max(map(abs, (logit for logit in cool if logit > -inf))) + log(len(row))) * 4 * U
    for token in kept:
        bound = 2 * error / params["temp"] + spread + numbers.probability_error(token)
        theirs = engine.probabilities[token]
        assert abs(theirs - ours[token]) <= max(bound, 1e-5) * ours[token] + TINY


@st.composite
def requests(draw: st.DrawFn, size: int) -> dict[str, Any]:
    """Draw a few parameters, of all that there are; the others are left at their defaults."""
    choices = choices_of(size)
    names = draw(st.lists(st.sampled_from(sorted(choices)), max_size=7, unique=True))
    found = {name: draw(choices[name]) for name in names}
    if found.get("repetition_penalty", 1.0) < 0.1:
        del found["repetition_penalty"]
    return {**found, "temp": draw(TEMPERATURES)}


@pytest.mark.parametrize("name", ["top_p", "min_p", "xtc", "top_k"])
@drawn(60)
@given(ROWS, st.data())
def test_a_filter_is_the_same(name: str, row: list[float], data: st.DataObject) -> None:
    choices = choices_of(len(row))
    names = [one for one in choices if one.startswith(name)]
    if name == "min_p":
        names.append("min_tokens_to_keep")
    params: dict[str, Any] = {one: data.draw(choices[one], label=one) for one in names}
    assert_same_chain(row, [], {"temp": 1.0, **params})
    uniform = sampled(row, [], temp=1.0, **params).uniforms
    given = {"uniforms": uniform, **params}
    kept = kept_in(step("mlx-lm", name, row, **given)) if names else kept_in(row)
    assert supported(distribution("mlx-lm", row, temp=1.0, **given)) == {
        token for token in kept if row[token] > max(row[one] for one in kept) - 700
    }


@drawn(150)
@given(ROWS, st.data())
def test_the_whole_chain_is_the_same(row: list[float], data: st.DataObject) -> None:
    history = data.draw(histories(len(row)))
    assert_same_chain(row, history, data.draw(requests(len(row))))


TYPICAL: dict[str, dict[str, Any]] = {
    "logit_bias": {"logit_bias": {0: 3.0, 1: -1.5, 2: 0.75, 4: 5.0}},
    "repetition_penalty": {"repetition_penalty": 1.7, "repetition_context_size": 6},
    "presence_penalty": {"presence_penalty": 0.9, "presence_context_size": 4},
    "frequency_penalty": {"frequency_penalty": 0.7, "frequency_context_size": 5},
    "top_p": {"top_p": 0.8},
    "min_p": {"min_p": 0.15},
    "least": {"min_p": 0.5, "min_tokens_to_keep": 3},
    "xtc": {"xtc_probability": 0.6, "xtc_threshold": 0.08},
    "special": {"xtc_probability": 1.0, "xtc_threshold": 0.08, "xtc_special_tokens": [1, 3]},
    "top_k": {"top_k": 3},
    "temperature": {"temp": 0.4},
    "hot": {"temp": 1.9},
}
"""Every stage, with values that do something to a row of ten tokens."""


@pytest.mark.parametrize(("one", "other"), list(combinations(TYPICAL, 2)))
def test_two_stages_come_in_the_same_order(one: str, other: str) -> None:
    params = {"temp": 1.0} | TYPICAL[one] | TYPICAL[other]
    for seed in range(12 * CAMPAIGN):
        history = [seed % 7, 1, 2, 1, 0, 1, 3, 2, 2, seed % 5][: 4 + seed % 7]
        row = long_row(10, seed, (0.7, 2.0)[seed % 2])
        assert_same_chain(row, history, params)
        assert_same_chain(row, history, {**params, "temp": 0.0})


@drawn(60)
@given(ROWS, st.data())
def test_a_greedy_engine_takes_the_same_token(row: list[float], data: st.DataObject) -> None:
    history = data.draw(histories(len(row)))
    params = data.draw(requests(len(row))) | {"temp": 0.0}
    assert_same_chain(row, history, params)


@pytest.mark.parametrize("eighths", range(1, 8))
def test_nothing_is_excused_where_32_bits_are_exact(eighths: int) -> None:
    """Probabilities that are powers of two, whose sums are exact, but for a last digit."""
    row = [log(share) for share in (0.5, 0.125, 0.25, 0.125)]
    share = eighths / 8 - 2.0**-10
    wanted = {0} if eighths <= 4 else {0, 2} if eighths <= 6 else {0, 1, 2, 3}
    assert kept_in(sampled(row, [], temp=1.0, top_p=share).logits or []) == wanted
    assert supported(distribution("mlx-lm", row, temp=1.0, top_p=share)) == wanted
    equal = [0.0] * 4
    assert kept_in(sampled(equal, [], temp=1.0, min_p=1.0).logits or []) == {0, 1, 2, 3}
    assert supported(distribution("mlx-lm", equal, temp=1.0, min_p=1.0)) == {0, 1, 2, 3}
    assert kept_in(sampled(equal, [], temp=1.0, top_p=eighths / 8).logits or []) == {0, 1, 2, 3}
    assert supported(distribution("mlx-lm", equal, temp=1.0, top_p=eighths / 8)) == {0, 1, 2, 3}


def test_the_filters_do_not_see_the_temperature() -> None:
    """At temperature 1/4 the first token has 0.98 of the mass, and without it less than 0.7."""
    row = [2.0, 1.0, 0.0]
    params: dict[str, Any] = {"temp": 0.25, "top_p": 0.8}
    assert kept_in(sampled(row, [], **params).logits or []) == {0, 1}
    assert supported(distribution("mlx-lm", row, **params)) == {0, 1}


@pytest.mark.parametrize("uniform", [0.25, 0.5, 0.75])
def test_a_coin_that_equals_the_probability_lets_xtc_act(uniform: float) -> None:
    """The engine's coin is replaced, as its own hardly ever hits a probability."""
    row = [log(share) for share in (0.4, 0.3, 0.2, 0.1)]
    with patch.object(mx.random, "uniform", lambda *_: mx.array(uniform)):
        after = ENGINE.apply_xtc(normalised(row), 0.5, 0.15, [])[0].tolist()
    ours = step("mlx-lm", "xtc", row, uniforms=[uniform], xtc_probability=0.5, xtc_threshold=0.15)
    assert kept_in(after) == kept_in(ours) == ({2, 3} if uniform <= 0.5 else {0, 1, 2, 3})


@pytest.mark.parametrize("k", [2, 3, 4])
def test_top_k_keeps_exactly_k_of_equals(k: int) -> None:
    """Which of them is an accident of the engine's sort."""
    row = [1.0, 2.0, 2.0, 2.0, 3.0]
    engine = kept_in(sampled(row, [], temp=1.0, top_k=k).logits or [])
    ours = supported(distribution("mlx-lm", row, temp=1.0, top_k=k))
    assert len(engine) == len(ours) == k
    assert 4 in engine & ours
    assert 0 not in engine | ours


def test_the_proof_excuses_no_wrong_rule() -> None:
    row = [3.0, 2.0, 1.0, 0.5, 0.0, -1.0, -2.0]
    params: dict[str, Any] = {"temp": 1.0, "top_p": 0.75}
    engine = kept_in(sampled(row, [], **params).logits or [])
    near = [moved(params, row, 0.0, sign) for sign in (-1, 1)]
    fewest, most = (supported(distribution("mlx-lm", row, **one)) for one in near)
    assert engine == fewest == most
    for wrong in (engine | {2}, engine - {1}, {0, 2}):
        with pytest.raises(AssertionError, match="no rounding explains this"):
            assert_between(row, wrong, engine, fewest, most, close=0.0001)
    xtc: dict[str, Any] = {"temp": 1.0, "xtc_probability": 1.0, "xtc_threshold": 0.1}
    found = supported(distribution("mlx-lm", row, uniforms=[0.0], **xtc))
    assert not rounding_may_decide(row, found, 1e-6, xtc, {"uniforms": [0.0]})


@pytest.mark.parametrize("size", [32_000, 128_256][: min(2, CAMPAIGN + 1)])
def test_a_whole_vocabulary_is_filtered_the_same_way(size: int) -> None:
    row = long_row(size, 7, 2.0)
    assert_same_chain(row, [], {"temp": 1.0, "top_p": 0.9})
    chain: dict[str, Any] = {"temp": 0.7, "top_k": 40, "top_p": 0.9, "min_p": 0.01}
    assert_same_chain(row, [5, 5, 6], {**chain, "repetition_penalty": 1.3})


# -------------------------------------------------------------------------------- draws


@drawn(150)
@given(rows(), st.integers(0, 2**31), st.data())
def test_with_the_engines_random_numbers_the_same_token_is_drawn(
    row: list[float], seed: int, data: st.DataObject
) -> None:
    history = data.draw(histories(len(row)))
    params = data.draw(requests(len(row)))
    engine = sampled(row, history, seed, **params)
    assert engine.logits is not None
    given: dict[str, Any] = {"history": history, **params}
    law = distribution("mlx-lm", row, uniforms=engine.uniforms, **given)
    if supported(law) != kept_in(engine.logits):
        return  # explained by the test of the chain
    ours = sample("mlx-lm", row, uniforms=engine.uniforms, **given)
    low, high = sorted((ours, engine.token))
    error = 4 * logit_error(row, history, params) / params["temp"] + (2 * len(row) + 64) * U
    for token in range(low, high):  # the random number must lie on every border between the two
        assert abs(sum(law[: token + 1]) - engine.uniforms[-1]) <= error


@pytest.mark.parametrize("size", [2, 16])
def test_a_random_number_on_a_border_belongs_to_what_follows(size: int) -> None:
    """Of 2**20 numbers with 24 bits some lie on the borders between equal tokens."""
    found: Any = mx.random.uniform(shape=(2**20,), key=mx.random.key(7))
    same: Any = mx.random.categorical(mx.zeros(size), num_samples=2**20, key=mx.random.key(7))
    numbers, drawn_tokens = found.tolist(), same.tolist()
    on_border = 0
    for u, token in zip(numbers, drawn_tokens, strict=True):
        assert int(u * size) == token
        on_border += u * size == token
    assert on_border or size == 2
    u = next((u for u in numbers if u * size == int(u * size)), 0.5)
    assert sample("mlx-lm", [0.0] * size, uniforms=[u], temp=1.0) == int(u * size)


def test_several_rows_at_once_are_drawn_with_gumbel_noise() -> None:
    """The profile describes one row; with two of them the engine draws another way."""
    logits: Any = mx.array([[0.5, 1.0, 0.0, 0.25]] * 2)
    for seed in range(20):
        key = mx.random.key(seed)
        noisy: Any = logits + mx.random.gumbel(shape=(2, 4), key=key)
        found: Any = mx.random.categorical(logits, key=key)
        assert found.tolist() == mx.argmax(noisy, axis=-1).tolist()


# ------------------------------------------------------------------------------- domains

ROW = [1.0, 2.0, 3.0]
GOOD: list[dict[str, Any]] = [
    *({"temp": value} for value in (0, 0.01, 1, 5.0)),
    *({"top_p": value} for value in (-1, 0, 0.5, 1, 1.5)),
    *({"top_k": value} for value in (-1, 0, 1, 2)),
    *({"min_p": value} for value in (0, 1e-60, 1.0)),
    *({"xtc_probability": 0.5, "xtc_threshold": value} for value in (0, 0.0, 0.5)),
    *({"repetition_penalty": value} for value in (None, 0, 1e-6, 1, 100.0)),
    *({"frequency_penalty": value} for value in (None, 0, -20, 20.0)),
    *({"presence_penalty": value} for value in (None, 0, -20, 20.0)),
    {"logit_bias": {0: -100.0, 1: 1000.0}},
    {"logit_bias": None},
]
BAD: list[dict[str, Any]] = [
    *({"min_p": value} for value in (-0.1, 1.1, float("nan"))),
    *({"min_p": 0.5, "min_tokens_to_keep": value} for value in (0, -1, 1.5)),
    *({"xtc_probability": 0.5, "xtc_threshold": value} for value in (-0.1, 0.51, float("nan"))),
    *({"xtc_probability": value} for value in (1.1, inf)),
    *({"repetition_penalty": value} for value in (-1.0, -inf)),
    {"top_k": 1.5},
]
STRICTER: list[dict[str, Any]] = [
    *({"temp": value} for value in (-1.0, inf, float("nan"))),
    *({"top_p": value} for value in (inf, float("nan"))),
    *({"repetition_penalty": 2.0, "repetition_context_size": value} for value in (0, -1)),
    *({"repetition_penalty": value} for value in (inf, float("nan"))),
    *({"presence_penalty": value} for value in (inf, float("nan"))),
]


@pytest.mark.parametrize("params", GOOD, ids=str)
def test_what_the_engine_accepts_is_accepted(params: dict[str, Any]) -> None:
    assert_same_chain(ROW, [0, 1], {"temp": 1.0, **params})


@pytest.mark.parametrize("params", BAD, ids=str)
def test_what_the_engine_refuses_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"has to be|must be"):
        sampled(ROW, [0], **{"temp": 1.0, **params})
    with pytest.raises(ParameterError):
        distribution("mlx-lm", ROW, **{"temp": 1.0, **params})


@pytest.mark.parametrize("params", STRICTER, ids=str)
def test_what_is_refused_here_alone(params: dict[str, Any]) -> None:
    """The engine checks nothing of these, and its answers are of no use."""
    sampled(ROW, [0], **{"temp": 1.0, **params})
    with pytest.raises(ParameterError):
        distribution("mlx-lm", ROW, **{"temp": 1.0, **params})


def test_as_many_tokens_as_there_are_is_refused_by_the_engine_alone() -> None:
    with pytest.raises(ValueError, match=r"has to be an integer in the \(0, 3\) interval"):
        sampled(ROW, [], temp=1.0, top_k=3)
    assert supported(distribution("mlx-lm", ROW, temp=1.0, top_k=3)) == {0, 1, 2}


def test_a_share_below_32_bits_leaves_the_engine_no_token() -> None:
    assert kept_in(sampled(ROW, [], temp=1.0, top_p=1e-46).logits or []) == set()
    assert supported(distribution("mlx-lm", ROW, temp=1.0, top_p=1e-46)) == {0, 1, 2}


def test_a_low_temperature_is_not_greedy() -> None:
    """Not even one that is 0 in 32 bits, for the engine asks a 64-bit number."""
    for temperature in (1e-30, 1e-46):
        assert sampled(ROW, [], temp=temperature).logits is not None
        assert supported(distribution("mlx-lm", [3.0, 3.0, 1.0], temp=temperature)) == {0, 1}


@pytest.mark.parametrize("name", [one.name for one in MLX_LM.parameters])
def test_the_defaults_are_the_engines(name: str) -> None:
    """Both makers say None where the profile has an empty tuple."""
    makers = (ENGINE.make_sampler, ENGINE.make_logits_processors)
    defaults = {
        key: one.default for maker in makers for key, one in signature(maker).parameters.items()
    }
    assert MLX_LM.parameter(name).default == (
        () if name == "xtc_special_tokens" else defaults[name]
    )


# ------------------------------------------------------------------------- the rules it follows


def by_rule(op: str, **choices: Any) -> Any:
    return taken_up("mlx-lm", rule_name(op, **choices))


def test_the_engine_changes_rows_of_16_bits_by_its_rules() -> None:
    minus = by_rule("frequency_penalty", scope="all", arithmetic="one by one")
    asked = question([2.0, -2.0, 1.0], [0, 0, 1], dtype="bf16", penalty=0.5)
    changed = {"logits": pack([1.0, -2.5, 1.0], "bf16")}
    assert out(minus.answer("frequency_penalty", asked)) == changed
    # If nothing is rounded, it does not matter that it subtracts one by one.
    assert out(by_rule("frequency_penalty").answer("frequency_penalty", asked)) == changed
    biased = question([1.0, 2.0], dtype="f16", biases={0: 0.5})
    assert logits(by_rule("logit_bias").answer("logit_bias", biased)) == [1.5, 2.0]


def test_the_engine_filters_by_its_rules() -> None:
    row = pack([0.25, 0.5, 0.125, 0.125], "f32")
    least = {"probs": row, "params": pack_parameters({"m": 1.0, "least": 2})}
    assert out(by_rule("min_p").answer("min_p", least)) == {"keep": [0, 1]}
    xtc = {"probs": row, "params": pack_parameters({"threshold": 0.2, "probability": 0.5})}
    protected = pack_parameters({"threshold": 0.2, "probability": 0.5, "protected": [1]})
    for params, number, keep in (
        (xtc["params"], 0.25, [0, 2, 3]),
        (xtc["params"], 0.75, [0, 1, 2, 3]),
        (protected, 0.25, [0, 1, 2, 3]),
    ):
        asked = {**xtc, "params": params, "uniforms": pack([number], "f32")}
        assert out(by_rule("xtc").answer("xtc", asked)) == {"keep": keep}


def test_what_the_engine_does_not_check_or_define_is_not_put_to_it() -> None:
    equals, shares = pack([0.5, 0.25, 0.25], "f32"), pack([0.25, 0.5, 0.125, 0.125], "f32")
    coin = {"uniforms": pack([0.25], "f32")}
    for op, asked in (
        ("min_p", {"probs": equals, "params": pack_parameters({"m": 1.0, "least": 2})}),
        ("min_p", {"probs": shares, "params": pack_parameters({"m": 1.0, "least": 5})}),
        ("min_p", {"probs": shares, "params": pack_parameters({"m": 0.5})}),  # one is half
        ("frequency_penalty", question([1.0, 2.0], [0, 0], penalty=0.1)),  # is rounded
        ("presence_penalty", question([1.0, 2.0], [2], penalty=0.5)),
        ("presence_penalty", question([1.0, 2.0], [0], penalty=inf)),
        ("logit_bias", question([inf], biases={0: 0.5})),
        ("temperature", question([1.0], temperature=2.0)),
        ("xtc", {**question([1.0, 0.0], threshold=0.75, probability=1.0), **coin}),
        ("xtc", {**question([1.0, 0.0], dtype="f16", threshold=0.1, probability=1.0), **coin}),
        ("xtc", {**question([1.0, 0.0], threshold=0.1, probability=1.0), "uniforms": pack([1.0])}),
    ):
        assert isinstance(by_rule(op).answer(op, asked), Unsupported), (op, asked)
