"""Filters that count: k, the least number of tokens, and the parameter 0 that may mean off."""

from collections.abc import Iterator
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, eighths, logits, parts

ROW: Final = eighths(1, 4, 1, 2)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_counts(), *_zero(), *_least()):
        yield case.draft()


def _counts() -> Iterator[FilterCase]:
    """Yield k around the length of the row, and far beyond."""
    row, falling = parts(16, 3, 7, 2, 4), [1, 3, 0, 2]
    for k in (1, 2, 3, 4, 5, 1 << 31, 1 << 40):
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
                f"At least {least} tokens are kept, the most probable first, however strict the "
                "filter is. If there are fewer, all are kept.",
                ("Least", "Dyadic", *(("EmptyResult",) if least == 0 else ())),
                keep=sorted(line[:least]) if known else None,
            )
