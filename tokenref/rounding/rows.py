"""How closely a changed row, a softmax or log-probabilities are judged.

Rows
    A number that needs no rounding must be right to the last bit. Elsewhere several roundings
    are legitimate: after every operation or once at the end, by division or by a reciprocal. The
    reference answers once exactly and once with 32 bits after every operation (`rounded_row`);
    an answer may be off by their largest distance plus one unit.

Softmax and log-probabilities
    Several ways to calculate with 32 bits are compared with the correctly rounded answer: the
    largest logit is subtracted first, or together with the logarithm of the sum; sums are formed
    forwards, backwards and in pairs; e**x is calculated directly or as a power of 2. An answer
    may be off by their largest distance plus one unit. Fast hardware may flush subnormal answers
    to zero, so all numbers below the smallest normal number count as equal.
"""

from collections.abc import Mapping, Sequence
from itertools import product, starmap
from math import exp, exp2, inf, log
from typing import Any, Final, NamedTuple

from sampling_ref import PROFILES, STEPS, SamplingError
from sampling_ref.numbers.plain32 import PLAIN32
from sampling_ref.random.sources import Given
from sampling_ref.row import Candidates, ReadRow, all_candidates
from sampling_ref.steps.step import Situation
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import (
    SamplerSession,
    evaluation_of,
    reported_row,
    with_functions,
)
from tokenref.floats import (
    SMALLEST_NORMAL,
    Type,
    floats,
    nearest,
    pack,
    type_of,
    units_apart,
    unpack,
)
from tokenref.questions.sampling import unpack_parameters
from tokenref.rounding.margins import UndecidedError
from tokenref.rules import choices_of
from tokenref.verdicts import Close, Exact, Verdict

IRRATIONAL: Final = frozenset({"lz", "dynamic_temperature"})
"""Steps with logarithms, whose last bits are the library's."""


NEAR: Final = 8.0
"""Up to this size the logarithm of the sum may be added to the largest logit."""

MOST_APART: Final = 64
"""Right programs that are farther apart, in units in the last place, make no test."""


def row_verdict(op: str, profile: str, request: Mapping[str, Any]) -> Verdict:
    """Return how closely a row is judged: exactly where nothing is rounded.

    >>> question = {"logits": {"f32": "3f800000"}, "history": [], "prompt_length": 0}
    >>> row_verdict("temperature", "standard", {**question, "params": {"temperature": 2}})
    Exact()
    >>> row_verdict("temperature", "standard", {**question, "params": {"temperature": 3}})
    Close(ulp=1, floor=UNSET)
    """
    session = SamplerSession(profile)
    answer = session.answer(op, request)
    if not isinstance(answer, Ok):
        return Exact()
    dtype = type_of(request["logits"])
    right = unpack(answer.out["logits"])
    rounded = rounded_row(op, profile, request)
    wide = {**request, "logits": pack(unpack(request["logits"]), "f64")}
    wider = session.answer(op, wide)
    assert isinstance(wider, Ok)  # noqa: S101 - the same question in more digits
    needs_no_rounding = unpack(wider.out["logits"]) == right and op not in IRRATIONAL
    if rounded is None:
        return Exact() if needs_no_rounding else Close(ulp=1)
    there = [nearest(number, dtype) for number in rounded]
    apart = max(units_apart(a, b, dtype) for a, b in zip(right, there, strict=True))
    if apart == 0 and (needs_no_rounding or all(number in {0.0, -inf} for number in right)):
        return Exact()
    if op in IRRATIONAL:
        apart = 2 * apart + 2  # a logarithm of another library is another few units away
    if apart >= MOST_APART:
        raise ValueError(f"{op} {profile}: roundings are {apart} units apart: {right}, {there}")
    return Close(ulp=int(apart) + 1)


def rounded_row(op: str, profile: str, request: Mapping[str, Any]) -> list[float] | None:
    """Return the row with 32 bits after every operation, or None where 32 bits do not do.

    >>> question = {"logits": {"f32": "3f800000"}, "history": [], "prompt_length": 0}
    >>> rounded_row("temperature", "standard", {**question, "params": {"temperature": 3}})
    [0.3333333432674408]
    """
    logits = unpack(request["logits"])
    if any(nearest(logit, "f32") != logit for logit in logits):
        return None
    try:
        candidates = _rounded(op, profile, request, logits)
    except (SamplingError, OverflowError):
        return None
    row = [-inf] * len(logits)
    for token, logit in zip(candidates.tokens, candidates.logits, strict=True):
        row[token] = -inf if logit == -inf else float(logit * candidates.factor)
    return row


def _rounded(
    op: str, profile: str, request: Mapping[str, Any], logits: Sequence[float]
) -> Candidates:
    if profile in PROFILES:
        return evaluation_of(profile, request, precision="f32").one_step(op)
    params = with_functions(unpack_parameters(request["params"]))
    history, prompt = tuple(request["history"]), request["prompt_length"]
    situation = Situation(len(logits), history, prompt, Given([]), {}, PLAIN32)
    values = STEPS[op].read({**params, **(choices_of(op, profile) or {})})
    return STEPS[op].apply(all_candidates(ReadRow(logits)), situation, values)


