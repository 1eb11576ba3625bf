"""Asking a profile: one step of an engine, its final distribution, one draw.

    step(profile, op, logits, ...)        the logits after one step
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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from sampling_ref.arithmetic.binary32 import Binary32, to_binary32
from sampling_ref.candidates import Candidates, all_candidates
from sampling_ref.chain import Applied, Trace, apply_step
from sampling_ref.errors import ParameterError, UnknownNameError
from sampling_ref.history import part_of, read_history
from sampling_ref.orders import ORDERS
from sampling_ref.profiles import PROFILES
from sampling_ref.profiles.model import Profile, Stage
from sampling_ref.row import ReadRow, TokenId, read_logits, read_possible_logits
from sampling_ref.situation import Situation, exactly, read_uniforms
from sampling_ref.softmax import softmax
from sampling_ref.steps.table import STEPS

Precision: TypeAlias = Literal["exact", "f32"]
"""What the arithmetic is: without any rounding, or with one after every operation."""


@dataclass(frozen=True)
class Question:
    """A profile with everything that it is asked about, read and checked."""

    profile: Profile
    parameters: Mapping[str, Any]
    candidates: Candidates
    situation: Situation
    precision: Precision

    def values(self, stage: Stage) -> dict[str, Any]:
        """Return a stage's values: the engine's parameters under the step's names, and choices."""
        taken = {mine: self.parameters[theirs] for mine, theirs in stage.takes.items()}
        return {**stage.choices, **taken}


def ask(
    profile: str,
    logits: Any,  # noqa: ANN401 - whatever read_logits takes
    history: Any,  # noqa: ANN401 - whatever read_history takes
    prompt_length: int,
    uniforms: Any,  # noqa: ANN401 - whatever read_uniforms takes
    state: Mapping[str, Any] | None,
    precision: Precision,
    params: Mapping[str, Any],
) -> Question:
    """Read and check everything that a profile is asked about."""
    if profile not in PROFILES:
        raise UnknownNameError("profile", profile, PROFILES)
    if precision not in {"exact", "f32"}:
        raise ParameterError("precision", precision, "must be one of exact, f32")
    record = PROFILES[profile]
    given = record.read_parameters(params)
    parameters = {**record.defaults(), **given}
    for parameter in record.parameters:
        if parameter.width == "f32":
            parameters[parameter.name] = as_binary32(parameters[parameter.name])
    row = ReadRow(read_logits(logits))
    if precision == "f32":
        row = ReadRow(map(to_binary32, row))
    tokens = read_history(history, len(row))
    part_of(tokens, prompt_length, "prompt")
    situation = Situation(
        len(row),
        tokens,
        prompt_length,
        iter(read_uniforms(uniforms)),
        state or {},
        exactly if precision == "exact" else Binary32,
    )
    return Question(record, parameters, all_candidates(row), situation, precision)


def run(question: Question) -> tuple[Candidates, list[Applied]]:
    """Apply the stages of the engine in its order, and say what each one did."""
    candidates, done = question.candidates, []
    profile, parameters = question.profile, question.parameters
    is_greedy = profile.greedy.holds(parameters)
    for stage in profile.stages:
        if stage.is_off(parameters) or (is_greedy and stage.step not in profile.greedy.after):
            continue
        applied = apply_stage(question, stage, candidates)
        candidates = applied.after
        done.append(applied)
    return candidates, done


def apply_stage(question: Question, stage: Stage, candidates: Candidates) -> Applied:
    """Apply one stage, after the sort that the engine does for it."""
    values = question.values(stage)
    count = min(values.get("k", len(candidates.tokens)), len(candidates.tokens))
    candidates = ORDERS[stage.order](candidates, count)
    return apply_step(STEPS[stage.step], values, candidates, question.situation)


