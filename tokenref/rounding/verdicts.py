"""How the answer to a question about a sampler is judged.

Golden records and campaigns use the same verdicts. If every named arithmetic gives the same
answer with a margin, the verdict is exact. Otherwise it lists the answers that they give, or
says by how many units numbers may be off. Where rounding decides so much that no record could be
made, an engine that differs is not wrong, and there is no verdict.
"""

from collections.abc import Mapping
from typing import Any, Final

from tokenref.answers import Answer, Ok
from tokenref.floats import type_of, unpack
from tokenref.record import ADAPTIVE_OPS, FILTER_OPS, ROW_OPS
from tokenref.rounding.adaptive import adaptive_verdict
from tokenref.rounding.chains import prove_decided, shares_verdict
from tokenref.rounding.margins import UndecidedError, filter_verdict
from tokenref.rounding.races import prove_race
from tokenref.rounding.rows import row_verdict, softmax_verdict
from tokenref.rules import RACE_PROFILES
from tokenref.verdicts import Close, Exact, Verdict

CLOSE: Final = Close(ulp=2)
"""Of a residual: a difference, a sum and a division."""


OTHER_LIBRARY: Final = 3
"""Units: of one exponential, of a sum of several, and of a logarithm or a quotient of these."""


def sampler_verdict(
    op: str, profile: str, request: Mapping[str, Any], right: Answer
) -> Verdict | None:
    """Return how an answer is judged, or None where rounding may decide it.

    >>> request = {"probs": {"f32": "3f0000003e8000003e800000"}, "params": {"k": 2}}
    >>> right = Ok({"keep": [0, 1]})
    >>> sampler_verdict("top_k", "standard", request, right)
    Exact()
    """
    try:
        return _verdict(op, profile, request, right)
    except (UndecidedError, ValueError, ArithmeticError):
        return None


def _verdict(op: str, profile: str, request: Mapping[str, Any], right: Answer) -> Verdict | None:
    """Return the verdict as a golden record's generator would; raise as it would."""
    if op in FILTER_OPS:
        return filter_verdict(op, profile, request)
    if op in ROW_OPS:
        return row_verdict(op, profile, request)
    if op in {"softmax", "logprobs"}:
        return _looser(softmax_verdict(op, request["logits"], type_of(request["logits"])))
    if op == "batch":
        return _of_rows(profile, request, right)
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


def _of_rows(profile: str, request: Mapping[str, Any], right: Answer) -> Verdict | None:
    """Return the verdict on a batch: exact if that on each of its rows is, else none."""
    op, rows = request["op"], request["rows"]
    outs = right.out["rows"] if isinstance(right, Ok) else [{}] * len(rows)
    verdicts = [
        sampler_verdict(op, profile, row, Ok(out)) for row, out in zip(rows, outs, strict=True)
    ]
    return Exact() if all(verdict == Exact() for verdict in verdicts) else None


def _of_chain(op: str, profile: str, request: Mapping[str, Any], right: Answer) -> Verdict:
    """Return the verdict on a chain that is decided. Raises `UndecidedError`."""
    prove_decided(profile, request)
    if op == "distribution" and isinstance(right, Ok):
        return shares_verdict(profile, request, unpack(right.out["probs"]))
    return Exact()


def _of_calls(profile: str, request: Mapping[str, Any], right: Answer) -> Verdict:
    """Return the verdict on calls each of which is decided. Raises `UndecidedError`."""
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
