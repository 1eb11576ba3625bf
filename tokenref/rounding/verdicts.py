"""How the answer to a question about a sampler is judged.

Golden records and campaigns use the same verdicts. If every named arithmetic gives the same
answer with a margin, the verdict is exact. Otherwise it lists the answers that they give, or
says by how many units numbers may be off. Where rounding decides so much that no record could be
made, an engine that differs is not wrong, and there is no verdict.

A draw by noise is decided if the score of the drawn token, the logarithm of weight over wait, is
greater by 2**-10 than the score of every token that is left. This is the margin of the golden
records; a sum of two logarithms in 32 bits is off by a hundredth of it. If two scores are equal
because weights and random numbers are equal, the lower id wins by definition, in every
arithmetic.
"""

from collections.abc import Mapping, Sequence
from math import inf, log, log1p
from typing import Any, Final, NamedTuple

from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, type_of, unpack
from tokenref.record import ADAPTIVE_OPS, FILTER_OPS, ROW_OPS
from tokenref.rounding.adaptive import adaptive_verdict
from tokenref.rounding.chains import prove_decided, shares_verdict
from tokenref.rounding.margins import UndecidedError, filter_verdict
from tokenref.rounding.rows import report_verdict, row_verdict, softmax_verdict
from tokenref.rules import RACE_PROFILES, choices_of
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
    if op in {"softmax", "logprobs", "top_logprobs", "prompt_logprobs"}:
        return _looser(_of_logarithms(op, profile, request))
    if op == "batch":
        return _of_rows(profile, request, right)
    if op in {"chain", "distribution", "sample"}:
        return _of_chain(op, profile, request, right)
    if op == "sequence":
        return _of_calls(profile, request)
    if op in ADAPTIVE_OPS and isinstance(right, Ok):
        return adaptive_verdict(op, profile, request, right.out)
    if op == "draw" and profile in RACE_PROFILES and isinstance(right, Ok):
        prove_race(profile, request, right.out)
    if op == "speculative_steps":
        prove_steady(profile, request, right)
    return CLOSE if op == "residual" else Exact()


def prove_steady(profile: str, request: Mapping[str, Any], right: Answer) -> None:
    """Raise `UndecidedError` if a random number 2**-8 less or more changes what comes out.

    Probabilities after a softmax are irrational, so no number may be near to one of them.
    """
    session = SamplerSession(profile)
    numbers = unpack(request["uniforms"])
    for place, number in enumerate(numbers):
        for moved in (number - 2.0**-8, number + 2.0**-8):
            given = [*numbers[:place], min(max(moved, 0.0), 1 - 2.0**-24), *numbers[place + 1 :]]
            asked = {**request, "uniforms": pack(given, "f64")}
            if session.answer("speculative_steps", asked) != right:
                raise UndecidedError(f"random number {place} is too near to where tokens change")


def _of_logarithms(op: str, profile: str, request: Mapping[str, Any]) -> Verdict:
    if op in {"softmax", "logprobs"}:
        return softmax_verdict(op, request["logits"], type_of(request["logits"]))
    return report_verdict(op, profile, request)


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


def _of_calls(profile: str, request: Mapping[str, Any]) -> Verdict:
    """Return the verdict on calls each of which is decided. Raises `UndecidedError`."""
    prompt = list(request["prompt"])
    history = list(prompt)
    for call in request["calls"]:
        if "sample" in call:
            asked = {
                **call["sample"],
                "params": request["params"],
                "history": list(history),
                "prompt_length": len(prompt),
            }
            prove_decided(profile, asked)  # a token that is drawn is not remembered
        elif "accept" in call:
            history.append(call["accept"])
        else:
            del history[len(prompt) + call.get("truncate", 0) :]
    return Exact()


# ---- races

CLEAR: Final = 2.0**-10
"""The least lead of the best score over the next, in natural units."""

TORCH: Final = frozenset({"torch race", "torch walk"})


class Runner(NamedTuple):
    """A token in a race."""

    score: float
    weight: float
    number: float


def prove_race(profile: str, request: Mapping[str, Any], out: Mapping[str, Any]) -> None:
    """Raise `UndecidedError` if another arithmetic may draw another token.

    >>> asked = {"probs": {"f32": "3f0000003f000000"}, "uniforms": {"f32": "3f0000003e800000"}}
    >>> prove_race("method.exponential-race", asked, {"token": 0})
    """
    chosen = choices_of("draw", profile) or {}
    method = chosen["method"]
    if method == "torch walk":
        return  # weights are dyadic: their sums and shares are exact
    noise = chosen.get("noise", "-log u") if method not in TORCH else "-log(1-u)"
    left = runners(request, noise)
    tokens = [out["token"]] if "token" in out else list(out["tokens"])
    ties_are_open = method in TORCH and len(tokens) > 1
    for token in tokens:
        if token not in left:  # a tie at infinity that an impossible token won
            raise UndecidedError(f"token {token} is impossible")
        best = left.pop(token)
        if best.score == -inf and -inf in _logarithms(request):
            raise UndecidedError("all that are left wait for ever, like impossible tokens")
        for other, runner in left.items():
            if best.score - runner.score >= CLEAR or (best.score, runner.score) == (inf, -inf):
                continue
            is_tie = best[1:] == runner[1:] or best.score == runner.score in {inf, -inf}
            if not is_tie or ties_are_open or other < token:
                raise UndecidedError(f"token {token} must be well ahead of {other}")


def runners(request: Mapping[str, Any], noise: str) -> dict[int, Runner]:
    """Return score, weight and number of each possible token.

    >>> question = {"logits": {"f32": "0000000000000000"}, "uniforms": {"f32": "3f0000003e800000"}}
    >>> {token: round(runner.score, 3) for token, runner in runners(question, "-log u").items()}
    {0: 0.367, 1: -0.327}
    """
    found = {}
    rows = zip(_logarithms(request), unpack(request["uniforms"]), strict=True)
    for token, (logit, u) in enumerate(rows):
        if logit > -inf:
            wait = (inf if u == 0 else -log(u)) if noise == "-log u" else -log1p(-u)
            plus = inf if wait == 0 else -log(wait) if wait < inf else -inf
            found[token] = Runner(logit + plus, logit, u)
    return found


def _logarithms(request: Mapping[str, Any]) -> Sequence[float]:
    if "logits" in request:
        return unpack(request["logits"])
    return [log(weight) if weight > 0 else -inf for weight in unpack(request["probs"])]
