"""The profile `llama.cpp` is llama.cpp: steps, whole chains, draws, sequences of tokens.

In 32 bits everything is compared bit by bit. Without rounding, the same candidates must be
left in the same order, and the same token drawn, except where rounding can be shown to
decide (`llama_cpp_doubts`); values must lie within rounding.

What is not compared
    Rows of which a chain leaves nothing possible, or that it makes infinite: the engine goes
    on with NaN, this package has an error. Grammars, and other orders of the samplers.
"""

import os
import platform
import sys
from array import array
from collections.abc import Iterator, Sequence
from math import inf
from random import Random
from typing import Any

import pytest

from sampling_ref import (
    PROFILES,
    ParameterError,
    Sampler,
    SamplingError,
    distribution,
    explain,
    sample,
    step,
)
from sampling_ref.engines.profile import holds
from sampling_ref.evaluation import Evaluation, Precision, evaluation
from sampling_ref.random.mt19937 import mt19937
from sampling_ref.random.uniforms import libstdcxx_double, libstdcxx_float
from tests.sampling.engines.llama_cpp_c import Engine, Result
from tests.sampling.engines.llama_cpp_chains import KINDS, history_of, random_of, row_of
from tests.sampling.engines.llama_cpp_doubts import Decided, U, check_draw, compare
from tests.sampling.engines.llama_cpp_parameters import DEFAULTS, STEPS_OF, chain_of, parameters_of

pytest.importorskip("llama_cpp", reason="llama.cpp is compared where llama-cpp-python is installed")

if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
    pytest.skip("the numbers are those of glibc on x86-64", allow_module_level=True)

CAMPAIGN = int(os.environ.get("TOKENREF_CAMPAIGN", "1"))
BOTH: tuple[Precision, ...] = ("exact", "f32")
SIZES = (*(1, 2, 3, 7, 40, 130, 300) * 2, 1025, 2050, 3000)
PROFILE = PROFILES["llama.cpp"]
STAGES = {stage.step: stage for stage in PROFILE.stages}
SAMPLERS = {step: sampler for sampler, step in STEPS_OF.items()} | {"temperature": "temp_ext"}
ON: dict[str, dict[str, Any]] = {
    "dynamic_temperature": {"dynatemp_range": 0.5},
    "mirostat_1": {"mirostat": 1},
    "mirostat_2": {"mirostat": 2},
    "adaptive_p": {"adaptive_target": 0.4},
}
"""What switches a stage on that is off by default, and stays off at most values."""


