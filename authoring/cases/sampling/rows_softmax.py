"""Softmax, log-probabilities and the greedy choice.

What a right program may be off is generated: several ways to calculate with 32 bits (the largest
logit subtracted first, or together with the logarithm of the sum; sums forwards, backwards and in
pairs; e**x by itself, or as a power of 2) are compared with the correctly rounded answer. The
largest distance and one more is allowed.
Subnormal answers may be flushed to zero by fast hardware: below the smallest normal number
everything counts as equal, but that an impossible token has exactly no probability.
"""

# A question, its answer and why it is asked stand in one line of a table.

from collections.abc import Iterator, Sequence
from itertools import product, starmap
from math import exp, exp2, inf, log
from typing import Final, NamedTuple

from authoring.cases.sampling.ambiguity import TooAmbiguousError
from authoring.cases.sampling.draft import SamplerDraft, differs_from, gives
from authoring.cases.sampling.rows_asking import Topic
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Floats, Type, floats, nearest, pack, units_apart, unpack
from tokenref.rules import rule_name
from tokenref.verdicts import Close, Exact, Verdict

SOFTMAX: Final = Topic("softmax", ("StableSoftmax",), "docs/sampling.md#exactness")
LOGPROBS: Final = Topic("logprobs", ("StableSoftmax",), "docs/engines.md#logprobs")
GREEDY: Final = Topic("greedy", ("GreedyTie",), "docs/engines.md#when-an-engine-draws-nothing")

SMALLEST_NORMAL: Final[dict[Type, float]] = {
    "f64": 2.0**-1022,
    "f32": 2.0**-126,
    "f16": 2.0**-14,
    "bf16": 2.0**-126,
}
_NEAR: Final = 8.0
"""Up to this size the logarithm of the sum may be added to the largest logit."""

_MOST_APART: Final = 64
"""Right programs that are farther apart, in units in the last place, make no test."""


class Row(NamedTuple):
    """A row of logits, and why it is asked about."""

    slug: str
    logits: Sequence[float]
    why: str
    flags: tuple[str, ...] = ()
    dtype: Type = "f32"
    probs: Sequence[float] | None = None


HEAVY: Final = [9.5, 7.25, 7.25, 3.0, 1.5, 0.25, -2.0, -4.75]

