"""The reference's answers about samplers.

A profile is a rule (`tokenref.rules`) or a real engine's (`sampling_ref.PROFILES`).
Decisions are exact: numbers are rounded once, to the type of the question, when
the answer is written down.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import sampling_ref
from sampling_ref import (
    EXACT,
    PROFILES,
    STEPS,
    WEIGHTS,
    HistoryError,
    ParameterError,
    Profile,
    RandomNumberError,
    RowError,
    UnknownNameError,
    Use,
)
from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.draws.reported import Report, reported, reported_of_prompt
from sampling_ref.evaluation import Evaluation, chain, evaluation
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.numbers.softmax import log_softmax, softmax
from sampling_ref.parameters import read_history
from sampling_ref.random.sources import read_uniforms
from sampling_ref.row import Candidates
from sampling_ref.speculative.chain import processed_targets
from sampling_ref.steps.greedy import greedy_token
from sampling_ref.tracing import Applied
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.reference_draws import DRAWS
from tokenref.floats import all_nearest, cut_floats, pack, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.record import FILTER_OPS, OWN_DRAW_OPS, ROW_OPS
from tokenref.rules import Choices, choices_of

Request: TypeAlias = Mapping[str, Any]

FUNCTIONS: Final = frozenset({"allowed_after", "prefix_allowed_tokens_fn"})
"""Parameters that are functions of the history; records contain a map of histories."""

FilterFunction: TypeAlias = Callable[..., frozenset[int]]


def _filter(op: str, numbers: Numbers) -> FilterFunction:
    """Return a filter as a function from a row to the ids that it keeps."""
    rule = getattr(sampling_ref, op)

    def keep(row: Any, **values: Any) -> frozenset[int]:
        return frozenset(rule(row, numbers=numbers, **values).kept)

    return keep


_FILTERS: Final[Mapping[str, FilterFunction]] = MappingProxyType(
    {op: _filter(op, WEIGHTS) for op in FILTER_OPS if op != "top_n_sigma"}
    | {f"{op}_logits": _filter(op, EXACT) for op in FILTER_OPS}
)


@dataclass(frozen=True)
class SamplerTools:
    """The functions that the reference samples with. A mutant replaces some of them."""

    filters: Mapping[str, FilterFunction] = field(default_factory=lambda: _FILTERS)
    """`top_p` for weights, `top_p_logits` for logits, and so on."""

    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)


@dataclass(frozen=True)
class SamplerSession:
    """The reference with a profile selected.

    >>> session = SamplerSession("standard")
    >>> session.answer("top_k", {"probs": {"f32": "3e8000003f000000"}, "params": {"k": 1}})
    Ok(out={'keep': [1]})
    """

    profile: str
    tools: SamplerTools = field(default_factory=SamplerTools)

    def answer(self, op: str, request: Request) -> Answer:
        try:
            return self._answer(op, request)
        except ParameterError as error:
            return Refused("INVALID_PARAMETER", str(error))
        except RowError as error:
            return Refused("INVALID_ROW", str(error))
        except HistoryError as error:
            return Refused("INVALID_HISTORY", str(error))
        except RandomNumberError as error:
            return Refused("INVALID_UNIFORM", str(error))
        except UnknownNameError as error:
            return Unsupported(str(error))

    def _answer(self, op: str, request: Request) -> Answer:
        if op == "batch":
            return self._batch(request)
        if op in OWN_DRAW_OPS:
            return Unsupported("only draws with given random numbers")
        is_engine = self.profile in self.tools.profiles
        if is_engine and op not in {"softmax", "logprobs"}:  # all mean the same by these two
            return self._answer_of_engine(op, request)
        choices = {} if is_engine else choices_of(op, self.profile)
        if choices is None and op not in {"random_words", "uniforms"}:
            return Unsupported(f"has no rule {self.profile!r} of {op}")
        if op in DRAWS:
            named = {"name": self.profile} if choices is None else choices
            return Ok(DRAWS[op](named, request))
        assert choices is not None  # noqa: S101 - the two that have other names were just answered
        return Ok(self._by_rule(op, choices, request))

    def _batch(self, request: Request) -> Answer:
        answers = []
        known: dict[str, Answer] = {}  # large batches repeat their rows
        without = {"stages"} if request["op"] == "steps" else set[str]()  # of a fused kernel
        for number, row in enumerate(request["rows"]):
            key = repr(row)
            if key not in known:
                try:
                    known[key] = self.answer(request["op"], _without_padding(row, request))
                except ParameterError as error:
                    known[key] = Refused("INVALID_PARAMETER", str(error))
            answer = known[key]
            if isinstance(answer, Refused):
                return Refused(answer.code, f"row {number}: {answer.message}")
            if not isinstance(answer, Ok):
                return answer
            answers.append({part: out for part, out in answer.out.items() if part not in without})
        return Ok({"rows": answers * request.get("calls", 1)})

    # ---- rules, apart from any engine

    def _by_rule(self, op: str, choices: Choices, request: Request) -> Mapping[str, Any]:
        if op in FILTER_OPS:
            return self._filtered(op, choices, request)
        if op in ROW_OPS:
            return self._row_by_rule(op, choices, request)
        by_name: Mapping[str, Callable[[Choices, Request], Mapping[str, Any]]] = {
            "steps": self._steps,
            "speculative_steps": self._speculative_steps,
            "top_logprobs": self._top_logprobs,
            "prompt_logprobs": self._prompt_logprobs,
        }
        if op in by_name:
            return by_name[op](choices, request)
        logits = unpack(request["logits"])
        dtype = type_of(request["logits"])
        if op == "softmax":
            return {"probs": pack(all_nearest(softmax(logits), dtype), dtype)}
        if op == "logprobs":
            return {"logprobs": pack(all_nearest(log_softmax(logits), dtype), dtype)}
        if op == "greedy":
            return {"token": greedy_token(logits, **choices)}
        raise UnknownNameError("operation of a rule", op, [*FILTER_OPS, *ROW_OPS])

    def _filtered(self, op: str, choices: Choices, request: Request) -> Mapping[str, Any]:
        values = {**unpack_parameters(request["params"]), **choices}
        STEPS[op].read(values)  # raises an error for a parameter that is missing or unknown
        values.pop("base", None)  # what p refers to, where a chain has removed something before
        if "uniforms" in request:
            values["uniform"] = read_uniforms(unpack(request["uniforms"]), 1)[0]
        name = op if "probs" in request else f"{op}_logits"
        if name not in self.tools.filters:
            raise UnknownNameError("filter of probabilities", op, self.tools.filters)
        row = unpack(request["probs" if "probs" in request else "logits"])
        return {"keep": sorted(self.tools.filters[name](row, **values))}

    def _row_by_rule(self, op: str, choices: Choices, request: Request) -> Mapping[str, Any]:
        use = Use(op, **with_functions(unpack_parameters(request["params"])), **choices)
        trace = chain(
            [use],
            unpack(request["logits"]),
            request["history"],
            prompt_length=request["prompt_length"],
        )
        return self._logits(op, trace.steps[-1].after, request["logits"])

    def _top_logprobs(self, choices: Choices, request: Request) -> Mapping[str, Any]:
        own = {point: choice for point, choice in choices.items() if point != "of"}
        row = reported_row(choices, request)
        return self._report(reported(row, request["token"], request["n"], **own), request["logits"])

    def _prompt_logprobs(self, choices: Choices, request: Request) -> Mapping[str, Any]:
        given = [unpack(row) for row in request["rows"]]
        reports = reported_of_prompt(given, request["tokens"], request["n"], **choices)
        pairs = zip([None, *request["rows"]], reports, strict=False)
        return {"rows": [each and self._report(each, row) for row, each in pairs]}

    def _report(self, report: Report, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a report in the type of its row."""
        dtype = type_of(row)
        logprobs = pack(all_nearest(report.logprobs, dtype), dtype)
        return {"tokens": [*report.tokens], "logprobs": logprobs, "rank": report.rank}

    def _speculative_steps(self, choices: Choices, request: Request) -> Mapping[str, Any]:
        """Answer as `speculative` does for the target's rows after the steps."""
        uses, prompt_length = uses_of(request["steps"]), request["prompt_length"]
        size = min((len(unpack(row)) for row in request["target"]), default=0)
        tokens = read_history(request["tokens"], size, "tokens")
        rows = processed_targets(
            [unpack(row) for row in request["target"]],
            tokens,
            lambda row, seen: chain(uses, row, seen, prompt_length=prompt_length).row,
            request["history"],
        )
        targets = [pack(row, "f64") for row in rows]
        asked = {name: request[name] for name in ("draft", "tokens", "uniforms")}
        return DRAWS["speculative"](choices, {**asked, "target": targets, "params": {}})

    def _steps(self, choices: Choices, request: Request) -> Mapping[str, Any]:
        trace = chain(
            uses_of(request["steps"]),
            unpack(request["logits"]),
            request["history"],
            prompt_length=request["prompt_length"],
            uniforms=unpack(request["uniforms"]) if "uniforms" in request else (),
        )
        after = trace.steps[-1].after
        out = _chain(after, trace.steps)
        if "draw" not in request:
            return out
        by_id = sorted(range(len(after.tokens)), key=after.tokens.__getitem__)
        (number,) = read_uniforms(unpack(request["draw"]), 1)
        return {**out, "token": inverse_cdf(after.at(by_id), number)}

    # ---- real engines

    def _answer_of_engine(self, op: str, request: Request) -> Answer:
        if op == "sequence":
            return Ok(self._sequence(request))
        if "logits" not in request:
            return Unsupported(f"the profile {self.profile} needs logits")
        state = {
            name: unpack(numbers)[0] if name == "mu" else tuple(unpack(numbers))
            for name, numbers in request.get("state", {}).items()
        }
        evaluated = evaluation_of(self.tools.profiles[self.profile], request, state=state)
        if op == "chain":
            run = evaluated.run()
            return Ok(_chain(run.candidates, run.applied))
        if op == "distribution":
            probs = evaluated.probabilities(evaluated.run().candidates)
            dtype = type_of(request["logits"])
            return Ok({"probs": pack(all_nearest(probs, dtype), dtype)})
        if op == "sample":
            return Ok({"token": evaluated.draw(evaluated.run())})
        if op in FILTER_OPS or op in ROW_OPS:
            candidates = evaluated.one_step(op)
            if op in FILTER_OPS:
                return Ok({"keep": sorted(candidates.kept)})
            return Ok(self._logits(op, candidates, request["logits"]))
        return Unsupported(f"the profile {self.profile} has steps and chains, but no {op}")

    def _sequence(self, request: Request) -> Mapping[str, Any]:
        parameters = unpack_parameters(request["params"])

        def fresh(accepted: Sequence[int]) -> sampling_ref.Sampler:
            """Return a sampler that remembers only these tokens."""
            made = sampling_ref.Sampler(self.profile, prompt=request["prompt"], **parameters)
            for token in accepted:
                made.accept(token)
            return made

        sampler, accepted = fresh([]), list[int]()
        answers: list[int | None] = []
        for call in request["calls"]:
            answers.append(None)
            if "sample" in call:
                given = call["sample"]
                answers[-1] = sampler.sample(unpack(given["logits"]), unpack(given["uniforms"]))
            elif "accept" in call:
                sampler.accept(call["accept"])
                accepted.append(call["accept"])
            else:
                accepted = accepted[: call.get("truncate", 0)]
                sampler = fresh(accepted)
        return {"answers": answers}

    def _logits(self, op: str, candidates: Candidates, logits: Mapping[str, Any]) -> dict[str, Any]:
        """Return candidates as a row in the type of the given one, each number rounded once.

        A rational zero has no sign: a zero that was multiplied, or had nothing taken from
        it, keeps the sign that it was given. Smoothing makes a minus zero, the negative of
        a square.
        """
        given, dtype = unpack(logits), type_of(logits)
        numbers = candidates.logits
        if candidates.factor == 1 and {*map(type, numbers)} <= {float} and 0.0 not in numbers:
            return {"logits": pack(all_nearest(candidates.row(len(given)), dtype), dtype)}
        row: list[Any] = [-inf] * len(given)
        scaled: dict[Any, Any] = {}  # a long row may have few different logits
        for token, logit in zip(candidates.tokens, numbers, strict=True):
            if candidates.factor == 1 and isinstance(logit, float) and logit:
                row[token] = logit
                continue
            if logit not in scaled:
                finite = logit not in {inf, -inf}
                scaled[logit] = Fraction(logit) * candidates.factor if finite else logit
            exact = row[token] = scaled[logit]
            if exact == 0:
                has_sign = isinstance(logit, Fraction) and given[token] == 0
                row[token] = given[token] if has_sign else float(logit)
                if op == "smoothing":
                    row[token] = -0.0
        return {"logits": pack(all_nearest(row, dtype), dtype)}


