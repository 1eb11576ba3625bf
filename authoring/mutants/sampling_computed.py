"""Mutants that calculate all of an answer themselves, as a kernel does, with one mistake.

If a sum, a comparison or a key is wrong, an answer follows from it in every operation of the
kernel. Where the mistake changes nothing, the answer is the reference's.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import accumulate
from math import exp, inf, log, nan
from typing import Any, Final, TypeAlias

from authoring.mutants.mutant import Mutant
from authoring.mutants.samplers import Request, SamplerHandler, answering
from tokenref.answers import Answer, Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Type, nearest, pack, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD

Row: TypeAlias = Sequence[float]

SUMS: Final = ("softmax", "logprobs", "top_p", "draw")
"""The operations that need the sum of a row's weights."""


# ---- a kernel


def _wide(dtype: Type) -> Type:
    """Return the type that rows of a type are calculated in."""
    return "f64" if dtype == "f64" else "f32"


def _weight(difference: float, dtype: Type) -> float:
    try:
        return nearest(exp(difference), _wide(dtype))
    except OverflowError:
        return inf


def _logprob(logit: float, largest: float, of_sum: float, _: Type) -> float:
    return logit - largest - of_sum


def _walk(weights: Row, share: float) -> int:
    sums = enumerate(accumulate(weights))
    return next((token for token, each in sums if each > share), len(weights) - 1)


@dataclass(frozen=True)
class Kernel:
    """How a row is answered. A mutant replaces one part."""

    shift: Callable[[Row], float] = max
    """What is subtracted from all logits."""

    total: Callable[[Row], float] = sum
    """The sum of the weights."""

    logprob: Callable[[float, float, float, Type], float] = _logprob
    """A log-probability: of a logit, what is subtracted, the logarithm of the sum, the type."""

    walk: Callable[[Row, float], int] = _walk
    """The token that is drawn, given the weights and a share of their sum."""

    key: Callable[[float], float] = float
    """What numbers are sorted by."""

    def answer(self, op: str, row: Row, dtype: Type, question: Request) -> dict[str, Any]:
        """Return the answer to a question about a row without padding."""
        is_shares = "probs" in question
        shift = 0.0 if is_shares else self.shift(row)
        weights = list(row) if is_shares else [_weight(logit - shift, dtype) for logit in row]
        total = self.total(weights)
        if op == "softmax":
            return {"probs": pack([nearest(_ratio(each, total), dtype) for each in weights], dtype)}
        if op == "logprobs":
            of_sum = log(total) if total > 0 else -inf
            found = [self.logprob(logit, shift, of_sum, dtype) for logit in row]
            return {"logprobs": pack([nearest(each, dtype) for each in found], dtype)}
        if op == "draw":
            (number,) = unpack(question["uniforms"])
            return {"token": self.walk(weights, number * total)}
        given = unpack_parameters(question["params"])
        possible = [token for token, each in enumerate(row) if each > (0 if is_shares else -inf)]
        order = sorted(possible, key=lambda token: (-self.key(row[token]), token))
        count = given["k"] if op == "top_k" else len(order)
        if op == "top_p" and given["p"] < 1:
            sums = enumerate(accumulate(weights[token] for token in order), start=1)
            count = next((n for n, each in sums if each >= given["p"] * total), len(order))
        return {"keep": sorted(order[: max(count, given.get("least", 1))])}


def _ratio(weight: float, total: float) -> float:
    if total == 0 or weight == total == inf:
        return inf if weight and not total else nan
    return weight / total


RIGHT: Final = Kernel()


