"""Softmax, log-probabilities and the greedy choice."""

from collections.abc import Iterator, Sequence
from math import exp, inf
from typing import Final, NamedTuple

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, asked_as, differs_from, gives
from authoring.cases.sampling.row_draft import Topic
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Type, nearest, pack, unpack
from tokenref.record import Case
from tokenref.rounding.rows import softmax_verdict
from tokenref.rules import rule_name
from tokenref.verdicts import Exact

SOFTMAX: Final = Topic("softmax", ("StableSoftmax",), "docs/sampling.md#exactness")
LOGPROBS: Final = Topic("logprobs", ("StableSoftmax",), "docs/engines.md#logprobs")
GREEDY: Final = Topic("greedy", ("GreedyTie",), "docs/engines.md#when-an-engine-draws-nothing")


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
    Row("impossible-first", [-inf, -inf, 0.0, 0.0], "The first two tokens are impossible: a search for the largest logit begins with -inf.", ("MinusInfinity",), "f32", [0.0, 0.0, 0.5, 0.5]),
    Row("large", [1000.0, 1000.0, 999.0], "Exponentials of 1000 overflow, so that the largest logit must be subtracted first."),
    Row("large-equals", [3.0e38, 3.0e38], "Two logits near the end of 32 bits: their difference is 0, and each has one half.", (), "f32", [0.5, 0.5]),
    Row("very-negative", [-1000.0, -1000.0, -1001.0], "Exponentials of -1000 are 0, and 0 divided by 0 is NaN, unless the largest is subtracted."),
    Row("far-apart", [0.0, -1000.0], "The second probability is too small for any float: it is 0, and the first is 1.", (), "f32", [1.0, 0.0]),
    Row("small", [0.0, -84.0], "Small, but a normal number of 32 bits.", (), "f32", [1.0, nearest(exp(-84.0), "f32")]),
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
    Row("bf16-many", [0.0] * 300, ("Three hundred equal logits in bfloat16: a sum in eight bits "
                                  "stops growing at 256."), ("SixteenBit",), "bf16"),
    Row("f16-nearly-certain", [0.0, -6.0], "A token that is nearly certain, in binary16: a sum in 16 bits loses most of the other one.", ("SixteenBit",), "f16"),
    Row("bf16-nearly-certain", [0.0, -6.0], ("A token that is nearly certain, in bfloat16: a sum "
                                            "in 16 bits is 1, and its logarithm is 0."), ("SixteenBit",), "bf16"),
    Row("f16-far-apart", [4.0, 4.0, -4.00390625], "The difference of two logits has more digits than binary16.", ("SixteenBit",), "f16"),
    Row("bf16-far-apart", [17.0, 17.0, -17.125], "The difference of two logits has more digits than bfloat16.", ("SixteenBit",), "bf16"),
    Row("f64", [2.0, 1.0, 0.5, -3.0], "Logits and probabilities of 64 bits.", (), "f64"),
    Row("f64-large", [1e308, 1e308, -1e308], "Logits near the end of 64 bits; the difference to the last one is beyond it.", (), "f64", [0.5, 0.5, 0.0]),
)  # fmt: skip

ROUNDED: Final[Sequence[tuple[str, list[float], Type, str]]] = (
    ("bf16-rounded-up", [0.625, -1.25, 1.375, -0.75, 0.625, -1.375, -0.125, -1.625], "bf16", "Eight numbers of bfloat16, each nearer to the number above: cutting off the lower half of 32 bits gives others."),
    ("f16-rounded-up", [1.75, -2.5, -4.75, -4.25, 1.75, -4.75, 0.25, -4.625], "f16", "Eight numbers of binary16, each nearer to the number above."),
    ("f16-subnormal", [0.0, -9.625, 0.0, 1.0, -11.625, -12.0, -7.0, -9.0], "f16", "Some probabilities are subnormal in binary16: they are small, but not zero."),
)  # fmt: skip
"""Rows whose answers are far from the middle of two numbers of their type, so that bits are judged."""

