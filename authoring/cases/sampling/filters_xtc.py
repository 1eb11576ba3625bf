"""XTC: its coin, what is above the threshold, what is protected, and the least number."""

from collections.abc import Iterator
from math import nan
from typing import Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, beside, parts

TINY: Final = 2.0**-149


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_coins(), *_least()):
        yield case.draft()


def _coins() -> Iterator[FilterCase]:
    """Yield uniform numbers around XTC's probability."""
    row, threshold = parts(16, 7, 5, 3, 1), 0.25
    acts, rests = [1, 2, 3], [0, 1, 2, 3]
    for slug, probability, uniform, standard, below in (
        ("under", 0.5, beside(0.5, -1), acts, acts),
        ("equal", 0.5, 0.5, acts, rests),
        ("over", 0.5, beside(0.5, 1), rests, rests),
        ("certain", 1.0, beside(1.0, -1), acts, acts),
        ("never", 0.0, 0.0, rests, rests),
        ("first", 0.5, 0.0, acts, acts),
        ("seldom", 2.0**-149, 0.0, acts, acts),
    ):
        for profile, keep in (("standard", standard), ("coin.below", below)):
            yield FilterCase(
                "xtc",
                "parameters",
                f"coin-{slug}-{'at-most' if profile == 'standard' else 'below'}",
                row,
                {"threshold": threshold, "probability": probability},
                "The filter acts if the uniform number is at most the probability, or only if it "
                "is below; with probability 0 it never acts, also with the number 0.",
                ("Coin", "Xtc", "Dyadic"),
                profile=profile,
                uniform=uniform,
                keep=keep,
            )
    for slug, uniform in (("one", 1.0), ("negative", -TINY), ("nan", nan)):
        yield FilterCase(
            "xtc",
            "parameters",
            f"uniform-{slug}",
            row,
            {"threshold": threshold, "probability": 0.5},
            (
                "A uniform number is at least 0 and below 1. Anything else is not a valid random "
                "number."
            ),
            ("Coin", "Xtc"),
            refused="INVALID_UNIFORM",
            uniform=uniform,
        )
    for slug, protected, keep in (
        ("one", [0], [0, 1, 2, 3]),
        ("last", [1], [1, 2, 3]),
        ("light", [3], [1, 2, 3]),
        ("beyond", [], [1, 2, 3]),
    ):
        yield FilterCase(
            "xtc",
            "parameters",
            f"protected-{slug}",
            row,
            {"threshold": threshold, "probability": 1.0, "protected": protected},
            "Protected tokens, such as the end of the text, count as top choices but stay.",
            ("Xtc", "Dyadic"),
            uniform=0.5,
            keep=keep,
        )
    for slug, given, keep in (
        ("none-above", 0.4375, [0, 1, 2, 3]),
        ("one-above", 0.375, [0, 1, 2, 3]),
        ("two-above", 0.25, [1, 2, 3]),
        ("three-above", 0.125, [2, 3]),
        ("all-above", 0.0625, [3]),
    ):
        yield FilterCase(
            "xtc",
            "parameters",
            slug,
            row,
            {"threshold": given, "probability": 1.0},
            "None, one, two, three or all tokens reach the threshold: the least likely of them "
            "stays. Removing it too, or removing a single top choice, is the usual slip.",
            ("Xtc", "Dyadic"),
            uniform=0.5,
            keep=keep,
        )


def _least() -> Iterator[FilterCase]:
    for least, keep in ((1, [2, 3]), (2, [2, 3]), (3, [0, 1, 2, 3]), (9, [0, 1, 2, 3])):
        yield FilterCase(
            "xtc",
            "parameters",
            f"least-{least}",
            parts(16, 7, 5, 3, 1),
            {"threshold": 0.1875, "least": least, "probability": 1.0},
            "Two of four tokens would remain. If that is less than the minimum, nothing is "
            "removed.",
            ("Least", "Xtc", "Dyadic"),
            uniform=0.5,
            keep=keep,
        )
