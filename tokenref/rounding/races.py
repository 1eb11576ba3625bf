"""Whether a draw by noise has a proven margin, so that no rounding decides it.

A token is well ahead if its score, the logarithm of weight over wait, is greater by 2**-10 than
that of each token that is left. (The margin of the golden records; a sum of two logarithms
in 32 bits is off by a hundredth of it.) What is equal because weight and number are
equal goes to the lower id by the definition, in every arithmetic.
"""

from collections.abc import Mapping, Sequence
from math import inf, log, log1p
from typing import Any, Final, NamedTuple

from tokenref.floats import unpack
from tokenref.rounding.margins import UndecidedError
from tokenref.rules import choices_of

CLEAR: Final = 2.0**-10
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
    runners = _runners(request, noise)
    tokens = [out["token"]] if "token" in out else list(out["tokens"])
    ties_are_open = method in TORCH and len(tokens) > 1
    for token in tokens:
        if token not in runners:  # a tie at infinity that an impossible token won
            raise UndecidedError(f"token {token} is impossible")
        best = runners.pop(token)
        if best.score == -inf and _has_impossible(request):
            raise UndecidedError("all that are left wait for ever, like impossible tokens")
        for other, runner in runners.items():
            if best.score - runner.score >= CLEAR or (best.score, runner.score) == (inf, -inf):
                continue
            is_tie = best[1:] == runner[1:] or best.score == runner.score in {inf, -inf}
            if not is_tie or ties_are_open or other < token:
                raise UndecidedError(f"token {token} must be well ahead of {other}")


def _runners(request: Mapping[str, Any], noise: str) -> dict[int, Runner]:
    """Return score, weight and number of each possible token."""
    runners = {}
    rows = zip(_logarithms(request), unpack(request["uniforms"]), strict=True)
    for token, (logit, u) in enumerate(rows):
        if logit > -inf:
            wait = (inf if u == 0 else -log(u)) if noise == "-log u" else -log1p(-u)
            plus = inf if wait == 0 else -log(wait) if wait < inf else -inf
            runners[token] = Runner(logit + plus, logit, u)
    return runners


def _logarithms(request: Mapping[str, Any]) -> Sequence[float]:
    if "logits" in request:
        return unpack(request["logits"])
    return [log(weight) if weight > 0 else -inf for weight in unpack(request["probs"])]


def _has_impossible(request: Mapping[str, Any]) -> bool:
    return -inf in _logarithms(request)
