"""Draws by walking along a row.

Short rows
    There is a case for every point where the token changes, and a step beside it. All weights are
    multiples of 2**-20, so that every running sum is exact in 32 bits, in any order: only the rule
    can be wrong.

Rows as long as real vocabularies
    The rows are recipes: many light tokens, and a few heavy ones at given places. The number lies
    so far inside the piece of a heavy token that a plain sum of 32-bit floats, whose error may grow
    with the number of tokens, draws it as well.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from math import inf
from typing import Any, Final, NamedTuple

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import (
    SamplerDraft,
    SamplerPurpose,
    asked_as,
    differs_from,
    gives,
    told_apart,
)
from authoring.cases.sampling.uniform_points import LARGEST, Point, ends_of, is_held, points_at
from authoring.grids import grid
from sampling_ref import WEIGHTS
from sampling_ref.draws.inverse_cdf import inverse_cdf
from tokenref.floats import Floats, Type, nearest, pack, unpack
from tokenref.record import Case
from tokenref.rules import STANDARD, rule_name


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _draws_cases()
    yield from _long_rows_cases()


# ---- short rows

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"
REACH: Final = rule_name("draw", boundary="reach")
AS_WALKED: Final = rule_name("draw", boundary="reach", zero_weight="as walked")


class _Row(NamedTuple):
    name: str
    weights: Sequence[float]
    about: str
    flags: tuple[str, ...] = ()


_ROWS: Final = (
    _Row("falling", (0.5, 0.25, 0.125, 0.125), "a row that is sorted already"),
    _Row(
        "unsorted",
        (0.125, 0.5, 0.25, 0.125),
        "an unsorted row: a walk by falling weight draws other tokens",
        ("DrawOrder",),
    ),
    _Row(
        "holes",
        (0.0, 0.25, 0.0, 0.0, 0.25, 0.5, 0.0),
        "tokens without weight at both ends and in the middle",
        ("ZeroWeightDrawn",),
    ),
    _Row(
        "half",
        (0.25, 0.125, 0.125),
        "weights that sum to a half: the number is a share of the total, not of 1",
        ("DrawTotal",),
    ),
)


def _draws_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    types: tuple[Type, ...] = ("f32", "f64")
    for row in _ROWS:
        for dtype in types:
            if row.name in {"falling", "half"} and dtype == "f64":
                continue  # what these rows ask, one type tells
            for point in points_at(ends_of(row.weights), dtype):
                if dtype == "f32" or point.side or point.name == "largest":
                    yield from _at(row, point, dtype)
    yield from told_apart(_listed())


def _at(row: _Row, point: Point, dtype: Type) -> Iterator[SamplerDraft]:
    drawn = {
        boundary: inverse_cdf(row.weights, point.value, boundary=boundary, numbers=WEIGHTS)
        for boundary in ("exceed", "reach")
    }
    differ = drawn["exceed"] != drawn["reach"]
    for boundary, rival in (("exceed", REACH), ("reach", STANDARD)):
        flags = {*row.flags, "DrawBoundary"} if differ else {*row.flags, "DrawGivenNumber"}
        if point.end is None:
            flags |= {"DrawEnds"}
        if dtype == "f64" and (point.side or point.name == "largest"):
            flags |= {"WideNumber"}
        yield SamplerDraft(
            op="draw",
            topic="walks",
            slug=f"{row.name}-{point.name}-{boundary}-{dtype}",
            profile=rule_name("draw", boundary=boundary),
            request={"probs": pack(row.weights), "uniforms": pack([point.value], dtype)},
            why=asked_as(_why(row, point, dtype, boundary, drawn), boundary, dtype),
            flags=sorted(flags),
            spec=SPEC,
            purposes=[gives(token=drawn[boundary]), *([differs_from(rival)] if differ else [])],
        )


def _why(row: _Row, point: Point, dtype: Type, boundary: str, drawn: dict[str, int]) -> str:
    token = drawn[boundary]
    if point.name == "zero":
        return (
            f"The number 0, on {row.about}: token {token} is the first with any weight, and no "
            "other token may be drawn."
        )
    if point.end is None:
        return (
            f"The largest {dtype} number below 1, on {row.about}: token {token} owns all up to 1. "
            "Rounded to a narrower type it is 1, and the walk runs off the end."
        )
    share = f"{point.end.numerator}/{point.end.denominator}"
    if point.side:
        where = "below" if point.side < 0 else "above"
        return (
            f"One {dtype} step {where} the running share {share}, on {row.about}: the rules "
            f"agree on token {token}; a sum or a number that is rounded may cross the border."
        )
    rival = drawn["reach" if boundary == "exceed" else "exceed"]
    says = "must exceed" if boundary == "exceed" else "needs to reach"
    return (
        f"Exactly at the running share {share}, on {row.about}: the sum {says} it, so token "
        f"{token} is drawn; the other rule draws token {rival}."
    )


def _listed() -> Iterator[SamplerDraft]:  # noqa: C901 - a list, with loops
    def case(
        slug: str,
        profile: str,
        probs: Sequence[float],
        u: float,
        token: int,
        why: str,
        flag: str,
        *,
        dtype: Type = "f32",
        kind: str = "probs",
        u_type: Type = "f32",
        rival: str = "",
        **more: Any,
    ) -> SamplerDraft:
        purposes: list[SamplerPurpose] = [gives(token=token)]
        return SamplerDraft(
            op="draw",
            topic="orders" if "order" in more else "rows",
            slug=slug,
            profile=profile,
            request={kind: pack(probs, dtype), "uniforms": pack([u], u_type), **more},
            why=why,
            flags=sorted({flag, *([] if is_held(Fraction(u), "f32") else ["WideNumber"])}),
            spec=SPEC,
            purposes=[*purposes, *([differs_from(rival)] if rival else [])],
        )

    unsorted = (0.125, 0.5, 0.25, 0.125)
    yield case(
        "sorted-order", STANDARD, unsorted, 0.25, 1,
        ("An engine whose filter sorted the candidates walks by falling weight, so 0.25 is on "
        "token 1."),
        "DrawOrder", order=[1, 2, 0, 3],
    )  # fmt: skip
    yield case(
        "sorted-order-first-token", STANDARD, unsorted, 0.0625, 1,
        "In the order of the vocabulary this number draws token 0; in the order given, token 1.",
        "DrawOrder", order=[1, 2, 0, 3],
    )  # fmt: skip
    yield case(
        "tie-order", STANDARD, unsorted, 0.75, 3,
        "Two tokens of equal weight are in the order 3, 0: an unstable sort changes the draw.",
        "DrawOrder", order=[1, 2, 3, 0],
    )  # fmt: skip
    yield case(
        "tie-order-reach", REACH, unsorted, 0.75, 2,
        ("The same number, by the rule that the running sum only has to reach it: the token "
        "before."),
        "DrawBoundary", order=[1, 2, 3, 0], rival=STANDARD,
    )  # fmt: skip
    yield case(
        "some-candidates", STANDARD, unsorted, 0.5, 2,
        "Tokens that a filter took out have no weight: half of the total of the two left is token 2.",
        "DrawTotal", order=[2, 0],
    )  # fmt: skip
    yield case(
        "some-candidates-late", STANDARD, unsorted, 0.75, 0,
        "Three quarters of the two candidates' total lie on the second one, whose weight is a third.",
        "DrawTotal", order=[2, 0],
    )  # fmt: skip
    yield case(
        "one-candidate", STANDARD, unsorted, LARGEST["f32"], 3,
        "One candidate is drawn whatever the number is.", "DrawEnds", order=[3],
    )  # fmt: skip
    yield case(
        "reversed", STANDARD, unsorted, 0.125, 2,
        "A walk from the other end: its first piece is token 3's, and ends at one eighth.",
        "DrawOrder", order=[3, 2, 1, 0],
    )  # fmt: skip
    for slug, order, token in (
        ("zero-first", [0, 1, 2], 0),
        ("zero-second", [1, 0, 2], 1),
        ("zero-first-of-two", [2, 0, 1], 2),
    ):
        yield case(
            f"{slug}-as-walked", AS_WALKED, (0.0, 1.0, 0.0), 0.0, token,
            ("Only the comparison decides: at the number 0 the first candidate reaches the "
            "share, even without weight."),
            "ZeroWeightDrawn", order=order, rival=REACH if token != 1 else "",
        )  # fmt: skip
    yield case(
        "zero-first-never", REACH, (0.0, 1.0, 0.0), 0.0, 1,
        "A token without weight is never drawn, though its running sum of 0 reaches the share of 0.",
        "ZeroWeightDrawn", rival=AS_WALKED,
    )  # fmt: skip
    yield case(
        "as-walked-zero", AS_WALKED, (0.0, 0.5, 0.5), 0.0, 0,
        "llama.cpp's walk at the number 0: the first candidate, impossible as it is, is drawn.",
        "ZeroWeightDrawn", rival=REACH,
    )  # fmt: skip
    yield case(
        "as-walked-smallest", AS_WALKED, (0.0, 0.5, 0.5), 2.0**-149, 1,
        "The smallest positive number is above the sum of 0: only 0 itself draws the impossible token.",
        "ZeroWeightDrawn",
    )  # fmt: skip
    yield case(
        "as-walked-inner-zero", AS_WALKED, (0.5, 0.0, 0.5), 0.5, 0,
        "Inside a row a token without weight never reaches first: its sum was reached before it.",
        "ZeroWeightDrawn", rival=STANDARD,
    )  # fmt: skip
    yield case(
        "exceed-inner-zero", STANDARD, (0.5, 0.0, 0.5), 0.5, 2,
        ("The sum after the token without weight does not exceed the share either, so the token "
        "is skipped."),
        "ZeroWeightDrawn", rival=REACH,
    )  # fmt: skip
    for dtype in ("f32", "f64"):
        for name, u in (("zero", 0.0), ("largest", LARGEST[dtype])):
            for boundary, profile in (("exceed", STANDARD), ("reach", REACH)):
                yield case(
                    f"one-token-{name}-{boundary}-{dtype}", profile, (1.0,), u, 0,
                    f"A vocabulary of one token and the number {u!r}: nothing else can be drawn.",
                    "DrawEnds", u_type=dtype,
                )  # fmt: skip
                yield case(
                    f"certain-token-{name}-{boundary}-{dtype}", profile, (0.0, 0.0, 1.0, 0.0), u, 2,
                    "Only token 2 has weight: no number may draw another one.",
                    "ZeroWeightDrawn", u_type=dtype,
                )  # fmt: skip
    yield case(
        "minus-zero-weight", STANDARD, (-0.0, 1.0), 0.0, 1,
        ("A weight of minus zero is no weight. Compared as bits, it is the largest number of "
        "all."),
        "ZeroWeightDrawn",
    )  # fmt: skip
    yield case(
        "minus-zero-number", STANDARD, (0.25, 0.75), -0.0, 0,
        "Minus zero is the number 0 and is in [0, 1).", "DrawEnds",
    )  # fmt: skip
    third = 0.3333333134651184
    yield case(
        "sums-below-one", STANDARD, (third, third, third, 0.0), LARGEST["f32"], 2,
        "The weights sum to less than 1, and the number is above their sum: a share of the total never leaves the row.",
        "DrawTotal",
    )  # fmt: skip
    yield case(
        "sums-above-one", STANDARD, (0.75, 0.5), 0.75, 1,
        ("The weights sum to 5/4. Three quarters of that is on token 1; three quarters of 1 "
        "would be at its beginning."),
        "DrawTotal",
    )  # fmt: skip
    yield case(
        "rare-token", STANDARD, (1 - 2.0**-20, 2.0**-20), 1 - 2.0**-20, 1,
        "A token of probability 2**-20 owns the last of the numbers: tails must be reachable.",
        "TailMass",
    )  # fmt: skip
    yield case(
        "rare-token-first", STANDARD, (2.0**-20, 1 - 2.0**-20), 2.0**-21, 0,
        "A token of probability 2**-20 in front owns the smallest numbers.", "TailMass",
    )  # fmt: skip
    yield case(
        "subnormal-weights", STANDARD, (2.0**-149, 2.0**-149), 0.5, 1,
        ("Weights may be the smallest positive numbers. An engine that flushes them to zero has "
        "nothing to draw."),
        "TailMass",
    )  # fmt: skip
    narrow: list[tuple[Type, float, float, int]] = [
        ("f16", 2.0**-12, 0.5, 512),
        ("bf16", 2.0**-10, 0.5, 128),
    ]
    for dtype, light, heavy, count in narrow:
        row = [heavy, *[light] * count, 0.375]
        for name, place in (("first", 0), ("middle", count // 2), ("last", count - 1)):
            u = float(Fraction(heavy) + Fraction(light) * place + Fraction(light) / 2)
            yield case(
                f"{dtype}-sum-stands-still-{name}", STANDARD, row, u, 1 + place,
                (f"Added up in {dtype} the sum stops growing at a half: each light token is less "
                "than half a step."),
                "NarrowSum", dtype=dtype,
            )  # fmt: skip
        yield case(
            f"{dtype}-row", STANDARD, (0.125, 0.5, 0.25, 0.125), 0.625, 2,
            f"A row in {dtype}, every number exact, at a running share.", "DrawBoundary",
            dtype=dtype,
        )  # fmt: skip
        yield case(
            f"{dtype}-row-reach", REACH, (0.125, 0.5, 0.25, 0.125), 0.625, 1,
            f"The same row in {dtype}, by the rule that the sum only has to reach the share.",
            "DrawBoundary", dtype=dtype, rival=STANDARD,
        )  # fmt: skip
        yield case(
            f"{dtype}-impossible-token", STANDARD, (0.0, 0.5, 0.0, 0.5), 0.0, 1,
            (f"No token of probability zero is drawn from a row in {dtype}, not at the number 0 "
            "either."),
            "ZeroWeightDrawn", dtype=dtype,
        )  # fmt: skip
    even = (1.0, -inf, 1.0, 1.0, 1.0, -inf)
    for profile, tokens in ((STANDARD, (0, 2, 3, 4)), (REACH, (0, 0, 2, 3))):
        for place, token in enumerate(tokens):
            yield case(
                f"even-logits-{place}-quarters-{'exceed' if profile == STANDARD else 'reach'}",
                profile, even, place / 4, token,
                "Four equal logits have a quarter each, whatever the base: the number is where one begins.",
                "DrawBoundary" if place else "DrawEnds", kind="logits",
                rival=("" if place == 0 else REACH if profile == STANDARD else STANDARD),
            )  # fmt: skip
    yield case(
        "logits-largest", STANDARD, even, LARGEST["f64"], 4,
        ("The largest number below 1 draws the last possible token, not the impossible one after "
        "it."),
        "ZeroWeightDrawn", kind="logits", u_type="f64",
    )  # fmt: skip
    yield case(
        "logits-large", STANDARD, (1000.0, 1000.0, -inf), 0.5, 1,
        "Logits of 1000: e**1000 overflows unless the largest one is subtracted first.",
        "DrawBoundary", kind="logits", rival=REACH,
    )  # fmt: skip
    for u, token in ((0.125, 0), (0.5, 1), (0.8125, 2), (0.96875, 3)):
        yield case(
            f"logits-unsorted-{token}", STANDARD, (1.0, 2.0, 1.5, 0.0), u, token,
            "Logits in no order, and a number well inside a token's piece, in the order of the vocabulary.",
            "DrawOrder", kind="logits",
        )  # fmt: skip


# ---- rows as long as real vocabularies


def _long_rows_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    spans: dict[Type, int] = {"f32": 16, "bf16": 2, "f16": 2}
    for size in (32_000, 128_256):
        for dtype, span in spans.items():
            yield from _row(size, dtype, span)


def _row(size: int, dtype: Type, span: int) -> Iterator[SamplerDraft]:
    light = sum(grid(size, size, span=span, dtype=dtype).values())
    weight = nearest(light / 2, dtype)  # each heavy token about a fifth of the total
    places = [7, size // 2, size - 3]
    row = grid(size, size, span=span, dtype=dtype, put=dict.fromkeys(places, weight))
    sums = list(accumulate(row.values()))  # exact: multiples of a power of two below 2**53
    for place in places:
        u = nearest((sums[place] - row.values()[place] / 2) / sums[-1], "f32")
        for profile, name in ((STANDARD, "exceed"), (REACH, "reach")):
            if name == "reach" and place != size // 2:
                continue
            yield _case(
                f"{size}-{dtype}-token-{place}-{name}", row, u, profile, place,
                f"A row of {size} tokens in {dtype}; the number lies in the middle of the piece of token {place}.",
            )  # fmt: skip
    if dtype == "f32":
        yield _zero(size, row, sums)


def _zero(size: int, row: Floats, sums: list[float]) -> SamplerDraft:
    first = bisect_right(sums, 0.0)
    return _case(
        f"{size}-f32-zero", row, 0.0, STANDARD, first,
        f"The number 0 on a row of {size} tokens: the first token that has any weight.",
        margin=False,
    )  # fmt: skip


def _case(
    slug: str, row: Floats, u: float, profile: str, token: int, why: str, *, margin: bool = True
) -> SamplerDraft:
    return SamplerDraft(
        op="draw",
        topic="long_rows",
        slug=slug,
        profile=profile,
        request={"probs": msgspec.to_builtins(row), "uniforms": pack([u])},
        why=asked_as(why, "reach" if profile == REACH else "exceed"),
        flags=["LongRow"] if row.type == "f32" else ["LongRow", "NarrowSum"],
        spec=SPEC,
        purposes=[gives(token=token), *([_has_margin] if margin else [])],
    )


def _has_margin(case: Case) -> None:
    """Prove that sums of 32-bit floats in any order, each rounded, give the same token."""
    asked = msgspec.to_builtins(case.input)
    row = unpack(asked["probs"])
    (u,) = unpack(asked["uniforms"])
    sums = list(accumulate(row))
    token = case.out.token
    start, end = sums[token] - row[token], sums[token]
    distance = min(u * sums[-1] - start, end - u * sums[-1]) / sums[-1]
    if distance < len(sums) * 2.0**-23:
        raise PurposeError(f"{case.id}: must keep away from the borders, is {distance:g} off")
