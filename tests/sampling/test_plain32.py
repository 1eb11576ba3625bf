"""32 bits in plain order: everything is rounded, and nothing differs but by rounding.

The stated bound is 2**-16: a 32-bit probability in a row of at most 20 tokens has a relative
error of at most (gap + 50) 2**-24, where the gap to the largest logit is at most 88 for
everything that 32 bits do not round to zero; sums of such probabilities are as good. So a
kept set lies between those of the exact rule with its threshold moved by that much either
way, and a drawn token is one that the exact rule draws for a number moved by that much.
"""

from fractions import Fraction
from math import exp, inf, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import (
    PROFILES,
    STEPS,
    WEIGHTS,
    ParameterError,
    RowError,
    distribution,
    explain,
    min_p,
    sample,
    step,
    top_n_sigma,
    top_p,
)
from sampling_ref.engines.draws import draw, walk
from sampling_ref.engines.llama_cpp_order import LLAMA_32
from sampling_ref.engines.profile import Profile, Stage
from sampling_ref.numbers.binary32 import Binary32, to_binary32
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.plain32 import PLAIN32, softmax_in_32_bits
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.numbers.softmax import softmax
from sampling_ref.numbers.torch32 import TORCH32
from sampling_ref.random.sources import Given, read_uniforms
from sampling_ref.row import Candidates, ReadRow, all_candidates
from sampling_ref.steps.step import Situation
from tests.sampling.rows import histories, rows, shares
from tests.texts import drawn

ERROR = 2.0**-16
TINY = 2.0**-125
THRESHOLDS = {
    "top_p": "p",
    "min_p": "m",
    "epsilon": "cutoff",
    "top_a": "a",
    "tail_free": "z",
    "xtc": "threshold",
}
"""The parameter of each filter of shares that moves its threshold."""

NAMES = [name for name, profile in PROFILES.items() if profile.rounded is PLAIN32]
STAGES = [
    pytest.param(stage, id=f"{name}-{place}-{stage.step}")
    for name in PROFILES
    for place, stage in enumerate(PROFILES[name].stages)
    if stage.step in THRESHOLDS
]
RACES = {"Gumbel-max", "exponential race"}


def warm(name: str) -> dict[str, float]:
    return {"candle": {"temperature": 1.0}, "mlx-lm": {"temp": 1.0}}.get(
        name, {"temperature": 1.0} if name == "tensorrt-llm" else {}
    )


def is_binary32(number: Any) -> bool:
    return bool(float(number) == number == to_binary32(number))


# ------------------------------------------------------------------------- kept sets


def kept(numbers: Numbers, stage: Stage, row: list[float], value: float) -> set[int]:
    """Return the tokens that one side of a stage keeps with its threshold at a value."""
    chosen = STEPS[stage.step]
    values = {**stage.choices, THRESHOLDS[stage.step]: value}
    values |= {"least": 2} if "least" in stage.takes else {}
    values |= {"probability": 1.0} if stage.step == "xtc" else {}
    values |= {"walked": "downwards"} if stage.step == "top_p" else {}  # plain 32 bits refuse more
    situation = Situation(len(row), randomness=Given([0.0]), numbers=numbers)
    after = chosen.apply(all_candidates(ReadRow(row)), situation, chosen.read(values))
    return {token for token, logit in zip(after.tokens, after.logits, strict=True) if logit > -inf}


@pytest.mark.parametrize("stage", STAGES)
@drawn(12)
@given(row=rows(), value=shares().map(to_binary32).filter(lambda share: 2.0**-10 < share < 1))
def test_kept_sets_differ_only_within_the_bound(
    stage: Stage, row: list[float], value: float
) -> None:
    if stage.step == "xtc":
        value /= 2
    if stage.step in {"tail_free", "xtc"} and any(0 < share < TINY for share in softmax(row)):
        return  # they look at neighbours and numbers of tokens: another row, if one is zero
    rounded, exact = kept(PLAIN32, stage, row, value), kept(EXACT, stage, row, value)
    if rounded == exact:
        return
    moved = [
        kept(EXACT, stage, row, min(max(value * factor, 1e-30), 1.0))
        for factor in (1 - ERROR, 1 + ERROR)
    ]
    doubtful = set().union(*moved) - moved[0].intersection(moved[1], exact)
    weights = softmax(row)
    for token in rounded ^ exact:
        equals = any(0 < abs(row[token] - other) < ERROR for other in row)  # in 32 bits
        assert token in doubtful or equals or weights[token] < TINY, token