def _computing(wrong: Kernel) -> SamplerHandler:
    """Return the handler that answers as a kernel where it differs from the right one."""

    def of_row(op: str, question: Request, size: int | None, right: Mapping[str, Any]) -> Any:
        if "order" in question or "count" in question:
            return right
        numbers = question["probs" if "probs" in question else "logits"]
        asked = op, unpack(numbers)[:size], type_of(numbers), question
        answer = wrong.answer(*asked)
        return right if answer == RIGHT.answer(*asked) else answer

    def handle(session: SamplerSession, op: str, request: Request) -> Answer:
        right = session.answer(op, request)
        if not isinstance(right, Ok) or session.profile != STANDARD:
            return right
        if op != "batch":
            return Ok(of_row(op, request, None, right.out))
        if request["op"] not in {*SUMS, "top_k"}:
            return right
        pairs = zip(request["rows"] * request.get("calls", 1), right.out["rows"], strict=True)
        size = request.get("vocab_size")
        return Ok({"rows": [of_row(request["op"], row, size, out) for row, out in pairs]})

    return handle


def computed(
    part: str, witness: Request, ops: Sequence[str] = SUMS
) -> Callable[[Callable[..., Any]], Mutant]:
    """Return a decorator: the function replaces a part of the kernel."""

    def decorate(wrong: Callable[..., Any]) -> Mutant:
        handler = wraps(wrong)(_computing(replace(RIGHT, **{part: wrong})))
        return answering((*ops, "batch"), witness)(handler)

    return decorate


# ---- sums


@computed("total", {"logits": pack([0.0] * 258)})
def sum_of_whole_blocks(weights: Row) -> float:
    """A sum has whole blocks of 256 tokens only, and what is behind them is left out."""
    whole = len(weights) // 256 * 256
    return sum(weights[:whole] if whole else weights)


@computed("total", {"logits": pack([0.0, 0.0])})
def sum_of_n_over_256_blocks(weights: Row) -> float:
    """The number of blocks is n / 256, rounded down: the last tokens are lost, and all of a short
    row, whose sum is 0.
    """
    return sum(weights[: len(weights) // 256 * 256])


@computed("total", {"logits": pack([0.0] * 5)})
def sum_of_n_over_4_vectors(weights: Row) -> float:
    """Four numbers are read at once, and the one, two or three behind the last four are lost."""
    return sum(weights[: len(weights) // 4 * 4])


@computed("shift", {"logits": pack([100.0, 100.0])})
def softmax_overflows(row: Row) -> float:
    """The largest logit is not subtracted first."""
    del row
    return 0.0


@computed("logprob", {"logits": pack([1000.0, 1000.0, 999.0])}, ["logprobs"])
def logprobs_subtract_the_logsumexp(
    logit: float, largest: float, of_sum: float, dtype: Type
) -> float:
    """The logarithm of the sum is added to the largest logit first, and rounded with it."""
    together = nearest(largest + nearest(of_sum, _wide(dtype)), _wide(dtype))
    return nearest(logit - together, _wide(dtype))


# ---- the walk of a draw


@computed("walk", {"probs": pack([0.0, 1.0]), "uniforms": pack([0.0])}, ["draw"])
def draw_stops_at_least_at_the_share(weights: Row, share: float) -> int:
    """The running sum is compared with >= instead of >, even before any token that has weight."""
    sums = enumerate(accumulate(weights))
    return next((token for token, each in sums if each >= share), len(weights) - 1)


@computed("walk", {"logits": pack([0.0] * 512), "uniforms": pack([0.75])}, ["draw"])
def draw_without_the_blocks_before(weights: Row, share: float) -> int:
    """The running sum of each block of 256 tokens starts at 0, not at the sum of those before."""
    for start in range(0, len(weights), 256):
        for token, each in enumerate(accumulate(weights[start : start + 256]), start):
            if each > share:
                return token
    return len(weights) - 1


# ---- keys to sort by

_NEGATIVE: Final = {"logits": pack([0.0, -1.0, -2.0]), "params": {"k": 2}}


@computed("key", _NEGATIVE, ["top_k", "top_p"])
def sorted_by_raw_bits(number: float) -> float:
    """Numbers are sorted by their bits: negative ones come first, the lowest in front."""
    return int.from_bytes(struct.pack(">d", number), "big")


@computed("key", _NEGATIVE, ["top_k", "top_p"])
def sorted_by_signed_bits(number: float) -> float:
    """Numbers are sorted by their bits as integers with a sign: negative ones in wrong order."""
    return int.from_bytes(struct.pack(">d", number), "big", signed=True)
