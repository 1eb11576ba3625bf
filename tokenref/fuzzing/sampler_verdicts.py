"""How an answer about a sampler is judged, if rounding does not decide it.

The verdicts are those of the golden records, from the same functions: every
named arithmetic gives the same answer with a margin, or the answers that they
give are listed, or numbers may be so many units apart. Where a record could not be
made, an engine that differs is not wrong, and nothing is said.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.ambiguity import TooAmbiguousError, verdict_of
from authoring.cases.sampling.chains_asking import close_shares, prove_decided
from authoring.cases.sampling.rows_asking import verdict_of_row
from authoring.cases.sampling.rows_softmax import close_to
from tokenref.answers import Answer, Ok
from tokenref.floats import type_of, unpack
from tokenref.fuzzing.adaptive_verdicts import adaptive_verdict
from tokenref.fuzzing.question import Question
from tokenref.fuzzing.race_verdicts import prove_race
from tokenref.record import ADAPTIVE_OPS, FILTER_OPS, ROW_OPS
from tokenref.rules import RACE_PROFILES
from tokenref.verdicts import Close, Exact, Verdict

CLOSE: Final = Close(ulp=2)
"""Of a residual: a difference, a sum and a division."""


OTHER_LIBRARY: Final = 3
"""Units: of one exponential, of a sum of several, and of a logarithm or a quotient of these."""


def sampler_verdict(question: Question, right: Answer) -> Verdict | None:
    """Return how an answer is judged, or None where rounding may decide it.

    >>> from tokenref.subjects import SAMPLERS
    >>> request = {"probs": {"f32": "3f0000003e8000003e800000"}, "params": {"k": 2}}
    >>> right = Ok({"keep": [0, 1]})
    >>> sampler_verdict(Question("top_k", "standard", SAMPLERS, "", request), right)
    Exact()
    """
    try:
        return _verdict(question, right)
    except (TooAmbiguousError, PurposeError, ValueError, ArithmeticError):
        return None


def _verdict(question: Question, right: Answer) -> Verdict | None:
    """Return the verdict as a golden record's generator would; raise as it would."""
    op, profile, request = question.op, question.profile, question.request
    if op in FILTER_OPS:
        return verdict_of(op, profile, request)
    if op in ROW_OPS:
        return verdict_of_row(op, profile, request)
    if op in {"softmax", "logprobs"}:
        return _looser(close_to(op, request["logits"], type_of(request["logits"])))
    if op == "batch":
        return _of_rows(question, right)
    if op in {"chain", "distribution", "sample"}:
        return _of_chain(op, profile, request, right)
    if op == "sequence":
        return _of_calls(profile, request, right)
    if op in ADAPTIVE_OPS and isinstance(right, Ok):
        return adaptive_verdict(op, profile, request, right.out)
    if op == "draw" and profile in RACE_PROFILES and isinstance(right, Ok):
        prove_race(profile, request, right.out)
    return CLOSE if op == "residual" else Exact()


def _looser(verdict: Verdict) -> Verdict:
    """Return a verdict that lets another library's exponentials and logarithms pass, too."""
    if not isinstance(verdict, Close):
        return verdict
    return Close(ulp=verdict.ulp + OTHER_LIBRARY, floor=verdict.floor)


def _of_rows(question: Question, right: Answer) -> Verdict | None:
    """Return the verdict on a batch: exact if that on each of its rows is, else none."""
    op, rows = question.request["op"], question.request["rows"]
    outs = right.out["rows"] if isinstance(right, Ok) else [{}] * len(rows)
    verdicts = [
        sampler_verdict(replace(question, op=op, request=row), Ok(out))
        for row, out in zip(rows, outs, strict=True)
    ]
    return Exact() if all(verdict == Exact() for verdict in verdicts) else None


def _of_chain(op: str, profile: str, request: Mapping[str, Any], right: Answer) -> Verdict:
    """Return the verdict on a chain that is decided. Raises `PurposeError`."""
    prove_decided(profile, request)
    if op == "distribution" and isinstance(right, Ok):
        return close_shares(profile, request, unpack(right.out["probs"]))
    return Exact()


def _of_calls(profile: str, request: Mapping[str, Any], right: Answer) -> Verdict:
    """Return the verdict on calls each of which is decided. Raises `PurposeError`."""
    prompt = list(request["prompt"])
    history = list(prompt)
    answers = right.out["answers"] if isinstance(right, Ok) else [None] * len(request["calls"])
    for call, token in zip(request["calls"], answers, strict=True):
        if "sample" in call:
            asked = {
                **call["sample"],
                "params": request["params"],
                "history": list(history),
                "prompt_length": len(prompt),
            }
            prove_decided(profile, asked)
            history.append(token)
        elif "accept" in call:
            history.append(call["accept"])
        else:
            del history[len(prompt) + call.get("truncate", 0) :]
    return Exact()
