"""Filters that count, and XTC.

Counts are k, the least number of tokens, and the parameter 0 that may mean off. XTC's cases cover
its coin, what is above the threshold, what is protected, and the least number.
"""

from collections.abc import Iterator
from math import nan
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, beside, eighths, logits, parts


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _counts_cases()
    yield from _xtc_cases()


# ---- counts

ROW: Final = eighths(1, 4, 1, 2)


def _counts_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_counts(), *_zero(), *_least()):
        yield case.draft()


def _counts() -> Iterator[FilterCase]:
    """Yield k around the length of the row, and far beyond."""
    row, falling = parts(16, 3, 7, 2, 4), [1, 3, 0, 2]
    for k in (1, 2, 3, 4, 5, (1 << 16) + 2, 1 << 31, 1 << 40):
        yield FilterCase(
            "top_k",
            "parameters",
            f"k-{k}",
            row,
            {"k": k},
            "k runs from 1 to the length of the row and beyond. A larger k keeps all tokens, "
            "even if it does not fit into 32 bits.",
            ("ParameterDomain", "Dyadic", "Unsorted"),
            keep=sorted(falling[:k]),
        )
    for k, profile, refused in (
        (3, "beyond.error", ""),
        (4, "beyond.error", "INVALID_PARAMETER"),
        (5, "beyond.error", "INVALID_PARAMETER"),
    ):
        yield FilterCase(
            "top_k",
            "parameters",
            f"k-{k}-beyond-error",
            row,
            {"k": k},
            "Programs that partition the row refuse a k of its whole length or more.",
            ("ParameterDomain", "Dyadic"),
            profile=profile,
            refused=refused,
            keep=None if refused else [0, 1, 3],
            unlike=("standard",) if refused else (),
        )


def _zero() -> Iterator[FilterCase]:
    """Yield the parameter 0, which is an error, off, or the strictest value."""
    everything = [0, 1, 2, 3]
    for op, profile, params, keep in (
        ("top_k", "zero.off", {"k": 0}, everything),
        ("top_k", "zero.none", {"k": 0}, []),
        ("top_p", "zero.best", {"p": 0.0}, [1]),
        ("top_p", "zero.off", {"p": 0.0}, everything),
    ):
        yield FilterCase(
            op,
            "parameters",
            profile.replace(".", "-"),
            ROW,
            params,
            "With the parameter 0, some programs skip the filter, some keep only the best "
            "token, and some keep nothing. An argmax of an empty mask is token 0, which is not "
            "the best.",
            ("ParameterDomain", "Dyadic", "EmptyResult"),
            profile=profile,
            keep=keep,
            unlike=("standard",),
        )
    for profile, keep in (("standard", [1, 3]), ("zero.off", everything)):
        yield FilterCase(
            "top_n_sigma",
            "parameters",
            "n-zero" if profile == "standard" else "n-zero-off",
            logits(0.25, 2.0, -1.0, 2.0),
            {"n": 0.0},
            (
                "n = 0 keeps all tokens equal to the largest logit, by the rule. Engines turn the "
                "filter off."
            ),
            ("ParameterDomain", "Deviation", "Ties"),
            profile=profile,
            keep=keep,
            unlike=("zero.off",) if profile == "standard" else ("standard",),
        )
    for m, profile, keep in (
        (1.5, "above-one.best", [1]),
        (1.0, "equality.removed", [1]),
        (1.0, "above-one.best", [1]),
    ):
        yield FilterCase(
            "min_p",
            "parameters",
            f"m-{int(m * 10)}-{profile.replace('.', '-')}",
            ROW,
            {"m": m},
            "With m = 1 only tokens equal to the best one pass, and with more than 1 none does. "
            "With equality removed, not even the best one passes, but it must still be kept.",
            ("ParameterDomain", "Dyadic", "EmptyResult"),
            profile=profile,
            keep=keep,
        )
    yield FilterCase(
        "min_p",
        "parameters",
        "m-10-equality-removed-least-zero",
        ROW,
        {"m": 1.0, "least": 0},
        "Without a minimum, and with equality removed, m = 1 leaves nothing at all, and some "
        "programs mask the whole row. This follows from the rule, although no caller should "
        "want it.",
        ("ParameterDomain", "Dyadic", "EmptyResult", "Least"),
        profile="equality.removed",
        keep=[],
    )


def _least() -> Iterator[FilterCase]:
    """Yield least numbers of tokens that the filter alone would not keep."""
    strict: dict[str, dict[str, Any]] = {
        "top_k": {"k": 1},
        "top_p": {"p": 0.25},
        "min_p": {"m": 1.0},
        "typical": {"mass": 0.0625},
        "epsilon": {"cutoff": 0.75},
        "eta": {"cutoff": 0.75, "scale": 4.0},
        "top_a": {"a": 4.0},
        "tail_free": {"z": 0.0},
        "top_h": {"alpha": 0.0625},
    }
    row = parts(16, 3, 7, 2, 4)
    line = [1, 3, 0, 2]
    for op, params in strict.items():
        for least in (0, 1, 2, 3, 9) if op != "top_k" else (1, 2, 3, 9):
            known = op in {"epsilon", "top_a", "eta"}
            yield FilterCase(
                op,
                "parameters",
                f"least-{least}",
                row,
                {**params, "least": least},
                f"At least {least} tokens are kept, the most probable first, or all if "
                "there are fewer.",
                ("Least", "Dyadic", *(("EmptyResult",) if least == 0 else ())),
                keep=sorted(line[:least]) if known else None,
            )


# ---- XTC

TINY: Final = 2.0**-149


def _xtc_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_coins(), *_least_xtc()):
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
                "The filter acts if the number is at most the probability, or only below it; with "
                "probability 0 never.",
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


def _least_xtc() -> Iterator[FilterCase]:
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
