"""How a step of mirostat or adaptive-p is judged, if rounding does not decide its token.

The token must be the same with logits, numbers and thresholds a little off: by 2**-10, which
is hundreds of times what 32 bits lose in rows as short as these. Where all possible logits are
equal and a power of two many, shares and surprises are exact, so that nothing is moved.

The new state is exact there, if all steps to it are. Elsewhere it may be off by what 32 bits
lose: a share by one unit for each token, each unit of the logit's distance from the best, and
four more; a product, a sum and the state itself by one each.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil, exp, inf, log, log2, ulp
from typing import Any, Final

from sampling_ref.steps.adaptive_p import PastProbabilities, adaptive_p, adaptive_p_start
from sampling_ref.steps.mirostat_1 import mirostat_1
from sampling_ref.steps.mirostat_2 import mirostat_2
from tokenref.floats import nearest, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rounding.margins import UndecidedError
from tokenref.rules import all_choices, choices_of
from tokenref.verdicts import Close, Exact

MARGIN: Final = 2.0**-10
UNIT: Final = 2.0**-24
LEAST: Final = 8
"""Units that golden records allow."""

MOST: Final = 256
"""Units beyond which a check would find nothing."""


def adaptive_verdict(
    op: str, profile: str, request: Mapping[str, Any], out: Mapping[str, Any]
) -> Exact | Close:
    """Return the verdict. Raises `UndecidedError` where rounding decides.

    >>> row, state = {"f32": "00000000" * 4}, {"mu": {"f32": "40000000"}}
    >>> asked = {"logits": row, "params": {"tau": 2, "eta": 1}, "state": state,
    ...     "uniforms": {"f32": "3f000000"}}
    >>> adaptive_verdict("mirostat_2", "standard", asked, {"token": 1, "state": state})
    Exact()
    """
    row, params = unpack(request["logits"]), unpack_parameters(request["params"])
    (u,) = unpack(request["uniforms"])
    token = out["token"]
    if op == "adaptive_p":
        past = _past(request, params)
        target, decay = params["target"], params["decay"]
        candidates = adaptive_p(row, past, target=target, decay=decay)
        changed = [float(logit) for logit in candidates.logits]
        _prove_draw([place for place in range(len(row)) if row[place] > -inf], changed, u)
        steps = _steps_of_adaptive_p(row, past, params, token)
    else:
        chosen = dict(all_choices(op, choices_of(op, profile) or {}))
        whose = chosen.pop("whose")
        state = request["state"]
        mu = unpack(state["mu"])[0] if "mu" in state else 2 * params["tau"]
        kept = _kept(op, row, mu, params, chosen)
        falling = sorted(kept, key=lambda place: (-row[place], place))
        _prove_draw(falling, row, u)
        among = kept if whose == "kept" else [at for at, logit in enumerate(row) if logit > -inf]
        steps = _steps_of_mirostat(row, list(among), mu, params, token)
    (numbers,) = out["state"].values()
    if _is_even(row) and all(nearest(float(step), "f32") == step for step in steps):
        return Exact()
    if type_of(numbers) != "f32":
        raise UndecidedError("the state has more digits than 32 bits give")
    return Close(ulp=_units(row, token, steps, unpack(numbers)))


# ---- what is kept, what is drawn


def _kept(
    op: str, row: list[float], mu: float, params: Mapping[str, Any], chosen: Mapping[str, Any]
) -> frozenset[int]:
    """Return what mirostat keeps. Raises `UndecidedError` if that hangs on a little."""
    names = {"ranks": "ranks", "vocabulary": "size", "largest_k": "largest_k"}
    given = {ours: params[name] for name, ours in names.items() if name in params} | {**chosen}

    def kept(by: float, scale: float) -> frozenset[int]:
        scaled = [logit * scale for logit in row]
        if op == "mirostat_1":
            return frozenset(mirostat_1(scaled, mu + by, tau=params["tau"], **given).tokens)
        return frozenset(mirostat_2(scaled, mu + by, tau=params["tau"]).tokens)

    right = kept(0, 1)
    if not (_is_even(row) and op == "mirostat_2"):
        for by in (-MARGIN, MARGIN):
            for scale in (1 - MARGIN, 1, 1 + MARGIN):
                if kept(by, scale) != right:
                    raise UndecidedError(f"{op}: what is kept hangs on rounding")
    return right


def _prove_draw(order: Sequence[int], logits: Sequence[float], u: float) -> None:
    """Raise `UndecidedError` if a number is near to where the next token in an order begins."""
    best = max(logits[token] for token in order)
    weights = [exp(logits[token] - best) for token in order]
    is_exact = _are_exact_shares(weights)
    total = sum(weights)
    for reached in list(accumulate(weights))[:-1]:
        if not is_exact and abs(reached / total - u) < MARGIN:
            raise UndecidedError("the random number is at the border of two tokens")


def _is_even(row: Sequence[float]) -> bool:
    return _are_exact_shares([logit for logit in row if logit > -inf])


def _are_exact_shares(numbers: Sequence[float]) -> bool:
    """Return whether all are equal and their number is a power of two."""
    return len(set(numbers)) == 1 and len(numbers) & (len(numbers) - 1) == 0


# ---- the state


def _steps_of_mirostat(
    row: Sequence[float], among: Sequence[int], mu: float, params: Mapping[str, Any], token: int
) -> list[Fraction]:
    """Return the numbers on the way to the new mu."""
    best = max(row[place] for place in among)
    total = sum(exp(row[place] - best) for place in among)
    surprise = Fraction(log2(total) - (row[token] - best) / log(2))
    tau, eta = Fraction(params["tau"]), Fraction(params["eta"])
    moved = eta * (surprise - tau)
    return [surprise, surprise - tau, moved, Fraction(mu), Fraction(mu) - moved]


def _past(request: Mapping[str, Any], params: Mapping[str, Any]) -> PastProbabilities:
    if "past" in request["state"]:
        return PastProbabilities(*unpack(request["state"]["past"]))
    return adaptive_p_start(params["target"], params["decay"])


def _steps_of_adaptive_p(
    row: Sequence[float], past: PastProbabilities, params: Mapping[str, Any], token: int
) -> list[Fraction]:
    """Return the numbers on the way to the new past."""
    best = max(row)
    share = Fraction(exp(row[token] - best) / sum(exp(logit - best) for logit in row))
    decay = Fraction(params["decay"])
    faded, weight = decay * Fraction(past.weighted_sum), decay * Fraction(past.total_weight)
    start = [Fraction(past.weighted_sum), Fraction(past.total_weight)]
    return [*start, share, faded, weight, share + faded, 1 + weight]


def _units(
    row: Sequence[float], token: int, steps: Sequence[Fraction], after: Sequence[float]
) -> int:
    """Return by how many units of its type a new state may be off."""
    possible = [logit for logit in row if logit > -inf]
    of_share = len(possible) + (max(row) - row[token]) + 4
    error = 2 * UNIT * (1.5 * of_share + 2 * sum(abs(float(step)) for step in steps))
    smallest = min(abs(number) for number in after)
    units = ceil(error / (ulp(smallest) * 2.0**29)) if smallest else MOST + 1
    if units > MOST:
        raise UndecidedError("the state is so small that rounding decides its digits")
    return max(units, LEAST)
