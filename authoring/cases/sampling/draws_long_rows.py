"""Draws from rows as long as real vocabularies: one piece is aimed at, far from its borders.

The rows are recipes: many light tokens, and a few heavy ones at given places. The number lies
so far inside the piece of a heavy token that a plain sum of 32-bit floats, whose error
may grow with the number of tokens, draws it as well.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, asked_as, gives
from tokenref.floats import Floats, Type, grid, nearest, pack, unpack
from tokenref.record import Case
from tokenref.rules import STANDARD, rule_name

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"
REACH: Final = rule_name("draw", boundary="reach")


def drafts() -> Iterator[SamplerDraft]:
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
    slug: str,
    row: Floats,
    u: float,
    profile: str,
    token: int,
    why: str,
    *,
    margin: bool = True,
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
