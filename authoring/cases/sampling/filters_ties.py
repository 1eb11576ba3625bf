"""Filters with equal tokens at the cut: at an end of the row, at both, in the middle, all equal."""

from collections.abc import Iterator
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths, logits, parts

TIES: Final = {
    "standard": "the lowest ids stay",
    "ties.highest-id": "the highest ids stay",
    "ties.all": "all of them stay, which makes more",
}
EVEN: Final = eighths(2, 2, 2, 2)

# op, slug, row, params, answers: lowest ids, highest ids, all
_CUTS: Final[tuple[tuple[str, str, Row, dict[str, Any], list[int], list[int], list[int]], ...]] = (
    (
        "top_k",
        "survey",
        logits(1.0, 2.0, 2.0, 2.0, 3.0),
        {"k": 3},
        [1, 2, 4],
        [2, 3, 4],
        [1, 2, 3, 4],
    ),
    (
        "top_k",
        "behind-one",
        parts(16, 6, 4, 2, 2, 2),
        {"k": 3},
        [0, 1, 2],
        [0, 1, 4],
        [0, 1, 2, 3, 4],
    ),
    (
        "top_k",
        "five",
        logits(3.0, 2.0, 2.0, 2.0, 1.0),
        {"k": 3},
        [0, 1, 2],
        [0, 2, 3],
        [0, 1, 2, 3],
    ),
    ("top_k", "both-ends", parts(16, 3, 5, 5, 3), {"k": 3}, [0, 1, 2], [1, 2, 3], [0, 1, 2, 3]),
    ("top_k", "middle", parts(16, 6, 2, 2, 6), {"k": 3}, [0, 1, 3], [0, 2, 3], [0, 1, 2, 3]),
    ("top_k", "all-equal", EVEN, {"k": 2}, [0, 1], [2, 3], [0, 1, 2, 3]),
    ("top_k", "two-best", parts(8, 1, 3, 1, 3), {"k": 1}, [1], [3], [1, 3]),
    (
        "top_k",
        "zero-beside-minus",
        logits(0.0, -0.0, -1.0, 0.0),
        {"k": 2},
        [0, 1],
        [1, 3],
        [0, 1, 3],
    ),
    ("top_p", "both-ends", parts(16, 3, 5, 5, 3), {"p": 0.75}, [0, 1, 2], [1, 2, 3], [0, 1, 2, 3]),
    ("top_p", "behind", eighths(4, 2, 1, 1), {"p": 0.8125}, [0, 1, 2], [0, 1, 3], [0, 1, 2, 3]),
    ("top_p", "middle", parts(16, 6, 2, 2, 6), {"p": 0.8125}, [0, 1, 3], [0, 2, 3], [0, 1, 2, 3]),
    ("top_p", "all-equal", EVEN, {"p": 0.5}, [0, 1], [2, 3], [0, 1, 2, 3]),
    ("top_p", "all-equal-inside", EVEN, {"p": 0.625}, [0, 1, 2], [1, 2, 3], [0, 1, 2, 3]),
    ("top_p", "two-best", parts(8, 1, 3, 1, 3), {"p": 0.25}, [1], [3], [1, 3]),
    ("top_p", "equal-logits", logits(2.0, 2.0, 2.0, 2.0), {"p": 0.5}, [0, 1], [2, 3], [0, 1, 2, 3]),
    (
        "tail_free",
        "behind",
        parts(32, 12, 8, 4, 4, 4),
        {"z": 1.0},
        [0, 1, 2, 3],
        [0, 1, 3, 4],
        [0, 1, 2, 3, 4],
    ),
    ("tail_free", "both-ends", parts(16, 2, 6, 6, 2), {"z": 0.25}, [1], [2], [1, 2]),
    ("tail_free", "flat", EVEN, {"z": 0.5}, [0, 1, 2], [1, 2, 3], [0, 1, 2, 3]),
    (
        "top_h",
        "behind",
        parts(16, 8, 2, 2, 2, 2),
        {"alpha": 0.625},
        [0, 1],
        [0, 4],
        [0, 1, 2, 3, 4],
    ),
    ("top_h", "middle", parts(16, 1, 7, 7, 1), {"alpha": 0.25}, [1], [2], [1, 2]),
    ("top_h", "all-equal", EVEN, {"alpha": 0.625}, [0, 1], [2, 3], [0, 1, 2, 3]),
    ("min_p", "least", parts(8, 2, 4, 2), {"m": 0.75, "least": 2}, [0, 1], [1, 2], [0, 1, 2]),
    (
        "min_p",
        "least-both-ends",
        parts(16, 2, 6, 6, 2),
        {"m": 1.0, "least": 3},
        [0, 1, 2],
        [1, 2, 3],
        [0, 1, 2, 3],
    ),
    (
        "epsilon",
        "least",
        parts(8, 2, 4, 2),
        {"cutoff": 0.4375, "least": 2},
        [0, 1],
        [1, 2],
        [0, 1, 2],
    ),
    ("epsilon", "none-passes", EVEN, {"cutoff": 0.5}, [0], [3], [0, 1, 2, 3]),
    (
        "eta",
        "least",
        parts(8, 2, 4, 2),
        {"cutoff": 0.4375, "scale": 1.25, "least": 2},
        [0, 1],
        [1, 2],
        [0, 1, 2],
    ),
    ("eta", "none-passes", EVEN, {"cutoff": 0.5, "scale": 4.0}, [0], [3], [0, 1, 2, 3]),
    ("top_a", "least", parts(8, 2, 4, 2), {"a": 1.5, "least": 2}, [0, 1], [1, 2], [0, 1, 2]),
    ("top_a", "none-passes", EVEN, {"a": 8.0}, [0], [3], [0, 1, 2, 3]),
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_cuts(), *_typical(), *_xtc(), *_whole_groups()):
        yield case.draft()