def test_the_bound_excuses_no_token_more_or_less() -> None:
    stage = next(stage for stage in PROFILES["vllm"].stages if stage.step == "top_p")
    row = [3.0, 2.0, 1.0, 0.5, 0.0]
    kept_here = kept(EXACT, stage, row, 0.75)
    assert kept(EXACT, stage, row, 0.75 * (1 - ERROR)) == kept_here
    assert kept(EXACT, stage, row, 0.75 * (1 + ERROR)) == kept_here
    assert kept(PLAIN32, stage, row, 0.75) == kept_here == {0, 1}


# ------------------------------------------------------------------------------- draws


def moved_draws(profile: Profile, row: list[float], number: float) -> list[int]:
    """Return what an exact inverse CDF draws for the number, and for its neighbours."""
    near = [min(max(number + shift, 0.0), 1 - 2.0**-53) for shift in (-ERROR, 0.0, ERROR)]
    return [sample(profile.name, row, uniforms=[one], **alone(profile)) for one in near]


def alone(profile: Profile) -> dict[str, Any]:
    """Return parameters under which an engine draws from the row itself."""
    off: dict[str, Any] = {
        "top_k": {"sglang": -1, "chatstream": 99}.get(profile.name, 0),
        "top_p": 1.0,
        "min_p": 0.0,
        "temperature": 1.0,
        "temp": 1.0,
        "repetition_penalty": 1.0,
        "repeat_penalty": 1.0,
        "token_repetition_penalty": 1.0,
    }
    own = {parameter.name for parameter in profile.parameters}
    given_off = {name: value for name, value in off.items() if name in own}
    if profile.name == "exllamav2":
        given_off["top_p"] = 0.0
    return {
        name: value if profile.parameter(name).domain.holds(value) else profile.defaults()[name]
        for name, value in given_off.items()
    }


@pytest.mark.parametrize("name", NAMES)
@drawn(40)
@given(row=rows(), data=st.data())
def test_draws_differ_only_within_the_bound(
    name: str, row: list[float], data: st.DataObject
) -> None:
    profile = PROFILES[name]
    inside = st.floats(2.0**-20, 1 - 2.0**-20)
    count = len(row) if profile.draw.method in RACES else 1
    numbers = data.draw(st.lists(inside, min_size=count, max_size=count))
    exact = sample(name, row, uniforms=numbers, **alone(profile))
    rounded = sample(name, row, uniforms=numbers, precision="f32", **alone(profile))
    if rounded == exact:
        return
    if profile.draw.method in RACES:
        noise = {"-log u": lambda u: -log(u), "-log(1-u)": lambda u: -log(1 - u)}
        scores = [row[t] - log(noise[profile.draw.noise](numbers[t])) for t in (exact, rounded)]
        assert abs(scores[0] - scores[1]) <= ERROR
    else:
        places = walk(all_candidates(row), profile.draw.order)
        between = [places.index(token) for token in moved_draws(profile, row, numbers[0])]
        assert min(between) <= places.index(rounded) <= max(between)


@drawn(60)
@given(row=rows(), number=st.floats(0, 1, exclude_max=True))
def test_a_draw_in_32_bits_is_never_an_impossible_token(row: list[float], number: float) -> None:
    for name in ("openai", "candle"):
        rule = PROFILES[name].draw
        randomness = Given(read_uniforms([number]))
        situation = Situation(len(row), randomness=randomness, numbers=PLAIN32)
        token = draw(Candidates(range(len(row)), row), rule, situation)
        assert softmax_in_32_bits(row)[token] > 0


# --------------------------------------------------------------------------- rounding


@drawn(80)
@given(rows())
def test_shares_in_32_bits_are_the_shares(row: list[float]) -> None:
    for rounded, exact, logit in zip(softmax_in_32_bits(row), softmax(row), row, strict=True):
        assert is_binary32(rounded)
        assert abs(rounded - exact) <= (max(row) - logit + 50) * 2.0**-24 * exact + TINY or (
            logit == -inf and rounded == exact == 0
        )


def test_every_sum_is_rounded() -> None:
    """In 32 bits 2**24 + 1 is 2**24: here e**0 * (1 + 2**-24 + ...) loses what follows the 1."""
    small = [log(2.0**-25)] * 4
    total = 1.0
    for logit in small:
        total = to_binary32(total + to_binary32(exp(to_binary32(logit))))
    assert total == 1.0
    assert softmax_in_32_bits([0.0, *small])[0] == 1.0
    assert softmax([0.0, *small])[0] < 1.0


