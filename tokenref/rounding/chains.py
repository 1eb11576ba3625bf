"""Whether rounding decides the answer of an engine's whole chain, and how it is judged.

A chain is *decided* if all of this holds:

- the answer is the same in exact calculation and with 32 bits after every operation;
- every filter on the way has a proven margin (`margins.is_decided`);
- the answer stays the same when all logits are scaled by 1 plus or minus 2**-20, and when every
  real parameter is moved by four units in the last place.

Some rows make equal logits meet a boundary exactly (`meets=True`). There all sums are exact, so
nothing is moved.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from sampling_ref.engines.profile import holds
from sampling_ref.errors import ParameterError
from sampling_ref.evaluation import Evaluation
from sampling_ref.row import Candidates
from tokenref.engines.reference_samplers import evaluation_of, with_functions
from tokenref.floats import nearest, type_of, units_apart, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rounding.filters import ROUNDED
from tokenref.rounding.margins import UndecidedError, is_decided
from tokenref.verdicts import Close, Exact, Verdict

SCALES: Final = (1 - 2.0**-20, 1 + 2.0**-20)
ULPS: Final = 4
LONGEST_MOVED: Final = 4096
"""Longer rows are proven by two arithmetics and their margins alone, to save time."""


class Asked(NamedTuple):
    """What a chain's answer is under one arithmetic."""

    keep: tuple[int, ...]
    stages: tuple[tuple[str, tuple[int, ...]], ...]
    token: int | None


def asked(profile: str, request: Mapping[str, Any], **other: Any) -> Asked:
    """Return an engine's answer to a question; `other` is what `evaluation_of` takes instead."""
    evaluated = evaluation_of(profile, request, **other)
    run = evaluated.run()
    stages = tuple((applied.step, _kept(applied.after)) for applied in run.applied)
    token = evaluated.draw(run) if "uniforms" in request and _draws(evaluated) else None
    return Asked(_kept(run.candidates), stages, token)


def _draws(evaluated: Evaluation) -> bool:
    """Return whether the random numbers are for a draw, and not for a step on the way."""
    return not any(
        stage.step == "xtc" and not holds(stage.off_if, evaluated.parameters)
        for stage in evaluated.profile.stages
    )


def _kept(candidates: Candidates) -> tuple[int, ...]:
    pairs = zip(candidates.tokens, candidates.logits, strict=True)
    return tuple(sorted(token for token, logit in pairs if logit != -inf))


def prove_decided(profile: str, request: Mapping[str, Any], *, meets: bool = False) -> None:
    """Raise `UndecidedError` if rounding decides the answer to a question.

    >>> question = {"logits": {"f32": "400000003f80000000000000"}, "history": [],
    ...     "prompt_length": 0, "params": {"top_p": {"f32": "3f400000"}}}
    >>> prove_decided("vllm", question)
    >>> question["logits"] = {"f32": "0000000000000000"}
    >>> prove_decided("vllm", {**question, "params": {"top_p": {"f32": "3f000000"}}})
    Traceback (most recent call last):
    tokenref.rounding.margins.UndecidedError: rounding decides: ...
    """
    right = asked(profile, request)
    for what, other in others(profile, request, meets=meets):
        if other != right:
            raise UndecidedError(f"rounding decides: {what} gives {other}, not {right}")
    if not meets:
        _check_margins(profile, request)


def others(profile: str, request: Mapping[str, Any], *, meets: bool) -> Iterator[tuple[str, Asked]]:
    """Yield what other arithmetics answer, and what is answered to numbers nearby."""
    logits = unpack(request["logits"])
    if all(nearest(logit, "f32") == logit for logit in set(logits)):
        yield "32 bits", asked(profile, request, precision="f32")
    if meets or len(logits) > LONGEST_MOVED:
        return
    for scale in SCALES:
        yield (
            f"scaled by {scale}",
            asked(profile, request, logits=[logit * scale for logit in logits]),
        )
    params = with_functions(unpack_parameters(request["params"]))
    for key, value in params.items():
        if not isinstance(value, float) or value in {0.0, 1.0}:
            continue
        for direction in (-1, 1):
            moved = nearest(value * (1 + direction * ULPS * 2.0**-23), "f32")
            try:
                yield f"{key} {moved!r}", asked(profile, request, params={**params, key: moved})
            except ParameterError:
                continue  # beyond the end of what is allowed


def _check_margins(profile: str, request: Mapping[str, Any]) -> None:
    """Raise `UndecidedError` unless every filter of the chain has a proven margin."""
    for applied in evaluation_of(profile, request).run().applied:
        values = dict(applied.values)
        logits = [float(logit) for logit in applied.before.true_logits()]
        if applied.step in ROUNDED and values.get("base") != "the whole row":
            values.pop("base", None)
            if applied.step == "xtc":
                values["uniform"] = (
                    0.5 if "uniforms" not in request else unpack(request["uniforms"])[0]
                )
            if not is_decided(logits, applied.step, values):
                raise UndecidedError(f"{applied.step} has no margin")


def shares_verdict(profile: str, request: Mapping[str, Any], right: Sequence[float]) -> Verdict:
    """Return how far probabilities may be off: as far as those of two arithmetics, and one.

    The two are the engine's own with 32 bits, and another that divides by a rounded sum.
    """
    dtype = type_of(request["logits"])
    apart = 0
    logits = unpack(request["logits"])
    if all(nearest(logit, "f32") == logit for logit in logits):
        evaluated = evaluation_of(profile, request, precision="f32")
        rounded = evaluated.probabilities(evaluated.run().candidates)
        for first, second in zip(right, rounded, strict=True):
            apart = max(apart, int(units_apart(first, nearest(float(second), dtype), dtype)))
    whole = all(number in {0.0, 0.25, 0.5, 1.0} for number in right)
    return Exact() if apart == 0 and whole else Close(ulp=2 * apart + 2)