def _flags(row: Row, *more: str) -> tuple[str, ...]:
    return ("Ties", *(("Dyadic",) if row.kind == "probs" else ()), *more)


def _cuts() -> Iterator[FilterCase]:
    for op, slug, row, params, lowest, highest, every in _CUTS:
        for (profile, rule), keep in zip(TIES.items(), (lowest, highest, every), strict=True):
            others = [
                other
                for other, answer in zip(TIES, (lowest, highest, every), strict=True)
                if answer != keep
            ]
            yield FilterCase(
                op,
                "ties",
                f"{slug}-{profile.rpartition('.')[2]}",
                row,
                params,
                f"The cut falls between equal tokens: {rule}. Unstable sorts differ.",
                _flags(row, *(("Least",) if "least" in params else ())),
                profile=profile,
                keep=keep,
                unlike=others,
            )


def _typical() -> Iterator[FilterCase]:
    """Yield equals, which stay together in the definition."""
    row, line = parts(16, 2, 6, 2, 2, 4), {"mass": 0.0625}
    rows = (
        ("all-equal", EVEN, {"mass": 0.5}, [0, 1, 2, 3], [0, 1], [2, 3]),
        ("all-equal-inside", EVEN, {"mass": 0.625}, [0, 1, 2, 3], [0, 1, 2], [1, 2, 3]),
        ("behind", eighths(4, 2, 1, 1), {"mass": 0.8125}, [0, 1, 2, 3], [0, 1, 2], [0, 1, 3]),
        ("both-ends", parts(16, 3, 5, 5, 3), {"mass": 0.25}, [1, 2], [1], [2]),
        ("light-ones", row, {"mass": 0.75}, None, None, None),
        ("few", row, line, None, None, None),
        ("equal-logits", logits(1.0, 1.0), {"mass": 0.25}, [0, 1], [0], [1]),
    )
    names = ("standard", "ties.lowest-id", "ties.highest-id")
    for slug, given, params, *kept in rows:
        for profile, keep in zip(names, kept, strict=True):
            yield FilterCase(
                "typical",
                "ties",
                f"{slug}-{'all' if profile == 'standard' else profile.rpartition('.')[2]}",
                given,
                params,
                "Equally far from the entropy: the definition takes all, a walk one by one, from "
                "either end of the ids.",
                _flags(given, "Entropy"),
                profile=profile,
                keep=keep,
                unlike=("ties.lowest-id",) if profile == "standard" and keep else (),
            )


def _xtc() -> Iterator[FilterCase]:
    """Yield equals at the place of the one top choice that stays."""
    rows = (
        ("two-last", parts(8, 2, 4, 2), 0.25, [2], [0], [0, 2]),
        ("all-equal", EVEN, 0.25, [3], [0], [0, 1, 2, 3]),
        ("two-best", parts(8, 3, 1, 3, 1), 0.25, [1, 2, 3], [0, 1, 3], [0, 1, 2, 3]),
        ("equal-logits", logits(0.5, 0.5), 0.5, [1], [0], [0, 1]),
        ("both-ends", parts(16, 3, 5, 5, 3), 0.1875, [3], [0], [0, 3]),
    )
    names = ("standard", "ties.lowest-id", "ties.all")
    for slug, row, threshold, *kept in rows:
        for profile, keep in zip(names, kept, strict=True):
            yield FilterCase(
                "xtc",
                "ties",
                f"{slug}-{'highest-id' if profile == 'standard' else profile.rpartition('.')[2]}",
                row,
                {"threshold": threshold, "probability": 1.0},
                "The least likely top choice is tied: the last one of a sorted walk stays, the "
                "first, or all.",
                _flags(row, "Xtc"),
                profile=profile,
                uniform=0.5,
                keep=keep,
                unlike=[other for other in names if other != profile],
            )


def _whole_groups() -> Iterator[FilterCase]:
    """Yield cuts between groups of equals: every rule for ties gives the same there."""
    pairs = parts(16, 3, 5, 3, 5)
    for op, params in (
        ("top_k", {"k": 2}),
        ("top_p", {"p": 0.625}),
        ("min_p", {"m": 0.75}),
        ("epsilon", {"cutoff": 0.25}),
        ("top_a", {"a": 2.5}),
    ):
        for profile in TIES:
            yield FilterCase(
                op,
                "ties",
                f"between-groups-{profile.rpartition('.')[2]}",
                pairs,
                params,
                "The cut is between two groups of equal tokens, so the rule for ties must not "
                "matter.",
                ("Ties", "Dyadic", "Unsorted"),
                profile=profile,
                keep=[1, 3],
            )
