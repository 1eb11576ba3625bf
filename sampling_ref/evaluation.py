"""Evaluation of a profile or a chain: one step, a whole chain, a distribution, a draw.

    step(profile, op, logits, ...)        the logits after one step
    explain(profile, logits, ...)         what each step of the chain did
    logprobs(profile, logits, ...)        the log-probabilities that the engine reports
    distribution(profile, logits, ...)    the probabilities after the whole chain
    sample(profile, logits, ...)          the token, for random numbers given
    chain(links, logits, ...)             steps of your own choice, one after the other

Parameters carry the engine's own names, and their defaults are the engine's. Four
keywords mean the same everywhere: `prompt_length` (how much of the history is the prompt),
`uniforms` (random numbers), `state` (what adaptive steps remember) and `precision`. Two
precisions are offered:

exact
    Parameters are the numbers that the engine holds (a 32-bit float where it holds one).
    Penalties and temperature are rational arithmetic, weights are the real numbers
    e**logit, and every decision is exact. What an engine answers otherwise is its rounding
    or its rule.
f32
    Every operation is rounded to 32 bits, as the engine does it where that was proven
    against it (llama.cpp, Antigravity), and one after the other in plain order otherwise.

Rounding in a chain
    Penalties, biases and temperatures round nothing on the way. A step that makes
    irrational numbers (LZ penalty, dynamic temperature, adaptive-p) hands on the nearest
    floats, and so does a function of your own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from sampling_ref.engines import PROFILES
from sampling_ref.engines.draws import draw as draw_of_engine
from sampling_ref.engines.profile import Draw, Logprobs, Profile, Stage, holds
from sampling_ref.errors import HistoryError, ParameterError, RowError, UnknownNameError, shown
from sampling_ref.numbers.binary32 import all_to_binary32, to_binary32
from sampling_ref.numbers.orders import ORDERS, last_greatest
from sampling_ref.numbers.softmax import log_softmax
from sampling_ref.parameters import is_finite, read_choice, read_history, read_prompt_length
from sampling_ref.random.sources import NO_NUMBERS, Given, Randomness, Uniforms
from sampling_ref.row import (
    LARGEST,
    AnyHistory,
    AnyRow,
    Candidates,
    Number,
    ReadRow,
    TokenId,
    plain,
    read_logits,
)
from sampling_ref.steps.lz import lz_penalty
from sampling_ref.steps.step import Situation, Step, Use, Values
from sampling_ref.steps.table import STEPS
from sampling_ref.tracing import Applied, Trace

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


def related(step: str) -> frozenset[str]:
    """Return a step, and the steps with which some engine does the same.

    >>> sorted(related("dry")), sorted(related("top_k"))
    (['dry', 'dry_longest', 'dry_nearby'], ['top_k'])
    """
    for usual, others in OTHER_NAMES.items():
        if step in {usual, *others}:
            usuals = {name for name, its in OTHER_NAMES.items() if its == others}
            return frozenset({*usuals, *others})
    return frozenset({step})


STATE = ("mu", "past")
"""What adaptive steps remember: mirostat's mu; adaptive-p's two sums, as a pair."""

Own: TypeAlias = Callable[[list[Number], list[TokenId]], Sequence[Number]]
"""A step of your own: from a row of logits and a history to a row."""


@dataclass(frozen=True)
class Run:
    """What a chain left, what each applied step did, and how the engine draws from the rest."""

    candidates: Candidates
    applied: tuple[Applied, ...]
    draw: Draw
    stages: tuple[Stage, ...] = ()
    """The stages of the applied steps."""

    @property
    def trace(self) -> Trace:
        """The applied steps as a trace."""
        return Trace(self.applied)


@dataclass(frozen=True)
class Evaluation:
    """A profile and everything that it is applied to, read and checked.

    `parameters` has every parameter under the engine's own name, in the width in which the
    engine holds it.
    """

    profile: Profile
    parameters: Mapping[str, Any]
    candidates: Candidates
    situation: Situation
    precision: Precision

    @property
    def is_greedy(self) -> bool:
        """Whether the engine takes the largest logit and draws nothing."""
        return holds(self.profile.greedy.condition, self.parameters)

    def one_step(self, op: str) -> Candidates:
        """Return the candidates after one step of the engine, under its usual name.

        The row is left as it is where the parameters switch the step off, and by a
        temperature that makes the engine greedy.
        """
        candidates = self.candidates
        for stage in stages_of(self.profile, op):
            divides_by_zero = stage.step == "temperature" and self.is_greedy
            if not holds(stage.off_if, self.parameters) and not divides_by_zero:
                candidates = self.apply(stage, candidates).after
        return candidates

    def run(self, *, until: int | None = None) -> Run:
        """Apply the engine's stages in order: all of them, or the first `until`."""
        candidates, applied, draw = self.candidates, list[Applied](), self.profile.draw
        stages: list[Stage] = []
        is_greedy, after = self.is_greedy, self.profile.greedy.after
        for stage in self.profile.stages[:until]:
            if holds(stage.off_if, self.parameters) or (is_greedy and stage.step not in after):
                continue
            applied.append(self.apply(stage, candidates))
            stages.append(stage)
            candidates = applied[-1].after
            draw = stage.draw or draw
        return Run(candidates, tuple(applied), draw, tuple(stages))

    def apply(self, stage: Stage, candidates: Candidates) -> Applied:
        """Apply one stage, after the sort that the engine does for it."""
        given = stage.given(self.parameters)
        values = {**stage.choices, **given}
        before = candidates
        if stage.order in ORDERS and not self.situation.numbers.sorts:
            count = min(values.get("k", len(candidates.tokens)), len(candidates.tokens))
            candidates = ORDERS[stage.order](candidates, count)
        step = STEPS[stage.step]
        try:
            after = step.apply(candidates, self.situation, values)
        except ParameterError as error:  # say it with the engine's name
            value = given.get(error.name, error.value)
            raise ParameterError(stage.renamed(error.name), value, error.requirement) from error
        except HistoryError as error:
            raise HistoryError(stage.renamed(str(error))) from error
        return Applied(step, values, given, before, after, self.situation.size)

    def probabilities(self, candidates: Candidates) -> list[float]:
        """Return the law by which the engine's draw chooses among candidates, as a row."""
        if self.is_greedy:
            chosen = self._greedy_token(candidates)
            return [float(token == chosen) for token in range(self.situation.size)]
        candidates.possible_logits()
        shares = self.situation.numbers.law(candidates)
        return candidates.as_row(shares, self.situation.size, others=0.0)

    def draw(self, run: Run) -> TokenId:
        """Return the token that the engine chooses among what its stages left."""
        candidates = run.candidates
        if self.is_greedy:
            return self._greedy_token(candidates)
        candidates.possible_logits()
        return draw_of_engine(candidates, run.draw, self.situation)

    def _greedy_token(self, candidates: Candidates) -> TokenId:
        """Return the token that a greedy engine takes, by its rule for equals."""
        logits = candidates.possible_logits()
        ties = self.profile.greedy.ties
        if ties == "last in total order":
            return candidates.tokens[last_greatest(logits)]
        largest: Number = max(logits)
        pairs = zip(candidates.tokens, logits, strict=True)
        tokens = [token for token, logit in pairs if logit == largest]
        if ties == "first candidate":
            return tokens[0]
        return min(tokens) if ties == "lowest id" else max(tokens)

    def reported(self, which: str | None) -> Candidates:
        """Return the candidates whose log-probabilities the engine reports under a name."""
        ways = {"raw": Logprobs("raw", "nothing"), "processed": Logprobs("processed", "everything")}
        own = self.profile.logprobs
        ways |= {way.name: way for way in own}
        name = which or (own[0].name if own else "raw")
        if not isinstance(name, str) or name not in ways:
            raise UnknownNameError(f"way to report logprobs in {self.profile.name}", name, ways)
        after = ways[name].after
        if after == "nothing":
            return self.candidates
        if after == "everything":
            return self.run().candidates
        places = [place for place, stage in enumerate(self.profile.stages) if stage.step in after]
        return self.run(until=max(places) + 1).candidates


