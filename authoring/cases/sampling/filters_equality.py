"""Filters where a share, a sum or a curve meets the parameter exactly, or lies one float beside it.

Top-p has a module of its own, `filters_boundary`.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, beside, eighths, logits, parts

HALVES: Final = eighths(4, 2, 1, 1)
MIXED: Final = eighths(1, 4, 1, 2)
STEPS: Final = {-1: "below", 0: "exact", 1: "above"}
_BOUNDARY: Final = ("Boundary", "Dyadic")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_thresholds(), *_masses(), *_others()):
        yield case.draft()


def _case(op: str, slug: str, row: Row, why: str, **more: Any) -> FilterCase:
    flags = (*_BOUNDARY, *more.pop("flags", ()))
    return FilterCase(op, "boundary", slug, row, more.pop("params"), why, flags, **more)


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
                f"The threshold is one float {STEPS[step]} a probability: an epsilon in the "
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
            "probability exactly where a is 1/2, 1 or 2: it is kept. A program that forgets the "
            "square differs.",
            params={"a": a},
            keep=keep,
            unlike=[("standard", {"a": a / 2})] if keep == [0, 1] and a == 1.0 else (),
        )
        for step in (-1, 1):
            yield _case(
                "top_a",
                f"times-square-{int(a * 100)}-{STEPS[step]}",
                HALVES,
                f"The threshold is one float {STEPS[step]} that of a round a.",
                params={"a": beside(a, step)},
            )


def _masses() -> Iterator[FilterCase]:
    """Yield typical at sums that meet the mass. Surprises are 1, 2, 3 and 3 bits, the mean 1.75."""
    groups = [[1], [0], [2, 3]]
    for total, count in ((0.25, 1), (0.75, 2), (1.0, 3)):
        for step, name in STEPS.items():
            if total == 1.0 and step > 0:
                continue
            reach = sorted(chain.from_iterable(groups[: count + (step > 0)]))
            yield _case(
                "typical",
                f"reach-{int(total * 100)}-{name}",
                HALVES,
                "Tokens are taken by the distance of their surprise from the entropy, and the "
                f"mass is {name if step else 'exactly at'} a sum of them, {total}.",
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
        "The token at which the sum reaches the mass is lost if a program stops before it.",
        params={"mass": 0.75},
        profile="boundary.short",
        keep=[1],
        flags=("Entropy", "Crossing"),
        unlike=("standard",),
    )


def _others() -> Iterator[FilterCase]:
    """Yield curves, deviations and XTC's threshold at equality."""
    curve = parts(32, 16, 8, 4, 2, 2)  # steps 8 4 2 0, bends 4 2 2
    for z, centred, counted in (
        (0.5, 2, 1),
        (0.75, 3, 2),
        (0.25, 1, 0),
        (0.625, 2, 1),
        (1.0, 4, 5),
    ):
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
                unlike=("standard",)
                if profile != "standard" and centred != max(counted, 1)
                else (),
            )
        for step in (-1, 1):
            if z == 1.0 and step > 0:
                continue
            yield _case(
                "tail_free",
                f"{STEPS[step]}-{int(z * 1000)}",
                curve,
                f"z is one float {STEPS[step]} a round number, which three running sums are.",
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
                "exactly at the threshold and stay, with 1.75 only a sample's keeps them.",
                ("Boundary", "Deviation"),
                profile=profile,
                keep=keep,
                unlike=("deviation.sample",)
                if population != sample and profile == "standard"
                else (),
            )
    yield FilterCase(
        "top_n_sigma",
        "boundary",
        "one-deviation",
        logits(1.0, -1.0, 3.0, 1.0, 3.0, -1.0, 1.0, 1.0, -3.0, 5.0),
        {"n": 1.0},
        "Ten whole logits with the mean 1 and the variance 5: nothing is at the threshold, and "
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
