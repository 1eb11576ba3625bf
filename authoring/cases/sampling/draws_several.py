"""Several draws from one row: by walking and taking out, and as torch does it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, log1p
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, asked_as, gives
from authoring.cases.sampling.uniform_points import LARGEST, step
from tokenref.floats import Type, pack, unpack
from tokenref.record import Case
from tokenref.rules import STANDARD, rule_name

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"
REACH: Final = rule_name("draw", boundary="reach")
RACE: Final = rule_name("draw", method="torch race")
WALK: Final = rule_name("draw", method="torch walk")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _taken_out()
    yield from _torch_races()
    yield from _torch_walks()


def _case(
    topic: str,
    slug: str,
    profile: str,
    row: Sequence[float],
    uniforms: Sequence[float],
    tokens: Sequence[int] | int,
    why: str,
    flag: str,
    *,
    kind: str = "probs",
    dtype: Type = "f32",
    u_type: Type = "f32",
    purposes: Sequence[SamplerPurpose] = (),
) -> SamplerDraft:
    many = not isinstance(tokens, int)
    more = {"count": len(tokens)} if isinstance(tokens, Sequence) else {}
    known = gives(tokens=list(tokens)) if isinstance(tokens, Sequence) else gives(token=tokens)
    return SamplerDraft(
        op="draw",
        topic=topic,
        slug=slug,
        profile=profile,
        request={kind: pack(row, dtype), "uniforms": pack(uniforms, u_type), **more},
        why=asked_as(why, f"{topic}, {dtype}"),
        flags=sorted({flag, *(["DrawSeveral"] if many else [])}),
        spec=SPEC,
        purposes=[known, *purposes],
    )


def _taken_out() -> Iterator[SamplerDraft]:
    """Draw, take the token out, draw from what is left."""
    row = (0.5, 0.25, 0.125, 0.125)
    for slug, profile, uniforms, tokens, why in (
        ("zeros", STANDARD, (0.0, 0.0, 0.0, 0.0), (0, 1, 2, 3),
         "The number 0 draws the first token that is left, four times."),
        ("zeros-reach", REACH, (0.0, 0.0, 0.0, 0.0), (0, 1, 2, 3),
         ("The number 0, where the sum only has to reach it: tokens already taken have no weight "
         "and are skipped.")),
        ("largest", STANDARD, (LARGEST["f32"],) * 4, (3, 2, 1, 0),
         "The largest number draws the last token that is left, four times."),
        ("half", STANDARD, (0.5, 0.5, 0.5, 0.5), (1, 0, 3, 2),
         "A half of what is left, each time: the shares must be those of the rest, not of the whole row."),
        ("half-reach", REACH, (0.5, 0.5, 0.5, 0.5), (0, 1, 2, 3),
         "The same numbers, where the sum only has to reach them: the token before each border."),
        ("rest-is-scaled", STANDARD, (0.25, 0.25, 0.5), (0, 1, 3),
         ("After token 0 its half is gone: a quarter of the rest is on token 1, and a half of "
         "the next rest on token 3.")),
        ("one", STANDARD, (0.75,), (2,), "One draw, requested as a list of one token."),
    ):  # fmt: skip
        yield _case("several", f"walk-{slug}", profile, row, uniforms, tokens, why, "DrawTotal")
    yield _case(
        "several", "walk-holes", STANDARD, (0.0, 0.5, 0.0, 0.5, 0.0), (0.5, 0.0), (3, 1),
        "All possible tokens of a row with impossible ones at both ends and between.",
        "ZeroWeightDrawn",
    )  # fmt: skip
    yield _case(
        "several", "walk-holes-largest", STANDARD, (0.0, 0.5, 0.0, 0.5, 0.0),
        (LARGEST["f32"], LARGEST["f32"]), (3, 1),
        "The largest number after the last possible token was taken out: the one before, none without weight.",
        "ZeroWeightDrawn",
    )  # fmt: skip
    yield _case(
        "several", "walk-logits", STANDARD, (1.0, 1.0, -inf, 1.0, 1.0), (0.5, 0.4375, 0.5),
        (3, 1, 4),
        "Equal logits: half of the four is the third, then the middle of three, then half of two.",
        "DrawTotal", kind="logits",
    )  # fmt: skip


def _is_clear(case: Case) -> None:
    """Prove that no logarithm that is a little wrong changes the answer of a torch race."""
    asked = msgspec.to_builtins(case.input)
    row, uniforms = unpack(asked["probs"]), unpack(asked["uniforms"])
    scores = [
        weight / wait if wait else (inf if weight else 2 * inf)
        for weight, wait in zip(row, (-log1p(-u) for u in uniforms), strict=True)
    ]
    finite = sorted({score for score in scores if 0 < score < inf})
    for less, more in pairwise(finite):
        if more < less * (1 + 2.0**-10):
            raise PurposeError(f"{case.id}: scores must be well apart, got {less} and {more}")


def _torch_races() -> Iterator[SamplerDraft]:
    row = (0.25, 0.5, 0.25)
    clear: Any = _is_clear
    for slug, weights, uniforms, tokens, why, flag in (
        ("even-numbers", (0.25, 0.5, 0.125, 0.125), (0.5, 0.5, 0.5, 0.5), 1,
         "One number for all tokens: the largest probability wins. torch.multinomial is a race, not a walk.", "RaceNoise"),
        ("small-number", row, (0.5, 0.75, 0.0625), 2,
         "The smallest number has the least noise in -log(1-u): its token wins.", "RaceNoise"),
        ("small-number-first", row, (0.0625, 0.75, 0.5), 0,
         "The smallest number is first: noise is assigned in the order of the vocabulary.", "RaceNoise"),
        ("zero-number", row, (0.5, 0.0, 0.0), 1,
         "The number 0 makes an infinite score: the first token that has one.", "RaceEnds"),
        ("zero-number-impossible", (0.0, 0.5, 0.5), (0.0, 0.5, 0.25), 0,
         ("0 / 0 is NaN, which torch treats as the largest number of all: it draws the "
         "impossible token."), "ZeroWeightDrawn"),
        ("zero-number-twice", (0.5, 0.0, 0.5), (0.0, 0.0, 0.5), 1,
         "A score of NaN beats even an infinite one: the impossible token is drawn again.", "ZeroWeightDrawn"),
        ("impossible", (0.0, 0.5, 0.5), (2.0**-53, 0.5, 0.25), 2,
         "The smallest number that is not 0: an impossible token has the score 0 and is not drawn.", "ZeroWeightDrawn"),
        ("largest-number", row, (LARGEST["f64"], LARGEST["f64"], 0.5), 2,
         "The largest numbers below 1 wait 36.7 units: they lose.", "RaceEnds"),
        ("tie", (0.5, 0.5), (0.25, 0.25), 0, "Equal scores: torch takes the first maximum.", "RaceTie"),
        ("sum-is-two", (0.5, 1.0, 0.5), (0.5, 0.75, 0.0625), 2,
         "Weights of any sum: a race needs no total.", "DrawTotal"),
        ("all-in-order", row, (0.5, 0.6875, 0.0625), (2, 1, 0),
         "Three draws without replacement are the three best scores, best first.", "RaceNoise"),
        ("two", (0.125, 0.5, 0.375), (0.0625, 0.5, 0.5), (0, 1),
         "Two draws without replacement are the two best scores.", "RaceNoise"),
        ("impossible-last", (0.0, 0.75, 0.25), (0.5, 0.5, 0.25), (1, 2, 0),
         "As many draws as tokens: torch hands out the impossible one too, as the last.", "ZeroWeightDrawn"),
    ):  # fmt: skip
        for dtype in ("f32", "f64"):
            yield _case(
                "torch", f"race-{slug}-{dtype}", RACE, weights, uniforms, tokens, why, flag,
                dtype=dtype, u_type="f64", purposes=[clear],
            )  # fmt: skip
    small, less = 3 * 2.0**-53, 2.0**-53
    yield _case(
        "torch", "race-smallest-noise", RACE, (0.25, 0.5, 0.25), (less, small, 0.5), 0,
        ("Noise of 2**-53 against three times as much: 32 bits represent both exactly, and the "
        "scores are exact."),
        "RaceEnds", u_type="f64", purposes=[clear],
    )  # fmt: skip


def _torch_walks() -> Iterator[SamplerDraft]:
    row = (0.5, 0.25, 0.25)
    for slug, weights, uniforms, tokens, why, flag in (
        ("borders", row, (0.5, 0.75), (0, 1),
         "With replacement torch walks, and the first sum that reaches the number is taken.", "DrawBoundary"),
        ("above-borders", row, (step(0.5, 1, "f32"), step(0.75, 1, "f32")), (1, 2),
         "One 32-bit step above each border: the next token.", "DrawBoundary"),
        ("below-borders", row, (step(0.5, -1, "f32"), step(0.75, -1, "f32")), (0, 1),
         "One 32-bit step below each border: the token that ends there.", "DrawBoundary"),
        ("again", row, (0.25, 0.25, 0.25, 0.25), (0, 0, 0, 0),
         "With replacement, one token may be drawn four times.", "DrawSeveral"),
        ("zero-first", (0.0, 0.5, 0.5), (0.0, 0.25), (0, 1),
         "The number 0 draws token 0, whatever its probability: torch's walk reaches its sum of 0.", "ZeroWeightDrawn"),
        ("impossible-between", (0.5, 0.0, 0.5), (0.5, step(0.5, 1, "f32")), (0, 2),
         "Inside the row an impossible token is never the first to reach a number.", "ZeroWeightDrawn"),
        ("largest", row, (LARGEST["f32"], LARGEST["f32"]), (2, 2),
         "The largest 32-bit number below 1 draws the last token.", "DrawEnds"),
        ("sum-is-four", (2.0, 1.0, 1.0), (0.5, 0.625), (0, 1),
         "Running sums are divided by the last one: weights of any sum.", "DrawTotal"),
    ):  # fmt: skip
        for dtype in ("f32", "f64"):
            yield _case(
                "torch", f"walk-{slug}-{dtype}", WALK, weights, uniforms, tokens, why, flag,
                dtype=dtype, u_type="f64",
            )  # fmt: skip