def stages_of(profile: Profile, op: str) -> tuple[Stage, ...]:
    """Return the stages that apply a step, which the engine may have under another name.

    >>> [stage.step for stage in stages_of(read_profile("llama.cpp"), "repetition_penalty")]
    ['penalties']
    """
    for name in (op, *OTHER_NAMES.get(op, ())):
        found = tuple(stage for stage in profile.stages if stage.step == name)
        if found:
            return found
    return profile.stages_of(op)  # raises an error


OPTIONS = ("prompt_length", "uniforms", "state", "precision")
"""What can be given by name besides the parameters of the engine."""


def evaluation(
    profile: str | Profile,
    logits: Any,
    history: Any = (),
    params: Mapping[str, Any] = MappingProxyType({}),
    prompt_length: int = 0,
    uniforms: Any = (),
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
) -> Evaluation:
    """Return a profile with everything that it is applied to, read and checked.

    `uniforms` are random numbers in [0, 1), or a source of them (`sampling_ref.random.sources`).

    >>> evaluation("llama.cpp", [0.0], (), {"top_p": 0.9}).parameters["top_p"]
    0.8999999761581421
    >>> evaluation("lama.cpp", [0.0])
    Traceback (most recent call last):
    sampling_ref.errors.UnknownNameError: there is no profile 'lama.cpp'; did you mean 'llama.cpp'?
    >>> evaluation("llama.cpp", [0.0], precision="f16")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: precision must be one of exact, f32, got 'f16'
    """
    record = profile if isinstance(profile, Profile) else read_profile(profile)
    read_choice("precision", precision, get_args(Precision))
    state = {} if state is None else _read_state(state)
    parameters = record.read(params)
    if isinstance(uniforms, tuple) and not uniforms:
        randomness: Randomness = NO_NUMBERS
    else:
        randomness = uniforms if isinstance(uniforms, Randomness) else Given(uniforms)
    row = read_logits(logits)
    others = range(len(row)) if row.others is None else row.others
    for token in others:
        logit = row[token]
        if isinstance(logit, int | Fraction) and abs(logit) > LARGEST:
            raise RowError(f"logits[{token}] must be at most {LARGEST:g}, got {shown(logit)}")
    if precision == "f32":
        row = ReadRow(map(to_binary32, row) if others else all_to_binary32(map(float, row)))
        if inf in row:
            raise RowError(f"logits[{row.index(inf)}] is too large for 32 bits")
    tokens = read_history(history, len(row))
    prompt_length = read_prompt_length(prompt_length, len(tokens))
    numbers = record.exact if precision == "exact" else record.rounded
    situation = Situation(len(row), tokens, prompt_length, randomness, state, numbers)
    return Evaluation(record, parameters, Candidates(range(len(row)), row), situation, precision)


