"""Asking a profile: one step of an engine, its final distribution, one draw.

    step(profile, op, logits, ...)        the logits after one step
    explain(profile, logits, ...)         what each step of the chain did
    logprobs(profile, logits, ...)        the log-probabilities that the engine reports
    distribution(profile, logits, ...)    the probabilities after the whole chain
    sample(profile, logits, ...)          the token, for random numbers given

Parameters carry the engine's own names, and their defaults are the engine's. Two
precisions are offered:

exact
    Parameters are the numbers that the engine holds (a 32-bit float where it holds one).
    Penalties and temperature are rational arithmetic, weights are the real numbers
    e**logit, and every decision is exact. What an engine answers otherwise is its rounding
    or its rule.
f32
    Every operation is rounded to 32 bits, as the engine does it where a twin was proven
    against it (llama.cpp, Antigravity), and one after the other in plain order otherwise.
"""

from collections.abc import Mapping
from math import inf
from typing import Any, cast

from sampling_ref.asking import (
    Precision,
    apply_stage,
    ask,
    draw,
    is_greedy_instead,
    logits_reported,
    own_name,
    probabilities,
    read_profile,
    run,
)
from sampling_ref.candidates import Candidates
from sampling_ref.errors import UnknownNameError
from sampling_ref.lz.penalty import lz_penalty
from sampling_ref.row import TokenId, places_of_others
from sampling_ref.softmax import log_softmax
from sampling_ref.steps.table import STEPS
from sampling_ref.trace import Trace


def step(
    profile: str,
    op: str,
    logits: Any,
    history: Any = (),
    *,
    prompt_length: int = 0,
    uniforms: Any = (),
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,
) -> list[float]:
    """Return the logits after one step of an engine; removed tokens are at minus infinity.

    `op` is the name of a step (`STEPS` lists them all) that the engine has; the parameters
    are those of that step, under the engine's own names. A step that its parameters switch
    off returns the row as it is. "logprobs" is the same everywhere: the logarithm of the
    softmax of the row, and so is "lz", which takes `alpha`, `window`, `buffer` and `variant`.
    Where an engine has a penalty under another name here (llama.cpp's `penalties` do what
    `repetition_penalty` does elsewhere), the usual name finds it. At a temperature that
    makes an engine greedy, the step "temperature" returns the row as it is.

    >>> step("transformers", "top_k", [1.0, 2.0, 2.0, 3.0], top_k=2)
    [-inf, 2.0, 2.0, 3.0]
    >>> step("llama.cpp", "top_k", [1.0, 2.0, 3.0], top_k=2)
    [-inf, 2.0, 3.0]
    """
    if op not in STEPS:
        raise UnknownNameError("step", op, STEPS)
    if op == "lz":
        return _lz_step(profile, logits, history, prompt_length, params)
    question = ask(
        profile,
        logits,
        history,
        prompt_length=prompt_length,
        uniforms=uniforms,
        state=state,
        precision=precision,
        params=params,
    )
    stages = () if op == "logprobs" else question.profile.stages_of(own_name(question, op))
    used = {name for stage in stages for name in stage.parameters()}
    for name in params:
        if question.profile.parameter(name).name not in used:
            raise UnknownNameError(f"parameter of {op} in {profile}", name, used)
    candidates = question.candidates
    if op == "logprobs":
        return _log_probabilities(candidates, question.situation.size)
    for stage in stages:
        if not (stage.is_off(question.parameters) or is_greedy_instead(question, stage)):
            candidates = apply_stage(question, stage, candidates).after
    row = candidates.row(question.situation.size)
    for token in places_of_others(row):
        row[token] = float(row[token])
    return cast("list[float]", row)


def _lz_step(
    profile: str,
    logits: Any,
    history: Any,
    prompt_length: int,
    params: Mapping[str, Any],
) -> list[float]:
    """Return the row after the LZ penalty, which no engine has in its chain."""
    read_profile(profile)
    known = {"alpha": "strength", "strength": "strength"}
    known |= {name: name for name in ("window", "buffer", "variant")}
    for name in params:
        if name not in known:
            raise UnknownNameError("parameter of lz", name, known)
    given = {known[name]: value for name, value in params.items()}
    changed = lz_penalty(logits, history, prompt_length=prompt_length, **given)
    return [float(logit) for logit in changed]