PARAMETERS: dict[str, Any] = {
    "temperature": 0.7,
    "temp": 0.7,
    "repetition_penalty": 1.3,
    "repeat_penalty": 1.3,
    "token_repetition_penalty": 1.3,
    "encoder_repetition_penalty": 1.3,
    "frequency_penalty": 0.3,
    "presence_penalty": 0.7,
    "token_frequency_penalty": 0.3,
    "token_presence_penalty": 0.7,
    "logit_bias": {0: 0.1, 1: -0.3},
    "sequence_bias": {(0,): 0.1, (0, 1): 0.7},
    "exponential_decay_length_penalty": (0, 1.1),
    "eos_token_id": 2,
    "renormalize_logits": True,
    "smoothing_factor": 0.3,
    "dry_multiplier": 0.7,
    "min_temp": 0.3,
    "max_temp": 1.7,
}
"""Whatever of these an engine has; decimal numbers, so that everything rounds."""


def decimals(profile: Profile) -> dict[str, Any]:
    own = {parameter.name: parameter for parameter in profile.parameters}
    return {
        name: value
        for name, value in PARAMETERS.items()
        if name in own and own[name].domain.holds(value)
    }


@pytest.mark.parametrize("name", PROFILES)
@drawn(25)
@given(row=rows(most=8).filter(lambda row: len(row) > 2), data=st.data())
def test_every_number_of_a_chain_in_32_bits_is_one(
    name: str, row: list[float], data: st.DataObject
) -> None:
    history = data.draw(histories(len(row)))
    about: dict[str, Any] = {"history": history, "prompt_length": len(history) // 2}
    params = decimals(PROFILES[name])
    try:
        trace = explain(name, row, precision="f32", **about, **params)
    except RowError:  # 32 bits cannot hold what comes of a row that is wide
        return
    for applied in trace.steps:
        found = [logit for logit in applied.row_after if not is_binary32(logit)]
        assert found == [], applied.step
    shares_in_32_bits = distribution(name, row, precision="f32", **about, **params)
    assert all(map(is_binary32, shares_in_32_bits))
    assert sum(shares_in_32_bits) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", PROFILES)
def test_a_penalty_rounds_after_every_operation(name: str) -> None:
    """1/3 and 1/10 have no 32-bit floats, so that two roundings differ from one."""
    params = decimals(PROFILES[name])
    row = [to_binary32(Fraction(1, 3)), to_binary32(-0.1), 0.7, 0.2]
    for stage in PROFILES[name].stages:
        if stage.step not in {"repetition_penalty", "penalties", "temperature", "logit_bias"}:
            continue
        own = {key: value for key, value in params.items() if key in stage.parameters()}
        exact = step(name, stage.step, row, [0, 1, 1], **own)
        rounded = step(name, stage.step, row, [0, 1, 1], precision="f32", **own)
        assert all(map(is_binary32, rounded)), stage.step
        assert rounded == pytest.approx(exact, rel=1e-6)


def test_what_situations_in_32_bits_calculate_with_rounds() -> None:
    third = Binary32(1.0) / 3
    assert is_binary32(third)
    assert float(third) != 1 / 3


def test_three_engines_have_an_arithmetic_of_their_own() -> None:
    own = {name for name, profile in PROFILES.items() if profile.rounded is not PLAIN32}
    assert own == {"antigravity", "llama.cpp", "transformers"}
    assert PROFILES["llama.cpp"].rounded is LLAMA_32
    assert PROFILES["transformers"].rounded is TORCH32


def test_an_arithmetic_refuses_a_choice_that_it_cannot_honour() -> None:
    with pytest.raises(ParameterError, match="walked must be a choice that plain 32 bits can"):
        top_p([1.0, 0.5], 0.5, walked="upwards", numbers=PLAIN32)
    with pytest.raises(ParameterError, match="base must be a choice that torch's 32 bits can"):
        top_p([1.0, 0.5], 0.5, base="the whole row", numbers=TORCH32)
    with pytest.raises(ParameterError, match="equality must be a choice that torch's 32 bits"):
        min_p([1.0, 0.5], 0.5, equality="removed", numbers=TORCH32)
    with pytest.raises(ParameterError, match="numbers must be a choice that a rule on logits can"):
        top_n_sigma([1.0, 0.5], 0.5, numbers=WEIGHTS)