def read_profile(name: object) -> Profile:
    """Return the profile with a name.

    >>> read_profile("standard")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sampling_ref.errors.UnknownNameError: there is no profile 'standard'; its rules are ...
    """
    if name == "standard":  # as the records call the rules without an engine
        advice = "its rules are the functions of the steps: call top_p(logits, p=0.9), for example"
        raise UnknownNameError("profile", name, PROFILES, advice=advice)
    if not isinstance(name, str) or name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]


def _read_state(state: Any) -> Mapping[str, Any]:
    """Return what was remembered, with plain numbers."""
    if not isinstance(state, Mapping):
        raise ParameterError("state", state, "must map names to what was remembered, or be None")
    for name in state:
        if name not in STATE and name not in {"history", "prompt_length", "words_taken"}:
            raise UnknownNameError("part of a state", name, STATE)
    read = {**state, **{name: plain(state[name]) for name in STATE if name in state}}
    if "mu" in read and not is_finite(read["mu"]):
        raise ParameterError("state['mu']", state["mu"], "must be a finite number")
    past = read.get("past", (0, 0))
    if not isinstance(past, Sequence) or len(past) != 2 or not all(map(is_finite, past)):
        raise ParameterError("state['past']", state["past"], "must be a pair of finite numbers")
    return read