BUSY = {"repeat_penalty": 2.0, "dry_multiplier": 1.0, "xtc_probability": 1.0}
"""What lets a step act whose other parameters are looked at."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as running:
        yield running


def in_bits(row: Sequence[float]) -> bytes:
    return array("f", row).tobytes()


def row_left(result: Result, size: int) -> list[float]:
    """Return the logits that the engine leaves, as a row."""
    row = [-inf] * size
    for token, logit in zip(result.tokens, result.logits, strict=True):
        row[token] = logit
    return row


def numbers_for(seed: int) -> tuple[float, float]:
    """Return the first numbers of XTC and of the draw."""
    low, high = mt19937(seed), mt19937(seed)
    return libstdcxx_float(next(low)), libstdcxx_double(next(high), next(high))


def asked(
    parameters: dict[str, Any],
    row: list[float],
    history: list[int],
    precision: Precision,
    state: dict[str, Any],
    uniform: float = 0.0,
) -> Evaluation:
    return evaluation(
        PROFILE, row, history, parameters, uniforms=[uniform], state=state, precision=precision
    )


def acts(stage: str, parameters: dict[str, Any]) -> bool:
    return not holds(STAGES[stage].off_if, PROFILE.read(parameters))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_step_does_what_the_engines_sampler_does(engine: Engine, name: str, kind: str) -> None:
    random = random_of((name, kind))
    compared = decided = 0
    while compared < 12 * CAMPAIGN:
        size, seed = random.choice(SIZES), random.randrange(2**32 - 1)
        every = parameters_of(random, size) | {"mirostat": 0} | ON.get(name, {})
        own = STAGES[name].parameters()
        given = {key: value for key, value in every.items() if key in own}
        if not acts(name, given):
            continue
        row, history = row_of(random, size, kind), history_of(random, size)
        chain = chain_of(every, size, seed)
        sampler = next(one for one in chain if one[0] == SAMPLERS[name])
        uniform, _ = numbers_for(seed)
        theirs = engine.apply(sampler, row, history=history)
        given_numbers: dict[str, Any] = {"uniforms": [uniform]} if name == "xtc" else {}
        try:
            ours = step("llama.cpp", name, row, history, precision="f32", **given_numbers, **given)
        except SamplingError:
            continue
        compared += 1
        assert in_bits(ours) == in_bits(row_left(theirs, size)), (given, kind)
        questions = [asked(given, row, history, precision, {}, uniform) for precision in BOTH]
        exact, rounded = (one.apply(STAGES[name], one.candidates) for one in questions)
        assert list(rounded.after.tokens) == theirs.tokens
        row_without = step("llama.cpp", name, row, history, **given_numbers, **given)
        assert row_without == [float(logit) for logit in exact.row_after]
        try:
            compare(questions[0], [exact], questions[1], [rounded])
        except Decided:
            decided += 1
    made_for_doubt = kind in {"flat", "narrow"} or (name, kind) == ("typical", "wide")
    assert made_for_doubt or decided <= compared / 3


@pytest.mark.parametrize("kind", KINDS)
def test_distribution_and_draw_are_those_of_the_whole_chain(engine: Engine, kind: str) -> None:
    random = random_of(("law", kind))
    for _ in range(40 * CAMPAIGN):
        size, seed = random.choice(SIZES), random.randrange(2**32 - 1)
        parameters = parameters_of(random, size)
        row, history = row_of(random, size, kind), history_of(random, size)
        events = [*(["accept", token] for token in history), ["apply", [*range(size)], row, False]]
        coin, uniform = numbers_for(seed)
        try:
            trace = explain(
                "llama.cpp", row, history, uniforms=[coin], precision="f32", **parameters
            )
            coins = [
                coin for one in trace.steps if one.step == "xtc" and len(one.before.tokens) > 1
            ]
            shares = distribution(
                "llama.cpp", row, history, uniforms=coins, precision="f32", **parameters
            )
            numbers = [*coins, uniform]
            token = sample(
                "llama.cpp", row, history, uniforms=numbers, precision="f32", **parameters
            )
        except SamplingError:
            continue
        theirs = engine.run(chain_of(parameters, size, seed), events)[0]
        assert token == theirs.token, (parameters, kind)
        probabilities = [0.0] * size
        for one, share in zip(theirs.tokens, theirs.probabilities, strict=True):
            probabilities[one] = share
        if parameters.get("mirostat") or parameters.get("adaptive_target", -1) >= 0:
            assert shares == pytest.approx(probabilities, rel=(size + 4) * U, abs=1e-38)
        else:
            assert in_bits(shares) == in_bits(probabilities), (parameters, kind)
        ours = explain("llama.cpp", row, history, uniforms=coins, **parameters)
        try:
            apart = compare(
                asked(parameters, row, history, "exact", {}),
                ours.steps,
                asked(parameters, row, history, "f32", {}),
                trace.steps,
            )
            drawn = sample("llama.cpp", row, history, uniforms=numbers, **parameters)
            check_draw(ours.steps[-1].after, apart, uniform, drawn, token)
        except Decided:
            continue
        exact = distribution("llama.cpp", row, history, uniforms=coins, **parameters)
        wide = max(50.0, max(row) - min(x for x in row if x > -inf))
        assert exact == pytest.approx(shares, rel=3 * apart + (wide + size + 9) * 4 * U, abs=1e-37)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seeded_sampler_says_the_tokens_that_the_engine_says(engine: Engine, kind: str) -> None:
    random = random_of(("tokens", kind))
    for _ in range(40 * CAMPAIGN):
        size, seed = random.choice(SIZES), random.randrange(2**32 - 1)
        parameters, prompt = parameters_of(random, size), history_of(random, size)
        events: list[list[Any]] = [["accept", token] for token in prompt]
        sampler = Sampler("llama.cpp", seed=seed, prompt=prompt, **parameters)
        ours = []
        for _ in range(random.choice([1, 4, 12])):
            row = row_of(random, size, kind)
            try:
                ours.append(sampler.sample(row))
            except SamplingError:
                break
            events.append(["apply", [*range(size)], row, False])
            for token in accepted(random, ours[-1], size):
                sampler.accept(token)
                events.append(["accept", token])
        theirs = engine.run(chain_of(parameters, size, seed), events)
        assert ours == [result.token for result in theirs], (parameters, kind)


def accepted(random: Random, token: int, size: int) -> list[int]:
    """Return what a program accepts: the token, nothing, another one, or more than one."""
    other = random.randrange(size)
    return random.choice([*[[token]] * 7, [], [other], [token, other]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_seeded_sampler_without_rounding_differs_only_by_rounding(kind: str) -> None:
    random = random_of(("exact", kind))
    for _ in range(30 * CAMPAIGN):
        size, seed = random.choice(SIZES), random.randrange(2**32 - 1)
        parameters, history = parameters_of(random, size), history_of(random, size)
        exact, rounded = (
            Sampler("llama.cpp", seed=seed, prompt=history, precision=one, **parameters)
            for one in BOTH
        )
        words = mt19937(seed)
        for _ in range(random.choice([1, 4, 12])):
            row = row_of(random, size, kind)
            states = exact.state, rounded.state
            try:
                token, theirs = exact.sample(row), rounded.sample(row)
                if len(rounded.trace.steps[-1].after.tokens) > 1 or not steered(parameters):
                    uniform = libstdcxx_double(next(words), next(words))
                questions = [
                    asked(parameters, row, history, one, state)
                    for one, state in zip(BOTH, states, strict=True)
                ]
                steps = exact.trace.steps, rounded.trace.steps
                apart = compare(questions[0], steps[0], questions[1], steps[1])
                check_draw(steps[0][-1].after, apart, uniform, token, theirs)
            except (SamplingError, Decided):
                break
            assert exact.state["words_taken"] == rounded.state["words_taken"]
            for one in accepted(random, theirs, size):
                exact.accept(one)
                rounded.accept(one)
                history.append(one)


def steered(parameters: dict[str, Any]) -> bool:
    """Say whether the token is drawn by the C++ library's discrete distribution."""
    return bool(parameters.get("mirostat")) or parameters.get("adaptive_target", -1) >= 0