def step(  # noqa: PLR0913 - the one signature that all engines share
    profile: str,
    op: str,
    logits: Any,  # noqa: ANN401 - whatever read_logits takes
    history: Any = (),  # noqa: ANN401 - whatever read_history takes
    *,
    prompt_length: int = 0,
    uniforms: Any = (),  # noqa: ANN401 - whatever read_uniforms takes
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,  # noqa: ANN401 - each engine has its own
) -> list[float]:
    """Return the logits after one step of an engine; removed tokens are at minus infinity.

    `op` is the name of a step (`STEPS` lists them all) that the engine has; the parameters
    are those of that step, under the engine's own names. A step that its parameters switch
    off returns the row as it is.

    >>> step("transformers", "top_k", [1.0, 2.0, 2.0, 3.0], top_k=2)
    [-inf, 2.0, 2.0, 3.0]
    >>> step("llama.cpp", "top_k", [1.0, 2.0, 3.0], top_k=2)
    [-inf, 2.0, 3.0]
    """
    if op not in STEPS:
        raise UnknownNameError("step", op, STEPS)
    question = ask(profile, logits, history, prompt_length, uniforms, state, precision, params)
    stages = question.profile.stages_of(op)
    used = {name for stage in stages for name in stage.parameters()}
    for name in params:
        if question.profile.parameter(name).name not in used:
            raise UnknownNameError(f"parameter of {op} in {profile}", name, used)
    candidates = question.candidates
    for stage in stages:
        if not stage.is_off(question.parameters):
            candidates = apply_stage(question, stage, candidates).after
    return [float(logit) for logit in candidates.row(question.situation.size)]


def distribution(  # noqa: PLR0913 - the one signature that all engines share
    profile: str,
    logits: Any,  # noqa: ANN401 - whatever read_logits takes
    history: Any = (),  # noqa: ANN401 - whatever read_history takes
    *,
    prompt_length: int = 0,
    uniforms: Any = (),  # noqa: ANN401 - whatever read_uniforms takes
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,  # noqa: ANN401 - each engine has its own
) -> list[float]:
    """Return the probability of each token after the whole chain of an engine.

    The values are the correctly rounded probabilities. A greedy engine gives one token
    probability 1.

    >>> distribution("transformers", [0.0, 0.0, -1.0, 9.0], do_sample=True, top_k=1)
    [0.0, 0.0, 0.0, 1.0]
    """
    question = ask(profile, logits, history, prompt_length, uniforms, state, precision, params)
    return probabilities(question, run(question)[0])


def probabilities(question: Question, candidates: Candidates) -> list[float]:
    """Return the law by which the engine's draw chooses among candidates."""
    row = [0.0] * question.situation.size
    if question.profile.greedy.holds(question.parameters):
        row[greedy_token(question, candidates)] = 1.0
        return row
    read_possible_logits(candidates.logits)
    shares = softmax(candidates.logits, factor=candidates.factor)
    for token, share in zip(candidates.tokens, shares, strict=True):
        row[token] = share
    return row


def greedy_token(question: Question, candidates: Candidates) -> TokenId:
    """Return the token that a greedy engine takes, by its rule for equals."""
    logits = read_possible_logits(candidates.logits)
    largest = max(logits)
    tokens = [
        token for token, logit in zip(candidates.tokens, logits, strict=True) if logit == largest
    ]
    ties = question.profile.greedy.ties
    return tokens[0] if ties == "first candidate" else (min if ties == "lowest id" else max)(tokens)


def as_binary32(value: Any) -> Any:  # noqa: ANN401 - numbers, or maps of them
    """Return what a 32-bit float makes of a parameter; whatever is no number stays as it is."""
    if isinstance(value, Mapping):
        return {key: as_binary32(number) for key, number in value.items()}
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return value
    return to_binary32(value)


def sample(  # noqa: PLR0913 - the one signature that all engines share
    profile: str,
    logits: Any,  # noqa: ANN401 - whatever read_logits takes
    history: Any = (),  # noqa: ANN401 - whatever read_history takes
    *,
    uniforms: Any = (),  # noqa: ANN401 - whatever read_uniforms takes
    prompt_length: int = 0,
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,  # noqa: ANN401 - each engine has its own
) -> TokenId:
    """Return the token that an engine draws with the random numbers given.

    The steps take their random numbers first, in the engine's order, then the draw: an
    inverse CDF takes one, Gumbel-max and an exponential race take one for each token of
    the vocabulary.

    >>> sample("transformers", [0.0, 2.0], uniforms=[], do_sample=False)
    1
    """
    question = ask(profile, logits, history, prompt_length, uniforms, state, precision, params)
    return draw(question, run(question)[0])


def draw(question: Question, candidates: Candidates) -> TokenId:
    """Return the token that the engine's draw chooses among candidates."""
    raise NotImplementedError
