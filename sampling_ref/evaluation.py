"""Evaluation of a profile or a chain: one step, a whole chain, a distribution, a draw.

    step(profile, op, logits, ...)        the logits after one step
    explain(profile, logits, ...)         what each step of the chain did
    logprobs(profile, logits, ...)        the log-probabilities that the engine reports
    distribution(profile, logits, ...)    the probabilities after the whole chain
    sample(profile, logits, ...)          the token, for random numbers given
    chain(links, logits, ...)             steps of your own choice, one after the other

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

Rounding in a chain
    Penalties, biases and temperatures round nothing on the way. A step that makes
    irrational numbers (LZ penalty, dynamic temperature, adaptive-p) hands on the nearest
    floats, and so does a function of your own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isinf
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast, get_args

from sampling_ref.candidates import Candidates, all_candidates
from sampling_ref.draws.draw import draw as draw_of_engine
from sampling_ref.engines import PROFILES
from sampling_ref.engines.orders import ORDERS
from sampling_ref.engines.profile import Logprobs, Profile, Stage
from sampling_ref.errors import ParameterError, RowError, UnknownNameError, shown
from sampling_ref.history import part_of, read_history
from sampling_ref.numbers.binary32 import all_to_binary32, to_binary32
from sampling_ref.numbers.orders import last_greatest
from sampling_ref.numbers.softmax import log_softmax
from sampling_ref.parameters import read_choice, read_uniforms
from sampling_ref.random.sources import Given, Randomness
from sampling_ref.row import (
    LARGEST,
    Number,
    ReadRow,
    TokenId,
    already_read,
    is_number,
    places_of_others,
    read_logits,
    read_possible_logits,
)
from sampling_ref.steps.lz import lz_penalty
from sampling_ref.steps.step import Situation, Step, Use, Values, with_row
from sampling_ref.steps.table import STEPS
from sampling_ref.tracing import Applied, Trace, apply_step

Precision: TypeAlias = Literal["exact", "f32"]
"""What the arithmetic is: without any rounding, or with one after every operation."""


OTHER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "repetition_penalty": ("penalties", "decaying_penalties"),
        "frequency_penalty": ("penalties", "decaying_penalties"),
        "presence_penalty": ("penalties", "decaying_penalties"),
        "dry": ("dry_nearby", "dry_longest"),
    }
)
"""Steps that do, in some engines, what has a name of its own in others."""

STATE = ("mu", "past")
"""What adaptive steps remember: mirostat's mu; adaptive-p's two sums, as a pair."""

Own: TypeAlias = Callable[[list[Number], list[TokenId]], Sequence[Number]]
"""A step of one's own: from a row of logits and a history to a row."""


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
        taken = {ours: self._parameter(theirs) for ours, theirs in stage.takes.items()}
        return {**stage.choices, **taken}

    def _parameter(self, name: str) -> Any:
        name, _, place = name.partition(".")
        value = self.parameters[name]
        return value[int(place)] if place else value

    def step_of(self, stage: Stage) -> Step:
        """Return the step that a stage applies."""
        return STEPS[stage.step]


@dataclass(frozen=True)
class Answer:
    """What the stages left, and what each of those that were applied did."""

    candidates: Candidates
    applied: tuple[tuple[Stage, Applied], ...]

    @property
    def trace(self) -> Trace:
        """The applied steps as a trace."""
        return Trace(tuple(applied for _, applied in self.applied))


def read_profile(name: object) -> Profile:
    """Return a profile by its name.

    >>> read_profile("lama.cpp")
    Traceback (most recent call last):
    sampling_ref.errors.UnknownNameError: there is no profile 'lama.cpp'; did you mean 'llama.cpp'?
    """
    if not isinstance(name, str) or name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]


def read_precision(precision: object) -> None:
    """Complain about a precision that there is not.

    >>> read_precision("f16")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: precision must be one of exact, f32, got 'f16'
    """
    read_choice("precision", precision, get_args(Precision))