def softmax_verdict(op: str, logits: dict[str, str], dtype: Type) -> Verdict:
    """Return how far an answer may be off. Raises `UndecidedError`.

    >>> softmax_verdict("softmax", pack([0.0, 0.0]), "f32")
    Exact()
    >>> softmax_verdict("logprobs", pack([0.0, -60.0], "f32"), "f32")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tokenref.rounding.margins.UndecidedError: logprobs: ... rounding leaves nothing
    """
    answer = SamplerSession("standard").answer(op, {"logits": logits})
    if not isinstance(answer, Ok):
        return Exact()
    right = unpack(answer.out["probs" if op == "softmax" else "logprobs"])
    row = unpack(logits)
    apart, floor = 0, SMALLEST_NORMAL[dtype]
    for way in WAYS:
        if way.together and op == "logprobs" and abs(max(row)) > NEAR:
            continue  # what is added to a large logit is lost: no right way
        other = _probabilities(op, row, dtype, way)
        for first, second in zip(right, other, strict=True):
            there = nearest(second, dtype)
            if abs(first) <= floor and abs(there) <= floor:
                continue
            apart = max(apart, int(units_apart(first, there, dtype)))
    if apart > MOST_APART or (op == "logprobs" and 0.0 in right):
        # A nearly certain token: floats make plus zero of a logarithm that is a little below 0.
        raise UndecidedError(f"{op}: of the number nearest to zero rounding leaves nothing")
    if apart == 0 and all(number in {0.0, -inf, 0.5, 0.25, 1.0} for number in right):
        return Exact()
    if not any(0 < abs(number) <= floor for number in right):
        return Close(ulp=apart + 1)
    return Close(ulp=apart + 1, floor=floats([floor], "f64" if floor < 2.0**-149 else "f32"))


def report_verdict(op: str, profile: str, request: Mapping[str, Any]) -> Verdict:
    """Return how far reported log-probabilities may be off. Raises `UndecidedError`.

    >>> request = {"logits": {"f32": "0000000000000000"}, "steps": [], "token": 0, "n": 1}
    >>> report_verdict("top_logprobs", "standard", request)
    Close(ulp=1, floor=UNSET)
    """
    if op == "prompt_logprobs":
        rows = request["rows"][: len(request["tokens"]) - 1]
    else:
        row = reported_row(choices_of(op, profile) or {}, request)
        rows = [pack(row, type_of(request["logits"]))]
    verdicts = [softmax_verdict("logprobs", row, type_of(row)) for row in rows]
    close = [verdict for verdict in verdicts if isinstance(verdict, Close)]
    return max(close, key=lambda verdict: verdict.ulp) if close else Exact()


LOG2_E: Final = 1.4426950408889634
ADDING: Final = ("forwards", "backwards", "in pairs")


class Way(NamedTuple):
    """One way to calculate, with every operation rounded."""

    adding: str
    together: bool
    """Whether the largest logit is added to the logarithm, or the sum inverted first."""

    by_two: bool
    """Whether e**x is 2**(x log2 e), as kernels on graphics cards have it."""


WAYS: Final = tuple(starmap(Way, product(ADDING, (False, True), (False, True))))


def _sum(weights: Sequence[float], adding: str, dtype: Type) -> float:
    if adding == "in pairs":
        if len(weights) == 1:
            return weights[0]
        half = len(weights) // 2
        return nearest(
            _sum(weights[:half], adding, dtype) + _sum(weights[half:], adding, dtype), dtype
        )
    total = 0.0
    for weight in reversed(weights) if adding == "backwards" else weights:
        total = nearest(total + weight, dtype)
    return total


def _probabilities(op: str, row: Sequence[float], wanted: Type, way: Way) -> list[float]:
    """Return probabilities or their logarithms with every operation rounded, 16 bits by 32."""
    dtype: Type = "f64" if wanted == "f64" else "f32"
    largest = max(row)
    differences = [nearest(logit - largest, dtype) if logit > -inf else -inf for logit in row]
    if way.by_two:
        turn = nearest(LOG2_E, dtype)
        weights = [
            nearest(exp2(nearest(difference * turn, dtype)), dtype) for difference in differences
        ]
    else:
        weights = [nearest(exp(difference), dtype) for difference in differences]
    total = _sum(weights, way.adding, dtype)
    if op == "softmax":
        if way.together:
            return [nearest(weight * nearest(1 / total, dtype), dtype) for weight in weights]
        return [nearest(weight / total, dtype) for weight in weights]
    of_sum = nearest(log(total), dtype)
    if way.together:
        whole = nearest(largest + of_sum, dtype)
        return [nearest(logit - whole, dtype) if logit > -inf else -inf for logit in row]
    return [nearest(difference - of_sum, dtype) for difference in differences]