GREEDIES: Final = (
    ("largest", [1.0, 3.0, 2.0], 1, "The largest logit in the middle."),
    ("negative", [-3.0, -1.0, -2.0], 1, "All logits are negative; a search that starts from 0 finds none."),
    ("impossible-first", [-inf, -3.0, -5.0], 1, "The first token is impossible, the best one is negative."),
    ("two-equals", [0.0, 2.0, 2.0, 1.0], 1, ("If the two largest are equal, the standard rule "
                                            "takes the lower id.")),
    ("all-equal", [1.0] * 5, 0, "All logits are equal: the lowest id of all."),
    ("first", [5.0, 1.0], 0, "The best token is the first."),
    ("last", [1.0, 2.0, 5.0], 2, "The best token is the last of the vocabulary."),
    ("zeros", [-0.0, 0.0, -1.0], 0, ("Minus zero and zero are equal, so the lower id is taken, "
                                    "whatever their bits are.")),
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
                    verdict=softmax_verdict("softmax", logits, row.dtype),
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
                verdict=softmax_verdict("logprobs", logits, row.dtype),
            )
    yield from _rounded()
    yield from _greedy()


def _rounded() -> Iterator[SamplerDraft]:
    for slug, row, dtype, why in ROUNDED:
        for op, topic in (("softmax", SOFTMAX), ("logprobs", LOGPROBS)):
            flags = ("SixteenBit", *["Subnormal"] * slug.endswith("subnormal"))
            yield topic.case(
                op, slug, "standard", {"logits": pack(row, dtype)}, asked_as(why, op),
                is_far_from_ties, flags=flags, verdict=Exact(),
            )  # fmt: skip


def is_far_from_ties(case: Case) -> None:
    """Raise `PurposeError` if the error of a right program in 32 bits may round a number otherwise.

    Each number must also be larger than the exact one, so that cutting bits off shows.
    """
    ((dtype, row),) = (
        (name, digits) for name, digits in msgspec.to_builtins(case.input.logits).items()
    )
    ((part, right),) = msgspec.to_builtins(case.out).items()
    wide = {"logits": pack(unpack({dtype: row}), "f64")}
    answer = SamplerSession("standard").answer("softmax" if part == "probs" else part, wide)
    assert isinstance(answer, Ok)  # noqa: S101 - the same question in more digits
    for exact, rounded in zip(unpack(answer.out[part]), unpack(right), strict=True):
        error = max(abs(exact) * 2.0**-14, 2.0**-30)
        both = {nearest(exact + error, dtype), nearest(exact - error, dtype)}
        if both != {rounded} or abs(rounded) < abs(exact):
            raise PurposeError(f"{case.id}: {exact!r} must be far from a tie, and rounded up")


def _greedy() -> Iterator[SamplerDraft]:
    for slug, logits, token, why in GREEDIES:
        request = {"logits": pack([nearest(logit, "f32") for logit in logits], "f32")}
        yield GREEDY.case(
            "greedy", slug, "standard", request, why, gives(token=token), verdict=Exact()
        )
    for ties in ("last",):
        name = rule_name("greedy", ties=ties)
        for slug, logits, token, why in (
            ("two-equals", [0.0, 2.0, 1.0, 2.0], 3, ("If the two largest are equal, this rule "
                                                    "takes the higher id.")),
            ("all-equal", [1.0] * 5, 4, "All logits are equal: the highest id of all, by this rule."),
            ("no-equals", [1.0, 3.0, 2.0], 1, ("Without equal logits, the rule for ties has no "
                                              "effect.")),
        ):  # fmt: skip
            request = {"logits": pack(logits, "f32")}
            purposes = [gives(token=token)]
            if "no" not in slug:
                purposes.append(differs_from("standard"))
            yield GREEDY.case(
                "greedy", f"last.{slug}", name, request, why, *purposes, verdict=Exact()
            )