def read_parameters(profile: Profile, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a profile, in the width in which the engine holds them.

    >>> read_parameters(PROFILES["llama.cpp"], {"top_p": 0.9})["top_p"]
    0.8999999761581421
    """
    parameters = {**profile.defaults(), **profile.read_parameters(params)}
    for parameter in profile.parameters:
        if parameter.width == "f32":
            value = parameters[parameter.name]
            parameters[parameter.name] = _in_32_bits(parameter.name, value)
    return parameters


def _in_32_bits(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _in_32_bits(name, number) for key, number in value.items()}
    if isinstance(value, list | tuple):  # pairs of a sequence and its bias
        return [(tuple(tokens), _in_32_bits(name, number)) for tokens, number in value]
    if not is_number(value):
        return value
    rounded = to_binary32(value)
    if isinf(rounded) and value != -inf:
        raise ParameterError(name, value, "must be a number that 32 bits can hold")
    return rounded


def ask(
    profile: str,
    logits: Any,
    history: Any,
    *,
    prompt_length: int,
    uniforms: Any,
    state: Mapping[str, Any] | None,
    precision: Precision,
    params: Mapping[str, Any],
) -> Question:
    """Read and check everything that a profile is asked about."""
    record = read_profile(profile)
    _read_state(state)
    read_precision(precision)
    parameters = read_parameters(record, params)
    randomness = Given(read_uniforms(uniforms))
    return question_of(
        record,
        parameters,
        logits,
        history,
        prompt_length=prompt_length,
        randomness=randomness,
        state=state or {},
        precision=precision,
    )


def _read_state(state: object) -> None:
    if state is None:
        return
    if not isinstance(state, Mapping):
        raise ParameterError("state", state, "must map names to what was remembered, or be None")
    for name in state:
        if name not in STATE and name not in {"history", "prompt_length", "words_taken"}:
            raise UnknownNameError("part of a state", name, STATE)


def question_of(
    profile: Profile,
    parameters: Mapping[str, Any],
    logits: Any,
    history: Any,
    *,
    prompt_length: int,
    randomness: Randomness,
    state: Mapping[str, Any],
    precision: Precision,
) -> Question:
    """Return a question whose parameters and random numbers were read already."""
    row = ReadRow(read_logits(logits))
    row.others = places_of_others(row)
    for token in row.others:
        logit = row[token]
        if isinstance(logit, int | Fraction) and abs(logit) > LARGEST:
            raise RowError(f"logits[{token}] must be at most {LARGEST:g}, got {shown(logit)}")
    if precision == "f32":
        row = ReadRow(_row_in_32_bits(row))
    tokens = read_history(history, len(row))
    part_of(tokens, prompt_length, "prompt")
    numbers = profile.exact if precision == "exact" else profile.rounded
    situation = Situation(len(row), tokens, prompt_length, randomness, state, numbers)
    return Question(profile, parameters, all_candidates(row), situation, precision)


def _row_in_32_bits(row: Sequence[Number]) -> list[float]:
    try:
        floats = all_to_binary32(row)  # type: ignore[arg-type]  # floats, or the next line
    except TypeError:
        floats = [to_binary32(number) for number in row]
    if inf in floats:
        raise RowError(f"logits[{floats.index(inf)}] is too large for 32 bits")
    return floats


def logits_reported(question: Question, which: str | None) -> Candidates:
    """Return the candidates whose log-probabilities the engine reports, by the name of a way."""
    ways = {"raw": Logprobs("raw", "nothing"), "processed": Logprobs("processed", "everything")}
    own = question.profile.logprobs
    ways |= {way.name: way for way in own}
    name = which or (own[0].name if own else "raw")
    if name not in ways:
        raise UnknownNameError(f"way to report logprobs in {question.profile.name}", name, ways)
    after = ways[name].after
    if after == "nothing":
        return question.candidates
    if after == "everything":
        return run(question).candidates
    places = [place for place, stage in enumerate(question.profile.stages) if stage.step in after]
    stages = question.profile.stages[: max(places) + 1]
    return run(replace(question, profile=replace(question.profile, stages=stages))).candidates


def own_name(question: Question, op: str) -> str:
    """Return the name under which a profile has a step that others have under its usual name."""
    has = {stage.step for stage in question.profile.stages}
    for name in (op, *OTHER_NAMES.get(op, ())):
        if name in has:
            return name
    return op


def is_greedy_instead(question: Question, stage: Stage) -> bool:
    """Say whether a temperature is none, because it makes the engine greedy."""
    profile = question.profile
    return stage.step == "temperature" and profile.greedy.holds(question.parameters)


def run(question: Question) -> Answer:
    """Apply the stages of the engine in its order, and say what each one did."""
    candidates = question.candidates
    done: list[tuple[Stage, Applied]] = []
    profile, parameters = question.profile, question.parameters
    is_greedy = profile.greedy.holds(parameters)
    for stage in profile.stages:
        if stage.is_off(parameters) or (is_greedy and stage.step not in profile.greedy.after):
            continue
        applied = apply_stage(question, stage, candidates)
        candidates = applied.after
        done.append((stage, applied))
    return Answer(candidates, tuple(done))


def apply_stage(question: Question, stage: Stage, candidates: Candidates) -> Applied:
    """Apply one stage, after the sort that the engine does for it."""
    values, before = question.values(stage), candidates
    if not question.situation.numbers.sorts:
        count = min(values.get("k", len(candidates.tokens)), len(candidates.tokens))
        candidates = ORDERS[stage.order](candidates, count)
    applied = apply_step(question.step_of(stage), values, candidates, question.situation)
    return replace(applied, before=before)  # a sort for the k largest drops the others


def probabilities(question: Question, candidates: Candidates) -> list[float]:
    """Return the law by which the engine's draw chooses among candidates, as a row."""
    row = [0.0] * question.situation.size
    if question.profile.greedy.holds(question.parameters):
        row[_greedy_token(question, candidates)] = 1.0
        return row
    read_possible_logits(already_read(candidates.logits))
    shares = question.situation.numbers.law(candidates)
    for token, share in zip(candidates.tokens, shares, strict=True):
        row[token] = share
    return row


def draw(question: Question, answer: Answer) -> TokenId:
    """Return the token that the engine chooses among what its stages left."""
    candidates = answer.candidates
    if question.profile.greedy.holds(question.parameters):
        return _greedy_token(question, candidates)
    read_possible_logits(already_read(candidates.logits))
    rules = [stage.draw for stage, _ in answer.applied if stage.draw is not None]
    rule = rules[-1] if rules else question.profile.draw
    return draw_of_engine(candidates, rule, question.situation)


def _greedy_token(question: Question, candidates: Candidates) -> TokenId:
    """Return the token that a greedy engine takes, by its rule for equals."""
    logits = read_possible_logits(already_read(candidates.logits))
    largest: Number = max(logits)
    pairs = zip(candidates.tokens, logits, strict=True)
    tokens = [token for token, logit in pairs if logit == largest]
    ties = question.profile.greedy.ties
    if ties == "last in total order":
        return candidates.tokens[last_greatest(logits)]
    if ties == "first candidate":
        return tokens[0]
    return min(tokens) if ties == "lowest id" else max(tokens)


def chain(
    links: Iterable[Use | Own],
    logits: Any,
    history: Any = (),
    *,
    prompt_length: int = 0,
    uniforms: Any = (),
    state: Mapping[str, Any] | None = None,
) -> Trace:
    """Apply steps to a row of logits, in their order, and return the trace.

    >>> links = [Use("temperature", temperature=0.5), Use("top_k", k=2)]
    >>> trace = chain(links, [1.0, 3.0, 2.0])
    >>> trace.row
    [-inf, 6.0, 4.0]
    >>> print(trace)
    step                          left  removed  changed  likeliest: logit  why
    temperature(temperature=0.5)  3     -        0 1 2    1:6 2:4 0:2       divided by 0.5
    top_k(k=2)                    2     0        -        1:6 2:4           the 2 largest are kept
    """
    row = ReadRow(read_logits(logits))
    tokens = read_history(history, len(row))
    part_of(tokens, prompt_length, "prompt")
    randomness = Given(read_uniforms(uniforms))
    situation = Situation(len(row), tokens, prompt_length, randomness, state or {})
    candidates, applied = all_candidates(row), []
    for link in links:
        done = apply_step(*_read(link), candidates, situation)
        candidates = done.after
        applied.append(done)
    return Trace(tuple(applied))


def _read(link: Use | Own) -> tuple[Step, Values]:
    if isinstance(link, Use):
        if link.step not in STEPS:
            raise UnknownNameError("step", link.step, STEPS)
        return STEPS[link.step], link.values
    if not callable(link):
        raise ParameterError("link", link, "must be a Use, or a function of a row and a history")
    return _own_step(link), {}


def _own_step(function: Own) -> Step:
    name = getattr(function, "__name__", type(function).__name__)

    def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
        row = candidates.row(situation.size)
        changed = read_logits(function(row, list(situation.history)), f"the row of {name}")
        if len(changed) != len(row):
            raise RowError(f"the row of {name} must have {len(row)} numbers, got {len(changed)}")
        return with_row(Candidates(candidates.tokens, candidates.logits), changed)

    return Step(name, apply, why="a function of one's own")