ROWS: Final = (
    Row("equals", [1.0, 1.0, 1.0, 1.0], "Four equal logits share the probability evenly, to the last bit.", (), "f32", [0.25] * 4),
    Row("equals-of-two", [0.0, 0.0], "Two equal logits have one half each, to the last bit.", (), "f32", [0.5, 0.5]),
    Row("impossible", [2.0, -inf, 2.0], "An impossible token has no probability at all, and the others share it.", ("MinusInfinity",), "f32", [0.5, 0.0, 0.5]),
    Row("impossible-first", [-inf, -inf, 0.0, 0.0], "The first two tokens are impossible; a largest logit that starts from the first one must survive that.", ("MinusInfinity",), "f32", [0.0, 0.0, 0.5, 0.5]),
    Row("large", [1000.0, 1000.0, 999.0], "Exponentials of 1000 overflow, so that the largest logit must be subtracted first."),
    Row("large-equals", [3.0e38, 3.0e38], "Two logits near the end of 32 bits: their difference is 0, and each has one half.", (), "f32", [0.5, 0.5]),
    Row("very-negative", [-1000.0, -1000.0, -1001.0], "Exponentials of -1000 are 0 in every type, and 0 divided by 0 is NaN, unless the largest is subtracted."),
    Row("far-apart", [0.0, -1000.0], "The second probability is too small for any float: it is 0, and the first is 1.", (), "f32", [1.0, 0.0]),
    Row("subnormal", [0.0, -90.0, -100.0], "Probabilities below the normal numbers of 32 bits: small, but not nothing.", ("Subnormal",)),
    Row("ordinary", [2.0, 1.0, 0.5, -0.25, -3.0], "An ordinary row of five logits, positive and negative."),
    Row("heavy-head", HEAVY, "A heavy head and a light tail, as models give them."),
    Row("shifted", [logit + 64.0 for logit in HEAVY], "The same row 64 higher has the same probabilities."),
    Row("tiny-differences", [2.0**-12, 0.0, -(2.0**-12)], "Differences that are lost if the row is rounded to fewer bits."),
    Row("positive-and-negative-zero", [0.0, -0.0], "Two zeros of different signs are equally likely.", (), "f32", [0.5, 0.5]),
    Row("sixteen", [k * 0.375 - 3.0 for k in range(16)], "Sixteen rising logits; sums forwards and backwards differ in the last bits."),
    Row("f16", [2.0, 1.0, 0.5, -3.0], "Logits and probabilities of binary16.", ("SixteenBit",), "f16"),
    Row("f16-large", [60000.0, 60000.0, 59968.0], "Logits near the end of binary16, whose sum with anything overflows.", ("SixteenBit",), "f16"),
    Row("f16-small", [0.0, -12.0, -17.0], "The last probability is subnormal in binary16.", ("SixteenBit", "Subnormal"), "f16"),
    Row("bf16", [2.0, 1.0, 0.5, -3.0], "Logits and probabilities of bfloat16.", ("SixteenBit",), "bf16"),
    Row("bf16-many", [0.0] * 300, "Three hundred equal logits in bfloat16: a sum in eight bits stands still at 256.", ("SixteenBit",), "bf16"),
    Row("f16-nearly-certain", [0.0, -6.0], "A token that is nearly certain, in binary16: a sum in 16 bits loses most of the other one.", ("SixteenBit",), "f16"),
    Row("bf16-nearly-certain", [0.0, -6.0], "A token that is nearly certain, in bfloat16: a sum in 16 bits is 1, and its logarithm nothing.", ("SixteenBit",), "bf16"),
    Row("f64", [2.0, 1.0, 0.5, -3.0], "Logits and probabilities of 64 bits.", (), "f64"),
    Row("f64-large", [1e308, 1e308, -1e308], "Logits near the end of 64 bits; the difference to the last one is beyond it.", (), "f64", [0.5, 0.5, 0.0]),
)  # fmt: skip

