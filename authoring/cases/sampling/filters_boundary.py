"""Top-p where a sum of probabilities meets p exactly, or lies one step beside it.

All probabilities are dyadic, so nothing is rounded, and only the rule can be wrong.
"""

from collections.abc import Iterator
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, beside, eighths, parts

HALVES: Final = eighths(4, 2, 1, 1)
MIXED: Final = eighths(1, 4, 1, 2)
FINE: Final = parts(1 << 20, 524_287, 262_145, 131_073, 131_071)
"""Differences of 2**-20, which 16 bits do not see."""

UNIT: Final = 2.0**-24
"""The least distance that 32 bits can tell in a p near 1/2, and in 1 - p."""

STEPS: Final = {-1: "below", 0: "exact", 1: "above"}
_WHERE: Final = {
    -1: "p is 2**-24 below a partial sum",
    0: "p is a partial sum",
    1: "p is 2**-24 above a partial sum",
}
_RULES: Final = {
    "standard": "the token that carries the sum to p is the last one kept, none after it",
    "boundary.exceed": ("tokens are kept until the sum is more than p, so one more if it equals p"),
    "boundary.within": "tokens are kept while the sum is at most p, the crossing one is dropped",
}
_BOUNDARY: Final = ("Boundary", "Dyadic")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_top_p(), *_fitting()):
        yield case.draft()


def _case(op: str, slug: str, row: Row, why: str, **more: Any) -> FilterCase:
    flags = (*_BOUNDARY, *more.pop("flags", ()))
    return FilterCase(op, "boundary", slug, row, more.pop("params"), why, flags, **more)


def _top_p() -> Iterator[FilterCase]:
    """Yield a row with p at each of its partial sums, and one float beside."""
    line = [0, 1, 2, 3]  # the row falls, so the kept ones are the first
    for count, total in ((1, 0.5), (2, 0.75), (3, 0.875)):
        for step, name in STEPS.items():
            for profile, rule in _RULES.items():
                kept = {
                    "standard": count + (step > 0),
                    "boundary.exceed": count + (step >= 0),
                    "boundary.within": max(1, count - (step < 0)),
                }[profile]
                others = {
                    -1: ("boundary.within",) if count > 1 else (),
                    0: ("boundary.exceed",),
                    1: ("boundary.within",),
                }[step]
                yield _case(
                    "top_p",
                    f"{profile.rpartition('.')[2]}-{count}-{name}",
                    HALVES,
                    f"{_WHERE[step]}, {total}: {rule}.",
                    params={"p": total + step * UNIT},
                    profile=profile,
                    keep=line[:kept],
                    unlike=others if profile == "standard" else (),
                    flags=("Crossing",),
                )
    for count, total in ((1, 524_287), (2, 786_432), (3, 917_505)):
        for profile in ("standard", "boundary.exceed"):
            yield _case(
                "top_p",
                f"fine-{profile.rpartition('.')[2]}-{count}",
                FINE,
                "The sums differ from round numbers by 2**-20 only: an epsilon in the comparison, "
                "or 16 bits anywhere, and another token is the last.",
                params={"p": total / (1 << 20)},
                profile=profile,
                keep=line[: count + (profile != "standard")],
            )
    for p, name, keep in (
        (0.75, "three-quarters", [1, 3]),
        (0.5, "half", [1]),
        (0.625, "inside", [1, 3]),
    ):
        yield _case(
            "top_p",
            f"unsorted-{name}",
            MIXED,
            "The most probable tokens are in the middle and at the end. A running sum over the "
            "unsorted row keeps other tokens, and a cut by position keeps wrong ids.",
            params={"p": p},
            keep=keep,
            flags=("Unsorted",),
        )
    for profile in ("standard", "boundary.exceed", "boundary.within"):
        yield _case(
            "top_p",
            f"one-{profile.rpartition('.')[2]}",
            MIXED,
            "p is 1 and the sums are exactly 1 at the last token: all are kept. A comparison of "
            "the sum before each token with 1 - p, or a complement, keeps fewer.",
            params={"p": 1.0},
            profile=profile,
            keep=[0, 1, 2, 3],
            flags=("AllTokens",),
        )
        yield _case(
            "top_p",
            f"just-below-one-{profile.rpartition('.')[2]}",
            eighths(5, 2, 1),
            "p is the float below 1: in 32 bits 1 - p is 2**-24, and must not become 0 or 2**-23.",
            params={"p": beside(1.0, -1)},
            profile=profile,
            keep=[0, 1] if profile.endswith("within") else [0, 1, 2],
        )
        for name, p in (("tiny", 2.0**-140), ("billionth", 2.0**-30)):
            yield _case(
                "top_p",
                f"{name}-{profile.rpartition('.')[2]}",
                MIXED,
                "p is far below every probability: the best token stays. Where 1 - p is rounded "
                "to 1, a comparison from the light end removes every token.",
                params={"p": p},
                profile=profile,
                keep=[1],
                flags=("EmptyResult",),
            )
    yield _case(
        "top_p",
        "not-one-minus-p",
        eighths(5, 1, 1, 1),
        "p is 1/4. A program that confuses it with 1 - p keeps tokens up to three quarters.",
        params={"p": 0.25},
        keep=[0],
        unlike=[("standard", {"p": 0.75})],
    )
    yield _case(
        "top_p",
        "not-logarithms",
        eighths(3, 2, 2, 1),
        "A sum of logarithms of probabilities falls, and never reaches p: all tokens would stay.",
        params={"p": 0.375},
        keep=[0],
    )


_FITTING: Final = ((0.625, [0, 3]), (0.5, [0]), (0.75, [0, 1]), (0.875, [0, 1, 3]), (0.375, [0]))


def _fitting() -> Iterator[FilterCase]:
    """Yield the rule of a heap: the smallest leaves while the sum is more than p."""
    for p, keep in _FITTING:
        yield _case(
            "top_p",
            f"fitting-{int(p * 1000)}",
            HALVES,
            "Tokens are taken in the order of the row, and the smallest is dropped while the "
            "sum exceeds p. A later, smaller token may enter. A sorted walk keeps another set.",
            params={"p": p},
            profile="boundary.fitting",
            keep=keep,
            flags=("Crossing",),
            unlike=("boundary.within",) if keep == [0, 3] else (),
        )
    yield _case(
        "top_p",
        "fitting-order",
        eighths(1, 1, 2, 4),
        "The order of the row decides which small token fits next to a large one.",
        params={"p": 0.625},
        profile="boundary.fitting",
        keep=[3],
    )