def step(
    profile: str,
    op: str,
    logits: AnyRow,
    history: AnyHistory = (),
    *,
    prompt_length: int = 0,
    uniforms: Uniforms = (),
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

    `prompt_length` says how many tokens of the history, the first ones, are the prompt: some
    penalties look only at what follows. `precision` is "exact", or "f32", which rounds every
    operation to 32 bits. `uniforms` are random numbers in [0, 1), `state` is what adaptive steps
    remember (`Sampler.state`).

    >>> step("transformers", "top_k", [1.0, 2.0, 2.0, 3.0], top_k=2)
    [-inf, 2.0, 2.0, 3.0]
    >>> step("llama.cpp", "top_k", [1.0, 2.0, 3.0], top_k=2)
    [-inf, 2.0, 3.0]
    """
    if op not in STEPS:
        raise UnknownNameError("step", op, STEPS)
    if op == "lz":
        return _lz_step(profile, logits, history, {**params, "prompt_length": prompt_length})
    record = read_profile(profile)
    stages = () if op == "logprobs" else stages_of(record, op)
    used = {name for stage in stages for name in stage.parameters()}
    for name in params:
        parameter = record.by_name.get(name)
        if parameter is None or parameter.name not in used:
            raise UnknownNameError("parameter", name, used, f"{profile}'s step {op}", also=OPTIONS)
    made = evaluation(record, logits, history, params, prompt_length, uniforms, state, precision)
    if op == "logprobs":
        return _log_probabilities(made.candidates, made.situation.size)
    after = made.one_step(op)
    row = after.as_row(after.floats(), made.situation.size)
    if inf in row:
        token = row.index(inf)
        logit = shown(made.candidates.logits[token])
        raise RowError(f"{op} makes no finite number of the logit of token {token}, {logit}")
    return row


def _lz_step(profile: str, logits: Any, history: Any, given: Mapping[str, Any]) -> list[float]:
    """Return the row after the LZ penalty, which no engine has in its chain."""
    read_profile(profile)
    known = {name: name for name in ("strength", "window", "buffer", "variant", "prompt_length")}
    known["alpha"] = "strength"
    for name in given:
        if name not in known:
            raise UnknownNameError("parameter", name, known, "the step lz")
    values = {known[name]: value for name, value in given.items()}
    return list(map(float, lz_penalty(logits, history, **values)))


def distribution(
    profile: str,
    logits: AnyRow,
    history: AnyHistory = (),
    *,
    prompt_length: int = 0,
    uniforms: Uniforms = (),
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,
) -> list[float]:
    """Return the probability of each token after the whole chain of an engine.

    The values are the correctly rounded probabilities. A greedy engine gives one token
    probability 1.

    `prompt_length`, `uniforms`, `state` and `precision` are those of `step`.

    >>> distribution("transformers", [0.0, 0.0, -1.0, 9.0], top_k=1)
    [0.0, 0.0, 0.0, 1.0]
    """
    made = evaluation(profile, logits, history, params, prompt_length, uniforms, state, precision)
    return made.probabilities(made.run().candidates)


def explain(
    profile: str,
    logits: AnyRow,
    history: AnyHistory = (),
    *,
    prompt_length: int = 0,
    uniforms: Uniforms = (),
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,
) -> Trace:
    """Return what each step of an engine's chain did to the row, and why.

    `prompt_length`, `uniforms`, `state` and `precision` are those of `step`.

    >>> trace = explain("transformers", [3.0, 2.0, 1.0], [0], repetition_penalty=2.0, top_k=2)
    >>> [applied.step for applied in trace.steps], trace.row
    (['repetition_penalty', 'top_k'], [1.5, 2.0, -inf])
    """
    made = evaluation(profile, logits, history, params, prompt_length, uniforms, state, precision)
    return made.run().trace


def sample(
    profile: str,
    logits: AnyRow,
    history: AnyHistory = (),
    *,
    prompt_length: int = 0,
    uniforms: Uniforms = (),
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

    `prompt_length`, `uniforms`, `state` and `precision` are those of `step`.

    >>> sample("llama.cpp", [0.0, 0.0], uniforms=[0.75])
    1
    """
    made = evaluation(profile, logits, history, params, prompt_length, uniforms, state, precision)
    return made.draw(made.run())


def logprobs(
    profile: str,
    logits: AnyRow,
    history: AnyHistory = (),
    *,
    which: str | None = None,
    prompt_length: int = 0,
    uniforms: Uniforms = (),
    state: Mapping[str, Any] | None = None,
    precision: Precision = "exact",
    **params: Any,
) -> list[float]:
    """Return the log-probability of each token as an engine reports it; natural logarithms.

    Engines look at different places of their chain: `which` is one of the names in the
    profile's `logprobs`, by default the first; "raw" and "processed" (before and after
    everything) can be asked of every engine, and "raw" is the default where none is known.
    Values are correctly rounded.

    `prompt_length`, `uniforms`, `state` and `precision` are those of `step`.

    >>> logprobs("vllm", [0.0, 0.0], temperature=0.5, top_k=1)
    [-0.6931471805599453, -0.6931471805599453]
    >>> logprobs("vllm", [0.0, 1.0], which="processed_logprobs", top_k=1)
    [-inf, 0.0]
    """
    made = evaluation(profile, logits, history, params, prompt_length, uniforms, state, precision)
    return _log_probabilities(made.reported(which), made.situation.size)


def _log_probabilities(candidates: Candidates, size: int) -> list[float]:
    return candidates.as_row(log_softmax(candidates.logits, factor=candidates.factor), size)


def chain(
    links: Iterable[Use | Own],
    logits: AnyRow,
    history: AnyHistory = (),
    *,
    prompt_length: int = 0,
    uniforms: Uniforms = (),
    state: Mapping[str, Any] | None = None,
) -> Trace:
    """Apply steps to a row of logits, in their order, and return the trace.

    >>> links = [Use("temperature", temperature=0.5), Use("top_k", k=2)]
    >>> trace = chain(links, [1.0, 3.0, 2.0])
    >>> trace.row
    [-inf, 6.0, 4.0]
    >>> print(trace)
    step                          left  removed  changed  best token:logit  why
    temperature(temperature=0.5)  3     -        0 1 2    1:6 2:4 0:2       divided by 0.5
    top_k(k=2)                    2     0        -        1:6 2:4           keeps the 2 ...
    """
    row = ReadRow(read_logits(logits))
    tokens = read_history(history, len(row))
    prompt_length = read_prompt_length(prompt_length, len(tokens))
    state = {} if state is None else _read_state(state)
    situation = Situation(len(row), tokens, prompt_length, Given(uniforms), state)
    candidates, applied = Candidates(range(len(row)), row), []
    for link in links:
        given = link.values if isinstance(link, Use) else {}
        step = _step_of(link)
        values, before = step.read(given), candidates
        candidates = step.apply(before, situation, values)
        applied.append(Applied(step, values, given, before, candidates, len(row)))
    return Trace(tuple(applied))


def _step_of(link: Use | Own) -> Step:
    if isinstance(link, Use):
        if link.step not in STEPS:
            raise UnknownNameError("step", link.step, STEPS)
        return STEPS[link.step]
    if not callable(link):
        raise ParameterError("link", link, "must be a Use, or a function of a row and a history")
    name = getattr(link, "__name__", type(link).__name__)

    def apply(candidates: Candidates, situation: Situation, _: Values) -> Candidates:
        row = candidates.row(situation.size)
        changed = read_logits(link(row, list(situation.history)), f"the row of {name}")
        if len(changed) != len(row):
            raise RowError(f"the row of {name} must have {len(row)} numbers, got {len(changed)}")
        tokens = candidates.tokens
        own = changed if isinstance(tokens, range) else ReadRow(changed[token] for token in tokens)
        return Candidates(tokens, own)

    return Step(name, apply, why="a function of your own")