def uses_of(steps: Iterable[Mapping[str, Any]]) -> list[Use]:
    """Return the steps of a question with their parameters."""
    return [
        Use(each["step"], **with_functions(unpack_parameters(each["params"]))) for each in steps
    ]


def reported_row(choices: Choices, request: Request) -> list[float]:
    """Return the row of which log-probabilities are reported: as it came, or after the steps."""
    logits = unpack(request["logits"])
    if choices.get("of") != "processed" or not request["steps"]:
        return logits
    return chain(uses_of(request["steps"]), logits).row


def _without_padding(row: Request, batch: Request) -> Request:
    """Return the question about a row of a batch, cut to the batch's `vocab_size`."""
    if "vocab_size" not in batch:
        return row
    size = batch["vocab_size"]
    cut = {name: cut_floats(row[name], size) for name in ("probs", "logits") if name in row}
    if any(len(unpack(part)) < size for part in cut.values()):
        raise ParameterError("vocab_size", size, "must be at most the length of the row")
    return {**row, **cut}


def evaluation_of(
    profile: Profile | str,
    request: Request,
    *,
    logits: Sequence[float] | None = None,
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> Evaluation:
    """Return the evaluation of a question, perhaps with other logits or parameters.

    `options` are a precision and a state; that of the question is not taken.
    """
    return evaluation(
        profile,
        unpack(request["logits"]) if logits is None else logits,
        request.get("history", ()),
        with_functions(unpack_parameters(request["params"])) if params is None else params,
        prompt_length=request.get("prompt_length", 0),
        uniforms=unpack(request["uniforms"]) if "uniforms" in request else (),
        **options,
    )


def with_functions(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with each map of histories replaced by a function of the history.

    A history that the map does not hold allows nothing.

    >>> with_functions({"allowed_after": {(1, 2): [0, 3]}})["allowed_after"]([1, 2])
    [0, 3]
    """
    return {
        name: (lambda history, table=value: table.get(tuple(history), []))
        if name in FUNCTIONS and isinstance(value, Mapping)
        else value
        for name, value in parameters.items()
    }


def _chain(left: Candidates, applied: Sequence[Applied]) -> Mapping[str, Any]:
    stages = [{"step": each.step, "keep": sorted(each.kept)} for each in applied]
    return {"keep": sorted(left.kept), "stages": stages}