@pytest.mark.parametrize("kind", ["tied", "integers", "gaussian"])
def test_thousands_of_candidates_are_cut_and_drawn_as_by_the_engine(
    engine: Engine, kind: str
) -> None:
    random = random_of(("large", kind))
    for share in (0.3, 0.9, 0.99):
        row, seed = row_of(random, 3000, kind), random.randrange(2**32 - 1)
        parameters: dict[str, Any] = {"top_k": 0, "min_p": 0.0, "top_p": share}
        events = [["apply", [*range(3000)], row, False]]
        theirs = engine.run(chain_of(parameters, 3000, seed), events)[0]
        _, uniform = numbers_for(seed)
        for precision in BOTH:
            token = sample("llama.cpp", row, uniforms=[uniform], precision=precision, **parameters)
            assert token == theirs.token
            shares = distribution("llama.cpp", row, precision=precision, **parameters)
            assert [one for one, part in enumerate(shares) if part] == sorted(theirs.tokens)


@pytest.mark.parametrize(
    ("off", "on"),
    [
        ({"repeat_last_n": 0}, {"repeat_last_n": 1}),
        ({"repeat_last_n": -1}, {"repeat_last_n": 2}),
        ({"repeat_penalty": 1.0}, {"repeat_penalty": 1.5}),
        ({"dry_base": 0.99}, {"dry_base": 1.0}),
        ({"dry_penalty_last_n": 0}, {"dry_penalty_last_n": 64}),
        ({"dry_penalty_last_n": -1}, {"dry_penalty_last_n": 5}),
        ({"top_k": 0}, {"top_k": 1}),
        ({"top_k": -1}, {"top_k": 2}),
        ({"top_p": 1.0}, {"top_p": 0.5}),
        ({"min_p": 0.0}, {"min_p": 0.5}),
        ({"typical_p": 1.0}, {"typical_p": 0.25}),
        ({"top_n_sigma": 0.0}, {"top_n_sigma": 0.5}),
        ({"xtc_threshold": 0.51}, {"xtc_threshold": 0.2}),
        ({"xtc_probability": 0.0, "xtc_threshold": 0.2}, {"xtc_threshold": 0.2}),
        ({"dynatemp_range": 0.0}, {"dynatemp_range": 0.5}),
    ],
)
@pytest.mark.parametrize("precision", BOTH)
def test_a_parameter_switches_its_step_off_where_the_engine_says_so(
    engine: Engine, precision: Precision, off: dict[str, Any], on: dict[str, Any]
) -> None:
    calm = {"temp": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    first = next(iter(off)).partition("_")[0]
    calm |= {name: value for name, value in BUSY.items() if name.startswith(first)}
    row, history, size = [2.0, 1.5, 1.5, 0.5], [0, 1, 2, 0, 1], 4
    for given in (off, on):
        parameters = calm | given
        events = [*(["accept", token] for token in history), ["apply", [*range(size)], row, False]]
        theirs = engine.run(chain_of(parameters, size, 1), events)[0]
        coin, _ = numbers_for(1)
        trace = explain(
            "llama.cpp", row, history, uniforms=[coin], precision=precision, **parameters
        )
        left = trace.row
        assert left == pytest.approx(row_left(theirs, size), rel=1e-6)
        assert not left or (left == row) == (given is off)


@pytest.mark.parametrize("precision", BOTH)
def test_of_two_equal_halves_xtc_removes_one_at_a_threshold_of_a_half(
    engine: Engine, precision: Precision
) -> None:
    theirs = engine.apply(["xtc", 1.0, 0.5, 0, 1], [1.0, 1.0])
    ours = step(
        "llama.cpp",
        "xtc",
        [1.0, 1.0],
        uniforms=[0.5],
        precision=precision,
        xtc_probability=1.0,
        xtc_threshold=0.5,
    )
    assert ours == row_left(theirs, 2)
    assert ours.count(-inf) == 1


@pytest.mark.parametrize(
    ("name", "sampler", "row", "given"),
    [
        ("typical", ["typical", 0.99995, 0], [20.0, 0.0, 0.0], {"typical_p": 0.99995}),
        # Nearly flat: k is beyond 32 bits. Impossible: k is no number.
        ("mirostat_1", ["mirostat", 4, 1, 5.0, 0.1, 100], [0.01, 0.0, 0.0, 0.0], {"mirostat": 1}),
        ("mirostat_1", ["mirostat", 4, 1, 5.0, 0.1, 100], [1.0, 0.5, 0.0, -inf], {"mirostat": 1}),
    ],
)
@pytest.mark.parametrize("precision", BOTH)
def test_the_likeliest_token_alone_is_left_where_the_engine_says_so(
    engine: Engine,
    precision: Precision,
    name: str,
    sampler: list[Any],
    row: list[float],
    given: dict[str, Any],
) -> None:
    theirs = row_left(engine.apply(sampler, row), len(row))
    assert theirs[1:] == [-inf] * (len(row) - 1)
    ours = step("llama.cpp", name, row, precision=precision, **given)
    assert in_bits(ours) == in_bits(theirs)


def test_a_parameter_that_32_bits_cannot_hold_is_one_sentence() -> None:
    for name in ("repeat_penalty", "mirostat_tau", "frequency_penalty", "min_p", "logit_bias"):
        value: Any = {0: 1e39} if name == "logit_bias" else 1e39
        for precision in BOTH:
            with pytest.raises(
                ParameterError, match=f"^{name} must be a number that 32 bits can hold"
            ):
                distribution("llama.cpp", [1.0, 2.0], precision=precision, **{name: value})


def test_the_defaults_are_those_of_the_programs() -> None:
    defaults = PROFILE.defaults()
    assert defaults.pop("dry_sequence_breakers") == ()
    assert defaults == {name: DEFAULTS[name] for name in defaults}


@pytest.mark.parametrize(
    ("name", "aliases"),
    [
        ("repeat_last_n", ["penalty_last_n"]),
        ("repeat_penalty", ["penalty_repeat", "repetition_penalty"]),
        ("typical_p", ["typ_p"]),
        ("temp", ["temperature"]),
        ("mirostat", ["mirostat_mode"]),
        ("mirostat_tau", ["mirostat_ent"]),
        ("mirostat_eta", ["mirostat_lr"]),
    ],
)
def test_a_parameter_has_the_names_that_the_programs_have_for_it(
    name: str, aliases: list[str]
) -> None:
    assert {PROFILE.parameter(alias).name for alias in aliases} == {name}
