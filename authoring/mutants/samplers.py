"""Decorators for mutants of samplers, and ways to change questions and answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeAlias

from authoring.mutants.mutant import Mutant, Witness, mutant
from tokenref.answers import Answer, Ok
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import nearest, pack, type_of, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters
from tokenref.rules import choices_of, is_open, points, rule_name
from tokenref.subjects import SAMPLERS

Request: TypeAlias = Mapping[str, Any]
SamplerHandler: TypeAlias = Callable[[SamplerSession, str, Request], Answer]
"""Answers a request, given a session of the reference."""


@dataclass(frozen=True)
class SamplersWithHandler(ReferenceEngine):
    """A reference whose requests to samplers go through `handle`."""

    handle: SamplerHandler = SamplerSession.answer

    def load_profile(self, profile: str) -> "SamplerWithHandler":
        """Load a profile."""
        return SamplerWithHandler(SamplerSession(profile, self.sampler_tools), self.handle)


@dataclass(frozen=True)
class SamplerWithHandler:
    """A session of `SamplersWithHandler`."""

    right: SamplerSession
    handle: SamplerHandler

    def answer(self, op: str, request: Request) -> Answer:
        """Answer one request."""
        return self.handle(self.right, op, request)


@dataclass(frozen=True)
class Remembering(SamplerSession):
    """A reference that knows some answers already: most mutants ask first what is right."""

    known: Mapping[tuple[str, int], Answer] = field(default_factory=dict)
    """By the operation and the identity of the request."""

    def answer(self, op: str, request: Request) -> Answer:
        """Answer one request."""
        known = self.known.get((op, id(request)))
        return super().answer(op, request) if known is None else known


# ---- witnesses


def question(op: str, request: Request, *, profile: str = "standard") -> Witness:
    """Return the witness "this question to a sampler".

    >>> question("greedy", {"logits": {"f32": "3f000000"}}).profile
    'standard'
    """
    return Witness(SAMPLERS, op, request, rules=profile)


def row_request(
    logits: Sequence[float], history: Sequence[int] = (), prompt_length: int = 0, **params: Any
) -> dict[str, Any]:
    """Return the question about a row.

    >>> row_request([0.5], [0], penalty=2.0)["history"]
    [0]
    """
    return {
        "logits": pack(logits),
        "history": list(history),
        "prompt_length": prompt_length,
        "params": pack_parameters(params),
    }


# ---- what a wrong function does


def answering(
    ops: str | Sequence[str], request: Request, *, op: str = "", profile: str = "standard"
) -> Callable[[SamplerHandler], Mutant]:
    """Return a decorator: the function answers questions, given a session of the reference.

    `ops` are the operations whose answers may differ. The request, about `op` or the first of
    them, shows the mistake.
    """
    names = [ops] if isinstance(ops, str) else ops
    return mutant(
        question(op or names[0], request, profile=profile),
        lambda label, wrong: SamplersWithHandler(label, handle=wrong),
        ops=names,
    )


def other_rule(
    session: SamplerSession, op: str, request: Request, point: str, choices: Mapping[Any, Any]
) -> Answer:
    """Answer by another rule: at one point another choice than was asked for, if it is open."""
    asked = choices_of(op, session.profile)
    allowed = points(op).get(point)
    if asked is None or allowed is None:
        return session.answer(op, request)
    choice = asked.get(point, allowed[0])
    other = {**asked, point: choices.get(choice, choice)}
    name = rule_name(op, **{at: made for at, made in other.items() if is_open(op, at, other)})
    return SamplerSession(name, session.tools).answer(op, request)


def other_question(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> SamplerHandler:
    """Answer another question, given by the parts that differ."""

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok):
            return right  # what is refused is refused
        changes = change(dict(request))
        return session.answer(op, {**request, **changes}) if changes else right

    return handle


def other_parameters(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> SamplerHandler:
    """Answer with other parameters, given by those that differ."""

    @wraps(change)
    def changed(request: dict[str, Any]) -> Mapping[str, Any]:
        given = unpack_parameters(request["params"])
        return {"params": pack_parameters({**given, **change(given)})}

    return other_question(changed)


def other_answer(change: Callable[[dict[str, Any], Request], Mapping[str, Any]]) -> SamplerHandler:
    """Change the right answer, knowing the request. What is refused is still refused."""

    @wraps(change)
    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        return Ok(change(dict(right.out), request)) if isinstance(right, Ok) else right

    return handle


def other_row(
    change: Callable[[list[float], list[float], Request], Sequence[float]],
) -> SamplerHandler:
    """Change the row that comes out, knowing the row that went in."""

    @wraps(change)
    def changed(out: dict[str, Any], request: Request) -> Mapping[str, Any]:
        ((name, after),) = out.items()
        dtype = type_of(after)
        row = change(unpack(request["logits"]), unpack(after), request)
        return {name: pack([nearest(number, dtype) for number in row], dtype)}

    return other_answer(changed)


def twice(session: SamplerSession, op: str, request: Request) -> Answer:
    """Apply a step to its own output."""
    first = session.answer(op, request)
    if not isinstance(first, Ok):
        return first
    second = session.answer(op, {**request, "logits": first.out["logits"]})
    return second if isinstance(second, Ok) else first


def ignored(session: SamplerSession, op: str, request: Request) -> Answer:
    """Skip a step."""
    right = session.answer(op, request)
    logits = request["logits"]
    return Ok({"logits": pack(unpack(logits), type_of(logits))}) if isinstance(right, Ok) else right
