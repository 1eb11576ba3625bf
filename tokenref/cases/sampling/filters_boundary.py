"""Filters where a number meets the parameter exactly, or lies one float beside it.

All probabilities are dyadic, so nothing is rounded, and only the rule can be wrong.
"""

from collections.abc import Iterator
from typing import Any, Final

from tokenref.cases.sampling.draft import SamplerDraft
from tokenref.cases.sampling.filter_draft import (
    FilterCase,
    Row,
    beside,
    eighths,
    logits,
    parts,
)

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
    "boundary.exceed": "tokens are kept until the sum is more than p, one more where it meets p",
    "boundary.within": "tokens are kept while the sum is at most p, the crossing one is dropped",
}
_BOUNDARY: Final = ("Boundary", "Dyadic")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_top_p(), *_fitting(), *_thresholds(), *_masses(), *_others()):
        yield case.draft()


def _case(op: str, slug: str, row: Row, why: str, **more: Any) -> FilterCase:  # noqa: ANN401 - fields of a case
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
    for p, name, keep in ((0.75, "three-quarters", [1, 3]), (0.5, "half", [1]), (0.625, "inside", [1, 3])):
        yield _case(
            "top_p",
            f"unsorted-{name}",
            MIXED,
            "The heaviest tokens stand in the middle and at the end: a running sum over the row "
            "as it stands keeps other tokens, and a cut by place keeps wrong ids.",
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
        "p is 1/4: who takes it for 1 - p keeps tokens up to three quarters.",
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


def _fitting() -> Iterator[FilterCase]:
    """Yield the rule of a heap: the smallest leaves while the sum is more than p."""
    for p, keep in ((0.625, [0, 3]), (0.5, [0]), (0.75, [0, 1]), (0.875, [0, 1, 3]), (0.375, [0])):
        yield _case(
            "top_p",
            f"fitting-{int(p * 1000)}",
            HALVES,
            "Tokens are taken as they stand, and the smallest leaves while the sum exceeds p; a "
            "later smaller token may come in. A sorted walk keeps another set.",
            params={"p": p},
            profile="boundary.fitting",
            keep=keep,
            flags=("Crossing",),
            unlike=("boundary.within",) if p == 0.625 else (),
        )
    yield _case(
        "top_p",
        "fitting-order",
        eighths(1, 1, 2, 4),
        "The order of the row decides which small token fits beside a large one.",
        params={"p": 0.625},
        profile="boundary.fitting",
        keep=[3],
    )


# op, slug, row, params, answer of equality kept, of equality removed, name of the other rule
_EQUAL: Final[tuple[tuple[str, str, Row, dict[str, Any], list[int], list[int]], ...]] = (
    ("min_p", "half", HALVES, {"m": 0.5}, [0, 1], [0]),
    ("min_p", "quarter", HALVES, {"m": 0.25}, [0, 1, 2, 3], [0, 1]),
    ("min_p", "unsorted", MIXED, {"m": 0.5}, [1, 3], [1]),
    ("min_p", "third", parts(16, 6, 2, 6, 2), {"m": 1.0}, [0, 2], [0]),
    ("epsilon", "quarter", HALVES, {"cutoff": 0.25}, [0, 1], [0]),
    ("epsilon", "eighth", HALVES, {"cutoff": 0.125}, [0, 1, 2, 3], [0, 1]),
    ("epsilon", "unsorted", MIXED, {"cutoff": 0.25}, [1, 3], [1]),
    ("epsilon", "half", HALVES, {"cutoff": 0.5}, [0], [0]),
    ("eta", "eighth", HALVES, {"cutoff": 0.125, "scale": 1.0}, [0, 1, 2, 3], [0, 1]),
    ("eta", "root", parts(64, 48, 12, 3, 1), {"cutoff": 3 / 64, "scale": 4.0}, [0, 1, 2], [0, 1]),
)


def _thresholds() -> Iterator[FilterCase]:
    for op, slug, row, params, kept, removed in _EQUAL:
        for profile, keep in (("standard", kept), ("equality.removed", removed)):
            other = "equality.removed" if profile == "standard" else "standard"
            yield _case(
                op,
                f"{slug}-{profile.rpartition('.')[2]}",
                row,
                "A probability is exactly at the threshold: "
                + ("it stays." if profile == "standard" else "this rule removes it."),
                params=params,
                profile=profile,
                keep=keep,
                unlike=(other,) if kept != removed else (),
            )
        name = next(iter(params))
        for step in (-1, 1):
            if params[name] == 1.0 and step == 1:
                continue
            yield _case(
                op,
                f"{slug}-{STEPS[step]}",
                row,
                f"The threshold lies one float {STEPS[step]} a probability: an epsilon in the "
                "comparison, or a threshold in fewer bits, decides otherwise.",
                params={**params, name: beside(params[name], step)},
                keep=kept if step < 0 else None,
            )
    for a, keep in ((1.0, [0, 1]), (0.5, [0, 1, 2, 3]), (2.0, [0]), (4.0, [0]), (0.75, [0, 1])):
        yield _case(
            "top_a",
            f"times-square-{int(a * 100)}",
            HALVES,
            "The threshold is a times the square of the largest probability, 1/4, and meets a "
            "probability exactly where a is 1/2, 1 or 2: it stays. Who forgets the square differs.",
            params={"a": a},
            keep=keep,
            unlike=[("standard", {"a": a / 2})] if keep == [0, 1] and a == 1.0 else (),
        )
        for step in (-1, 1):
            yield _case(
                "top_a",
                f"times-square-{int(a * 100)}-{STEPS[step]}",
                HALVES,
                f"The threshold lies one float {STEPS[step]} that of a round a.",
                params={"a": beside(a, step)},
            )


def _masses() -> Iterator[FilterCase]:
    """Yield typical at sums that meet the mass. Surprises are 1, 2, 3 and 3 bits, the mean 1.75."""
    line = [1, 0, 2, 3]
    sums = {0.25: 1, 0.75: 2, 1.0: 4}
    for total, count in sums.items():
        for step, name in STEPS.items():
            if total == 1.0 and step > 0:
                continue
            reach = sorted(line[: count + (step > 0) + (step > 0 and count == 2)])
            yield _case(
                "typical",
                f"reach-{int(total * 100)}-{name}",
                HALVES,
                "Tokens are taken by the distance of their surprise from the entropy, and the "
                f"mass lies {name if step else 'exactly at'} a sum of them, {total}.",
                params={"mass": beside(total, step)},
                keep=reach,
                flags=("Entropy",),
            )
    for profile, keep in (
        ("boundary.exceed", [0, 1]),
        ("boundary.short", [1]),
        ("boundary.exceed+ties.lowest-id", [0, 1]),
    ):
        yield _case(
            "typical",
            f"{profile.replace('boundary.', '').replace('+ties.', '-')}-25",
            HALVES,
            "The sum meets the mass at the first token: programs that go on until the sum is "
            "more take one more, those that stop before lose all but the least number.",
            params={"mass": 0.25},
            profile=profile,
            keep=keep,
            flags=("Entropy",),
            unlike=("standard",) if "exceed" in profile else (),
        )
    yield _case(
        "typical",
        "short-75",
        HALVES,
        "The token that carries the sum to the mass is lost where a program stops before it.",
        params={"mass": 0.75},
        profile="boundary.short",
        keep=[1],
        flags=("Entropy", "Crossing"),
        unlike=("standard",),
    )


def _others() -> Iterator[FilterCase]:
    """Yield curves, deviations and XTC's threshold at equality."""
    curve = parts(32, 16, 8, 4, 2, 2)  # steps 8 4 2 0, bends 4 2 2
    for z, centred, counted in ((0.5, 2, 1), (0.75, 3, 2), (0.25, 1, 0), (0.625, 2, 1), (1.0, 4, 5)):
        for profile, count in (("standard", centred), ("cut.counted", counted)):
            yield _case(
                "tail_free",
                f"{profile.rpartition('.')[2]}-{int(z * 1000)}",
                curve,
                "The scaled second differences are 1/2, 1/4, 1/4: a running sum of exactly z has "
                "not passed it. Each way to place the cut keeps another number of tokens.",
                params={"z": z},
                profile=profile,
                keep=list(range(max(count, 1))),
                unlike=("standard",) if profile != "standard" and centred != max(counted, 1) else (),
            )
        for step in (-1, 1):
            if z + step > 1.5:
                continue
            yield _case(
                "tail_free",
                f"{STEPS[step]}-{int(z * 1000)}",
                curve,
                f"z lies one float {STEPS[step]} a round number, three times that of a running sum.",
                params={"z": beside(z, step)},
            )
    for n, population, sample in ((2.0, [0, 1, 2, 3], [0, 1, 2, 3]), (1.75, [0, 1], [0, 1, 2, 3])):
        for profile, keep in (("standard", population), ("deviation.sample", sample)):
            yield FilterCase(
                "top_n_sigma",
                "boundary",
                f"{profile.rpartition('.')[2]}-{int(n * 100)}",
                logits(4.0, 4.0, 0.0, 0.0),
                {"n": n},
                "The deviation of 4, 4, 0, 0 is 2, or 2.31 as a sample: with n = 2 the others lie "
                "exactly at the threshold and stay, with 1.75 only the sample's deviation keeps them.",
                ("Boundary", "Deviation"),
                profile=profile,
                keep=keep,
                unlike=("deviation.sample",) if population != sample and profile == "standard" else (),
            )
    yield FilterCase(
        "top_n_sigma",
        "boundary",
        "one-deviation",
        logits(1.0, -1.0, 3.0, 1.0, 3.0, -1.0, 1.0, 1.0, -3.0, 5.0),
        {"n": 1.0},
        "Ten whole logits with the mean 1 and the variance 5: nothing lies at the threshold, and "
        "the tokens within one deviation of the largest are 5 and, at a distance of 2, both 3.",
        ("Boundary", "Deviation", "Unsorted"),
        keep=[2, 4, 9],
    )
    for profile, keep in (("standard", [1, 2, 3]), ("equality.does-not", [0, 1, 2, 3])):
        yield _case(
            "xtc",
            f"threshold-{profile.rpartition('.')[2]}",
            HALVES,
            "The second token has exactly the threshold: it counts as a top choice, or not.",
            params={"threshold": 0.25, "probability": 0.75},
            profile=profile,
            uniform=0.5,
            keep=keep,
            flags=("Xtc",),
        )
