"""Draws by noise, mirostat 2 and adaptive-p as an honest engine has them: in 32 bits throughout."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import inf, isnan, log, log1p, log2
from typing import Any

from sampling_ref.numbers.binary32 import to_binary32 as f32
from sampling_ref.numbers.glibc import expf
from tokenref.answers import Answer, Ok, Refused
from tokenref.floats import pack, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import Choices, all_choices, choices_of


def answer_in_32_bits(op: str, profile: str, request: Mapping[str, Any]) -> Answer:
    """Return the answer to a question about a draw by noise, mirostat 2 or adaptive-p."""
    chosen = all_choices(op, choices_of(op, profile) or {})
    row = unpack(request["probs" if "probs" in request else "logits"])
    if "logits" in request and (not row or any(map(isnan, row)) or max(row) in {inf, -inf}):
        return Refused("INVALID_ROW", "no row")
    uniforms = unpack(request["uniforms"])
    if op == "draw":
        order = _race(row, uniforms, chosen, by_logits="logits" in request)
        count = request.get("count")
        return Ok({"token": order[0]} if count is None else {"tokens": order[:count]})
    params = unpack_parameters(request["params"])
    return Ok((_mirostat if op == "mirostat_2" else _adaptive_p)(row, params, request, chosen))


def _race(
    row: Sequence[float], uniforms: Sequence[float], chosen: Mapping[str, Any], *, by_logits: bool
) -> list[int]:
    scores = []
    for number, u in zip(row, uniforms, strict=True):
        if number == (-inf if by_logits else 0):
            scores.append(-inf)
            continue
        wait = (inf if u == 0 else -log(u)) if chosen["noise"] == "-log u" else -log1p(-u)
        noise = f32(wait)
        if by_logits:
            gumbel = inf if noise == 0 else -inf if noise == inf else -f32(log(noise))
            scores.append(f32(number + gumbel))
        else:
            scores.append(inf if noise == 0 else f32(number / noise) or -1.0)
    return sorted(range(len(row)), key=lambda token: (-scores[token], token))


def _shares(logits: Sequence[float]) -> list[float]:
    best = max(logits)
    weights = [0.0 if logit == -inf else expf(f32(logit - best)) for logit in logits]
    total = 0.0
    for weight in weights:
        total = f32(total + weight)
    return [f32(weight / total) for weight in weights]


def _sums(shares: Sequence[float]) -> list[float]:
    return list(accumulate(shares, lambda one, other: f32(one + other)))


def _mirostat(
    row: Sequence[float], params: Mapping[str, Any], request: Mapping[str, Any], chosen: Choices
) -> dict[str, Any]:
    state, tau, eta = request["state"], params["tau"], params["eta"]
    mu = unpack(state["mu"])[0] if state else f32(2 * tau)
    shares, u = _shares(row), unpack(request["uniforms"])[0]
    order = sorted((t for t, share in enumerate(shares) if share), key=lambda t: (-shares[t], t))
    kept = [token for token in order if f32(-log2(shares[token])) <= mu] or order[:1]
    total = _sums([shares[token] for token in kept])[-1]
    own = [f32(shares[token] / total) for token in kept]
    place = next((at for at, reached in enumerate(_sums(own)) if reached >= u), len(own) - 1)
    share = own[place] if chosen["whose"] == "kept" else shares[kept[place]]
    after = f32(mu - f32(eta * f32(f32(-log2(share)) - tau)))
    dtype = type_of(state["mu"]) if state else "f64"
    return {"token": kept[place], "state": {"mu": pack([after], dtype)}}


def _adaptive_p(
    row: Sequence[float], params: Mapping[str, Any], request: Mapping[str, Any], chosen: Choices
) -> dict[str, Any]:
    state, target, decay = request["state"], params["target"], params["decay"]
    past = unpack(state["past"]) if state else [f32(target / (1 - decay)), f32(1 / (1 - decay))]
    mean = f32(past[0] / past[1]) if past[1] else target
    aim = min(max(f32(2 * target - mean), 0.0), 1.0)
    shares, u = _shares(row), unpack(request["uniforms"])[0]
    logits = []
    for logit, share in zip(row, shares, strict=True):
        d = f32(abs(f32(share - aim)) / f32(0.3))
        new = f32(5 - f32(f32(10 * f32(d * d)) / f32(1 + d)))
        logits.append(-inf if logit == -inf else new)
    new_shares = _shares(logits)
    exceeds = chosen["boundary"] == "exceed"
    possible = [token for token, share in enumerate(new_shares) if share]
    token = next(
        (
            token
            for token, reached in enumerate(_sums(new_shares))
            if token in possible and (reached > u if exceeds else reached >= u)
        ),
        possible[-1],
    )
    after = [f32(shares[token] + f32(decay * past[0])), f32(1 + f32(decay * past[1]))]
    dtype = type_of(state["past"]) if state else "f64"
    return {"token": token, "state": {"past": pack(after, dtype)}}