GREEDIES: Final = (
    ("largest", [1.0, 3.0, 2.0], 1, "The largest logit in the middle."),
    ("negative", [-3.0, -1.0, -2.0], 1, "All logits are negative; a search that starts from 0 finds none."),
    ("impossible-first", [-inf, -3.0, -5.0], 1, "The first token is impossible, the best one is negative."),
    ("two-equals", [0.0, 2.0, 2.0, 1.0], 1, "Of two equal largest the lower id is taken by the standard rule."),
    ("all-equal", [1.0] * 5, 0, "All logits are equal: the lowest id of all."),
    ("first", [5.0, 1.0], 0, "The best token is the first."),
    ("last", [1.0, 2.0, 5.0], 2, "The best token is the last of the vocabulary."),
    ("zeros", [-0.0, 0.0, -1.0], 0, "Minus zero and zero are equal, so that the lower id is taken, whatever their bits say."),
    ("close", [1.0, 1.0 + 2.0**-23, 1.0], 1, "The best one is the next number of 32 bits; in 16 bits all three would be equal."),
    ("large", [1e38, 3e38, 2e38], 1, "Logits near the end of 32 bits are compared, not exponentiated."),
    ("one-token", [-7.0], 0, "A vocabulary of one token."),
    ("all-but-one-impossible", [-inf, -inf, -1e30, -inf], 2, "Only one token is possible, with a logit that others use for a ban."),
    ("subnormal", [0.0, 2.0**-149], 1, "The best logit is the smallest subnormal number; flushed to zero it would tie with the first."),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for row in ROWS:
        logits = pack([nearest(logit, row.dtype) for logit in row.logits], row.dtype)
        purposes = () if row.probs is None else (gives(probs=pack(row.probs, row.dtype)),)
        for profile in ("standard", "transformers"):
            words = "" if profile == "standard" else f" ({profile})"
            slug = row.slug if profile == "standard" else f"{profile}.{row.slug}"
            if profile == "standard":
                yield SOFTMAX.case(
                    "softmax",
                    slug,
                    profile,
                    {"logits": logits},
                    row.why,
                    *purposes,
                    flags=row.flags,
                    verdict=close_to("softmax", logits, row.dtype),
                )
            if row.probs is not None and 1.0 in row.probs:
                continue  # the logarithm of nearly 1 is a zero whose sign nobody promises
            yield LOGPROBS.case(
                "logprobs",
                slug,
                profile,
                {"logits": logits},
                f"As logarithms{words}: {row.why[0].lower()}{row.why[1:]}",
                flags=row.flags,
                verdict=close_to("logprobs", logits, row.dtype),
            )
    yield from _greedy()


def _greedy() -> Iterator[SamplerDraft]:
    for slug, logits, token, why in GREEDIES:
        request = {"logits": pack([nearest(logit, "f32") for logit in logits], "f32")}
        yield GREEDY.case(
            "greedy", slug, "standard", request, why, gives(token=token), verdict=Exact()
        )
    for ties in ("last",):
        name = rule_name("greedy", ties=ties)
        for slug, logits, token, why in (
            ("two-equals", [0.0, 2.0, 1.0, 2.0], 3, "Of two equal largest the higher id, by this rule."),
            ("all-equal", [1.0] * 5, 4, "All logits are equal: the highest id of all, by this rule."),
            ("no-equals", [1.0, 3.0, 2.0], 1, "Where nothing is equal the rule for equals decides nothing."),
        ):  # fmt: skip
            request = {"logits": pack(logits, "f32")}
            purposes = [gives(token=token)]
            if "no" not in slug:
                purposes.append(differs_from("standard"))
            yield GREEDY.case(
                "greedy", f"last.{slug}", name, request, why, *purposes, verdict=Exact()
            )


def close_to(op: str, logits: dict[str, str], dtype: Type) -> Verdict:
    """Return how far an answer may be off. Raises `TooAmbiguousError`.

    >>> close_to("softmax", pack([0.0, 0.0]), "f32")
    Exact()
    >>> close_to("logprobs", pack([0.0, -60.0], "f32"), "f32")
    Traceback (most recent call last):
    authoring.cases.sampling.ambiguity.TooAmbiguousError: logprobs: of the number nearest to zero rounding leaves nothing
    """
    answer = SamplerSession("standard").answer(op, {"logits": logits})
    if not isinstance(answer, Ok):
        return Exact()
    right = unpack(answer.out["probs" if op == "softmax" else "logprobs"])
    row = unpack(logits)
    apart, floor = 0, SMALLEST_NORMAL[dtype]
    for way in WAYS:
        if way.together and op == "logprobs" and abs(max(row)) > _NEAR:
            continue  # what is added to a large logit is lost: no right way
        other = _rounded(op, row, dtype, way)
        for first, second in zip(right, other, strict=True):
            there = nearest(second, dtype)
            if abs(first) <= floor and abs(there) <= floor:
                continue
            apart = max(apart, int(units_apart(first, there, dtype)))
    if apart > _MOST_APART or (op == "logprobs" and 0.0 in right):
        # A nearly certain token: floats make plus zero of a logarithm that is a little below 0.
        raise TooAmbiguousError(f"{op}: of the number nearest to zero rounding leaves nothing")
    if apart == 0 and all(number in {0.0, -inf, 0.5, 0.25, 1.0} for number in right):
        return Exact()
    if not any(0 < abs(number) <= floor for number in right):
        return Close(ulp=apart + 1)
    return Close(ulp=apart + 1, floor=_floor(floor))


def _floor(floor: float) -> Floats:
    return floats([floor], "f64") if floor < 2.0**-149 else floats([floor], "f32")


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


def _rounded(op: str, row: Sequence[float], wanted: Type, way: Way) -> list[float]:
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