def distribution(
    profile: str,
    logits: Any,
    history: Any = (),
    *,
    prompt_length: int = 0,
    uniforms: Any = (),
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,
) -> list[float]:
    """Return the probability of each token after the whole chain of an engine.

    The values are the correctly rounded probabilities. A greedy engine gives one token
    probability 1.

    >>> distribution("transformers", [0.0, 0.0, -1.0, 9.0], top_k=1)
    [0.0, 0.0, 0.0, 1.0]
    """
    question = ask(
        profile,
        logits,
        history,
        prompt_length=prompt_length,
        uniforms=uniforms,
        state=state,
        precision=precision,
        params=params,
    )
    return probabilities(question, run(question).candidates)


def explain(
    profile: str,
    logits: Any,
    history: Any = (),
    *,
    prompt_length: int = 0,
    uniforms: Any = (),
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,
) -> Trace:
    """Return what each step of an engine's chain did to the row, and why.

    >>> trace = explain("transformers", [3.0, 2.0, 1.0], [0], repetition_penalty=2.0, top_k=2)
    >>> [applied.step for applied in trace.steps], trace.row
    (['repetition_penalty', 'top_k'], [1.5, 2.0, -inf])
    """
    question = ask(
        profile,
        logits,
        history,
        prompt_length=prompt_length,
        uniforms=uniforms,
        state=state,
        precision=precision,
        params=params,
    )
    return run(question).trace


def sample(
    profile: str,
    logits: Any,
    history: Any = (),
    *,
    uniforms: Any = (),
    prompt_length: int = 0,
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,
) -> TokenId:
    """Return the token that an engine draws with the random numbers given.

    The steps take their random numbers first, in the engine's order, then the draw: an
    inverse CDF takes one, Gumbel-max and an exponential race take one for each token of
    the vocabulary. Numbers that nothing needs are left over.

    In "f32" a random number of exactly 0 may draw an impossible token, where the engine
    does so (transformers, llama.cpp); "exact" never does for a race.

    >>> sample("llama.cpp", [0.0, 0.0], uniforms=[0.75])
    1
    """
    question = ask(
        profile,
        logits,
        history,
        prompt_length=prompt_length,
        uniforms=uniforms,
        state=state,
        precision=precision,
        params=params,
    )
    return draw(question, run(question))


def logprobs(
    profile: str,
    logits: Any,
    history: Any = (),
    *,
    which: str | None = None,
    prompt_length: int = 0,
    uniforms: Any = (),
    state: Mapping[str, Any] | None = None,
    **params: Any,
) -> list[float]:
    """Return the log-probability of each token as an engine reports it; natural logarithms.

    Engines look at different places of their chain: `which` is one of the names in the
    profile's `logprobs`, by default the first; "raw" and "processed" (before and after
    everything) can be asked of every engine, and "raw" is the default where none is known.
    Values are correctly rounded.

    >>> logprobs("vllm", [0.0, 0.0], temperature=0.5, top_k=1)
    [-0.6931471805599453, -0.6931471805599453]
    >>> logprobs("vllm", [0.0, 1.0], which="processed_logprobs", top_k=1)
    [-inf, 0.0]
    """
    question = ask(
        profile,
        logits,
        history,
        prompt_length=prompt_length,
        uniforms=uniforms,
        state=state,
        precision="exact",
        params=params,
    )
    return _log_probabilities(logits_reported(question, which), question.situation.size)


def _log_probabilities(candidates: Candidates, size: int) -> list[float]:
    row: list[float] = [-inf] * size
    values = log_softmax(candidates.logits, factor=candidates.factor)
    for token, value in zip(candidates.tokens, values, strict=True):
        row[token] = value
    return row
