"""Filters with rows on which a slip in the formula gives another set: base, square, root, mean."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths, logits, parts

HALVES: Final = eighths(4, 2, 1, 1)
STEEP: Final = parts(64, 48, 8, 4, 2, 2)
WIDE: Final = parts(32, 12, 6, 4, 3, 2, 2, 1, 1, 1)
_ENTROPY: Final = ("Entropy", "Dyadic")

_CASES: Final[
    tuple[
        tuple[
            str,
            str,
            Row,
            dict[str, Any],
            list[int],
            tuple[dict[str, Any], ...],
            tuple[str, ...],
            str,
        ],
        ...,
    ]
] = (
    (
        "eta",
        "nats-quarter",
        HALVES,
        {"cutoff": 0.25},
        [0, 1],
        ({"cutoff": 0.25, "scale": 0.5 * 0.585},),
        _ENTROPY,
        (
            "The entropy is 1.75 bits, which are 1.21 nats: e to minus that is 0.297. With bits in "
            "the exponent the threshold is 0.087, and everything stays."
        ),
    ),
    (
        "eta",
        "nats-half",
        HALVES,
        {"cutoff": 0.5},
        [0, 1],
        ({"cutoff": 0.5, "scale": 0.7 * 0.585},),
        _ENTROPY,
        "With bits in the exponent the threshold is 0.123 instead of 0.21, below an eighth.",
    ),
    (
        "eta",
        "root-of-epsilon",
        STEEP,
        {"cutoff": 0.25},
        [0],
        ({"cutoff": 0.25, "scale": 0.25},),
        _ENTROPY,
        "Alpha is the square root of epsilon, 1/2 of 1/4: without the root it is half as large.",
    ),
    (
        "eta",
        "the-smaller-one",
        HALVES,
        {"cutoff": 0.0625},
        [0, 1, 2, 3],
        (),
        _ENTROPY,
        (
            "Epsilon is the smaller of the two. A program that uses the larger one differs on "
            "the next row."
        ),
    ),
    (
        "eta",
        "never-the-larger-one",
        WIDE,
        {"cutoff": 0.1875},
        [0, 1, 2, 3],
        ({"cutoff": 0.1875, "scale": 8.0},),
        _ENTROPY,
        (
            "The entropy's threshold is the smaller one: who takes epsilon, or the larger of "
            "the two, keeps two tokens only."
        ),
    ),
    (
        "typical",
        "not-the-likeliest",
        WIDE,
        {"mass": 0.25},
        [1, 2],
        ({"mass": 0.9375},),
        _ENTROPY,
        (
            "The surprises nearest to the entropy, 2.65 bits, are the second and third token's, "
            "2.4 and 3. A nucleus contains the first token. An entropy in bits instead of nats "
            "selects others."
        ),
    ),
    (
        "typical",
        "too-likely",
        STEEP,
        {"mass": 0.125},
        [0],
        (),
        _ENTROPY,
        "The entropy of 1.19 bits is between surprises of 0.42 and 3 bits, closer to the first.",
    ),
    (
        "top_a",
        "the-square",
        parts(64, 16, 12, 8, 8, 6, 6, 4, 4),
        {"a": 1.0},
        [0, 1, 2, 3, 4, 5, 6, 7],
        ({"a": 4.0},),
        ("Dyadic",),
        "1/4 squared is 1/16: all stay. Without the square the threshold is 1/4, and one does.",
    ),
    (
        "min_p",
        "of-the-largest",
        WIDE,
        {"m": 0.25},
        [0, 1, 2, 3],
        ({"m": 0.0625},),
        ("Dyadic",),
        "The threshold is a quarter of the largest share, not a quarter: that would leave one.",
    ),
    (
        "epsilon",
        "of-everything",
        WIDE,
        {"cutoff": 0.0703125},
        [0, 1, 2, 3],
        ({"cutoff": 0.03125},),
        ("Dyadic",),
        "The cutoff is a share of everything, not of the largest one, which would keep five.",
    ),
    (
        "top_h",
        "own-entropy",
        WIDE,
        {"alpha": 0.6484375},
        [0, 1, 2],
        (),
        _ENTROPY,
        (
            "The kept ones are scaled to sum 1 before their entropy is taken: parts of the whole "
            "entropy are another number."
        ),
    ),
    (
        "top_h",
        "best-three",
        parts(8, 3, 3, 1, 1),
        {"alpha": 0.99609375, "best": 3},
        [0, 1],
        ({"alpha": 0.99609375, "best": 2}, {"alpha": 0.99609375, "best": 4}),
        _ENTROPY,
        "Of the three best tokens, two have less entropy than nearly all of it, and three have more.",
    ),
    (
        "tail_free",
        "second-differences",
        parts(32, 12, 8, 5, 3, 2, 1, 1),
        {"z": 0.4375},
        [0, 1],
        (),
        ("Dyadic",),
        (
            "The steps are 4, 3, 2, 1, 1, 0 and the bends 1, 1, 1, 0, 1: running sums of 1/4, 2/4, "
            "3/4, 3/4, 1. First differences, or bends that keep their signs, cut elsewhere."
        ),
    ),
    (
        "top_n_sigma",
        "population",
        logits(6.0, 3.0, 0.0),
        {"n": 1.125},
        [0],
        (),
        ("Deviation",),
        "The deviation is 2.45, and 3 as a sample: only with that the second one stays.",
    ),
    (
        "top_n_sigma",
        "of-logits",
        logits(5.0, 4.0, 3.0, 0.0, 0.0, 0.0),
        {"n": 1.0},
        [0, 1, 2],
        (),
        ("Deviation",),
        (
            "Mean and deviation are those of the logits, each counted once: weighted by shares, "
            "or taken of probabilities, the deviation is less than one."
        ),
    ),
    (
        "top_n_sigma",
        "scaled",
        logits(50.0, 40.0, 30.0, 0.0, 0.0, 0.0),
        {"n": 1.0},
        [0, 1, 2],
        (),
        ("Deviation",),
        "The same logits at a tenth of the temperature: nothing changes in this filter.",
    ),
    (
        "xtc",
        "not-a-nucleus",
        WIDE,
        {"threshold": 0.109375, "probability": 1.0},
        [2, 3, 4, 5, 6, 7, 8],
        (),
        ("Xtc", "Dyadic"),
        "Three reach the threshold, and the third is the one that stays of them.",
    ),
)
"""Operation, slug, row, parameters, answer, parameters that a slip amounts to, flags, why."""


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op, slug, row, params, keep, slips, flags, why in _CASES:
        yield FilterCase(
            op,
            "formulas",
            slug,
            row,
            params,
            why,
            flags,
            uniform=0.5 if op == "xtc" else None,
            keep=keep,
            unlike=[("standard", slip) for slip in slips],
        ).draft()
    yield from _others()


def _others() -> Iterator[SamplerDraft]:
    """Yield what the other rules say about the same rows."""
    asked: tuple[tuple[str, str, Row, Mapping[str, Any], str, list[int]], ...] = (
        ("top_h", "shared-entropy", WIDE, {"alpha": 0.6484375}, "entropy.shared", [0, 1, 2, 3]),
        ("top_n_sigma", "sample", logits(6.0, 3.0, 0.0), {"n": 1.125}, "deviation.sample", [0, 1]),
    )
    for op, slug, row, params, rule, keep in asked:
        yield FilterCase(
            op,
            "formulas",
            slug,
            row,
            params,
            "The other way to calculate it, on a row on which the two give different sets.",
            ("Deviation",) if op == "top_n_sigma" else ("Entropy", "Dyadic"),
            profile=rule,
            keep=keep,
            unlike=("standard",),
        ).draft()
