"""How the answer to a question about a sampler is judged.

Golden records and campaigns use the same verdicts. If every named arithmetic gives the same
answer with a margin, the verdict is exact. Otherwise it lists the answers that they give, or
says by how many units numbers may be off. Where rounding decides so much that no record could be
made, an engine that differs is not wrong, and there is no verdict.

Adaptive steps
    The token must be the same with logits, numbers and thresholds a little off: by 2**-10, which is
    hundreds of times what 32 bits lose in rows as short as these. Where all possible logits are
    equal and a power of two many, shares and surprises are exact, so that nothing is moved. The new
    state is exact there, if all steps to it are. Elsewhere it may be off by what 32 bits lose: a
    share by one unit for each token, each unit of the logit's distance from the best, and four
    more; a product, a sum and the state itself by one each.

Chains
    A chain is *decided* if the answer is the same in exact calculation and with 32 bits after every
    operation, if every filter on the way has a proven margin (`margins.is_decided`), and if the
    answer stays the same when all logits are scaled by 1 plus or minus 2**-20, and when every real
    parameter is moved by four units in the last place. Some rows make equal logits meet a boundary
    exactly (`meets=True`). There all sums are exact, so nothing is moved.

Draws by noise
    Such a draw is decided if the score of the drawn token, the logarithm of weight over wait, is
    greater by 2**-10 than the score of every token that is left; a sum of two logarithms in 32 bits
    is off by a hundredth of it. If two scores are equal because weights and random numbers are
    equal, the lower id wins by definition, in every arithmetic.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil, copysign, exp, inf, log, log1p, log2, ulp
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from sampling_ref.engines.profile import holds
from sampling_ref.errors import ParameterError
from sampling_ref.evaluation import Evaluation
from sampling_ref.steps.adaptive_p import PastProbabilities, adaptive_p, adaptive_p_start
from sampling_ref.steps.mirostat_1 import mirostat_1
from sampling_ref.steps.mirostat_2 import mirostat_2
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession, evaluation_of, with_functions
from tokenref.floats import floats, nearest, pack, spacing, type_of, units_apart, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.record import ADAPTIVE_OPS, FILTER_OPS, ROW_OPS
from tokenref.rounding.margins import ROUNDED, UndecidedError, filter_verdict, is_decided
from tokenref.rounding.rows import NEAR, report_verdict, row_verdict, softmax_verdict
from tokenref.rules import RACE_PROFILES, all_choices, choices_of
from tokenref.verdicts import Close, Exact, Verdict

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
        kept = _kept_by_mirostat(op, row, mu, params, chosen)
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


def _kept_by_mirostat(
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
    stages = tuple((applied.step, tuple(sorted(applied.kept))) for applied in run.applied)
    token = evaluated.draw(run) if "uniforms" in request and _draws(evaluated) else None
    return Asked(tuple(sorted(run.candidates.kept)), stages, token)


def _draws(evaluated: Evaluation) -> bool:
    """Return whether the random numbers are for a draw, and not for a step on the way."""
    return not any(
        stage.step == "xtc" and not holds(stage.off_if, evaluated.parameters)
        for stage in evaluated.profile.stages
    )


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
        return _looser(_of_logarithms(op, profile, request, right), request, right)
    if op == "batch":
        return _of_rows(profile, request, right)
    if op in {"chain", "distribution", "sample"}:
        return _of_chain(op, profile, request, right)
    if op == "sequence":
        return _of_calls(profile, request)
    if op in ADAPTIVE_OPS and isinstance(right, Ok):
        return adaptive_verdict(op, profile, request, right.out)
    _prove_exact(op, profile, request, right)
    return CLOSE if op == "residual" else Exact()


def _prove_exact(op: str, profile: str, request: Mapping[str, Any], right: Answer) -> None:
    """Raise `UndecidedError` if rounding decides an answer of tokens."""
    if op == "draw" and isinstance(right, Ok):
        _prove_token(profile, request, right.out)
    elif op == "speculative_steps":
        prove_steady(profile, request, right)
    elif op == "steps":
        _prove_fused(profile, request, right)


def _prove_token(profile: str, request: Mapping[str, Any], out: Mapping[str, Any]) -> None:
    """Raise `UndecidedError` if rounding decides a race, or a walk by id over logits."""
    if profile in RACE_PROFILES:
        prove_race(profile, request, out)
    elif "logits" in request and "token" in out and "order" not in request:
        row, (number,) = unpack(request["logits"]), unpack(request["uniforms"])
        _prove_draw([token for token, logit in enumerate(row) if logit > -inf], row, number)


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


def _prove_fused(profile: str, request: Mapping[str, Any], right: Answer) -> None:
    """Raise `UndecidedError` if a share or the random number a little off changes the answer.

    All else that steps compare must be exact: logits and parameters of few digits. If no token is
    left, programs may refuse the question.
    """
    if isinstance(right, Ok) and not right.out["keep"]:
        raise UndecidedError("no token is left")
    session = SamplerSession(profile)
    for number, changed in _shares_of(request):
        for moved in (number - MARGIN, number + MARGIN):
            asked = changed(pack([min(max(moved, 0.0), 1 - 2.0**-24)], "f64"))
            if session.answer("steps", asked) != right:
                raise UndecidedError(f"{number!r} is too near to where the answer changes")


_SHARES: Final = frozenset({"p", "m"})
"""The parameters of fused steps that are compared with probabilities."""


def _shares_of(
    request: Mapping[str, Any],
) -> Iterator[tuple[float, Callable[[Mapping[str, str]], Mapping[str, Any]]]]:
    """Yield what is compared with probabilities, and what makes the question with another one.

    A share of 0 or 1 makes a filter do nothing, or keep the largest only.
    """

    def with_number(number: Mapping[str, str]) -> Mapping[str, Any]:
        return {**request, "draw": number}

    def with_share(place: int, name: str, number: Mapping[str, str]) -> Mapping[str, Any]:
        steps = list(request["steps"])
        steps[place] = {**steps[place], "params": {**steps[place]["params"], name: number}}
        return {**request, "steps": steps}

    if "draw" in request:
        yield unpack(request["draw"])[0], with_number
    for place, step in enumerate(request["steps"]):
        for name in _SHARES & step["params"].keys():
            share = unpack_parameters(step["params"])[name]
            if share not in {0, 1}:
                yield share, partial(with_share, place, name)


def _of_logarithms(op: str, profile: str, request: Mapping[str, Any], right: Answer) -> Verdict:
    try:
        if op in {"softmax", "logprobs"}:
            return softmax_verdict(op, request["logits"], type_of(request["logits"]))
        return report_verdict(op, profile, request)
    except UndecidedError:
        if op == "softmax":
            raise
        return _near_zero(request, right)


_FINEST: Final = 2.0**-12
"""The relative distance that an error may be of the smallest logarithm that is compared."""


def _near_zero(request: Mapping[str, Any], right: Answer) -> Verdict:
    """Return how far logarithms may be off if one is near zero: a token is nearly certain.

    The errors of the sum and of adding its logarithm to the largest logit do not become smaller
    with the logarithm. So all logarithms are equal up to a floor, where such an error is a small
    part of them. Raises `UndecidedError` if the sign of a zero is that of a logit.
    """
    rows, logprobs = _rows_and_logprobs(request, right)
    if 0.0 in logprobs and any(copysign(1.0, n) < 0 for row in rows for n in unpack(row) if n == 0):
        raise UndecidedError("the sign of a zero depends on the order of subtractions")
    dtype, size = type_of(rows[0]), max(len(unpack(row)) for row in rows)
    error = (size + 1) * UNIT + 2 * spacing(NEAR, "f32") if dtype != "f64" else size * 2.0**-48
    floor = 2.0 ** ceil(log2(error / _FINEST))
    return Close(ulp=ceil(error / spacing(floor, dtype)), floor=floats([floor], "f32"))


def _rows_and_logprobs(
    request: Mapping[str, Any], right: Answer
) -> tuple[Sequence[Any], Sequence[float]]:
    """Return the rows of a question, and the logarithms in the right answer."""
    out = right.out if isinstance(right, Ok) else {}
    rows = request["rows"] if "rows" in request else [request["logits"]]
    reports = [each for each in out["rows"] if each] if "rows" in out else [out]
    return rows, [number for each in reports for number in unpack(each.get("logprobs", pack([])))]


def _looser(verdict: Verdict, request: Mapping[str, Any], right: Answer) -> Verdict:
    """Return a verdict that lets other libraries pass, too, and a sum in any order.

    Each addition is off by half a unit in the last place of the sum at most, so shares of n numbers
    are off by less than n units. A logarithm of the sum is off by as much as if it were 1, which is
    many units of a logarithm near zero.
    """
    if not isinstance(verdict, Close) or not isinstance(right, Ok):
        return verdict
    rows, logprobs = _rows_and_logprobs(request, right)
    dtype, size = type_of(rows[0]), max(len(unpack(row)) for row in rows)
    error = (size + 1) * (2.0**-53 if dtype == "f64" else UNIT)
    floor = 0.0 if verdict.floor is UNSET else verdict.floor.values()[0]
    compared = [max(-number, floor) for number in logprobs if -inf < number < 0]
    least = min((spacing(number, dtype) for number in compared), default=1.0)
    units = ceil(error / min(least, spacing(0.5, dtype)))
    return Close(ulp=max(verdict.ulp, units) + OTHER_LIBRARY, floor=verdict.floor)


def _of_rows(profile: str, request: Mapping[str, Any], right: Answer) -> Verdict | None:
    """Return the verdict on a batch: exact if that on each of its rows is, or how near all are.

    There is none if that differs in more than a number of units.
    """
    op, rows = request["op"], request["rows"]
    outs = right.out["rows"] if isinstance(right, Ok) else [{}] * len(rows)
    verdicts = [
        sampler_verdict(op, profile, row, Ok(out)) for row, out in zip(rows, outs, strict=True)
    ]
    close = [verdict for verdict in verdicts if isinstance(verdict, Close)]
    if close and len(close) == len(verdicts) and all(c.floor == close[0].floor for c in close):
        return max(close, key=lambda each: each.ulp)
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
