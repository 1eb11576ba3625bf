"""What each engine is asked about its filters: rows, and parameters under the steps' own names."""

from collections.abc import Mapping
from math import inf
from typing import Any, Final, TypeAlias

from authoring.cases.sampling.filter_draft import Row, logits

ROW: Final = logits(0.25, 2.0, -inf, -1.0, 1.0, 3.0)
EVEN: Final = logits(1.5, 1.5, 1.5, 1.5)
TIED: Final = logits(3.0, 2.0, 2.0, 2.0, 1.0)
Question: TypeAlias = tuple[str, Row, Mapping[str, Any], str, tuple[str, ...]]

_EQUAL: Final = (
    "Four equal tokens and a parameter that their shares meet exactly. Engines differ here in "
    "what they do at equality, and in which of the equal tokens they keep."
)
_INSIDE: Final = "The parameter is well between the numbers that it is compared with."
_LEAST: Final = "The minimum number of tokens to keep, a parameter of this engine, decides."

QUESTIONS: Final[Mapping[str, tuple[Question, ...]]] = {
    "top_k": (
        ("usual", ROW, {"k": 3}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("more", ROW, {"k": 9}, "More than there are means all possible ones.", ("AllTokens",)),
        ("ties", TIED, {"k": 3}, "Exactly k, or the equals of the k-th as well.", ("Ties",)),
        ("least", ROW, {"k": 1, "least": 3}, _LEAST, ("Least",)),
        ("one", ROW, {"k": 1}, "k = 1 keeps the best token alone.", ("Unsorted",)),
    ),
    "top_p": (
        ("usual", ROW, {"p": 0.75}, _INSIDE, ("Unsorted", "MinusInfinity", "Crossing")),
        ("high", ROW, {"p": 0.9375}, _INSIDE, ("Unsorted", "MinusInfinity", "Crossing")),
        ("equal", EVEN, {"p": 0.5}, _EQUAL, ("Ties", "Boundary")),
        ("equal-inside", EVEN, {"p": 0.625}, _EQUAL, ("Ties", "Crossing")),
        (
            "tiny",
            ROW,
            {"p": 2.0**-30},
            "So little that 1 - p is 1: the best stays.",
            ("EmptyResult",),
        ),
        ("least", ROW, {"p": 0.25, "least": 3}, _LEAST, ("Least",)),
    ),
    "min_p": (
        ("usual", ROW, {"m": 0.125}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("equal", EVEN, {"m": 0.9375}, "Equals of the best pass every threshold.", ("Ties",)),
        ("one", logits(0.5, 2.0, 2.0, 1.0), {"m": 1.0}, _EQUAL, ("Boundary", "EmptyResult")),
        ("least", ROW, {"m": 0.75, "least": 3}, _LEAST, ("Least",)),
    ),
    "typical": (
        ("usual", logits(0.25, 2.0, -1.0, 1.0, 3.0), {"mass": 0.625}, _INSIDE, ("Unsorted",)),
        ("little", logits(0.25, 2.0, -1.0, 1.0, 3.0), {"mass": 0.125}, _INSIDE, ("Unsorted",)),
        ("equal", EVEN, {"mass": 0.5}, _EQUAL, ("Ties", "Boundary")),
        ("equal-inside", EVEN, {"mass": 0.375}, _EQUAL, ("Ties", "Crossing")),
        (
            "least",
            logits(0.25, 2.0, -1.0, 1.0, 3.0),
            {"mass": 0.125, "least": 3},
            _LEAST,
            ("Least",),
        ),
    ),
    "epsilon": (
        ("usual", ROW, {"cutoff": 0.0625}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("equal", EVEN, {"cutoff": 0.25}, _EQUAL, ("Boundary",)),
        (
            "none",
            EVEN,
            {"cutoff": 0.5},
            "No token passes: the best and its equals.",
            ("EmptyResult",),
        ),
        ("least", ROW, {"cutoff": 0.75, "least": 3}, _LEAST, ("Least",)),
        ("least-ties", TIED, {"cutoff": 0.75, "least": 2}, _LEAST, ("Least", "Ties")),
    ),
    "eta": (
        ("usual", ROW, {"cutoff": 0.0625}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("entropy", ROW, {"cutoff": 0.4375}, "The entropy decides, not epsilon.", ("Unsorted",)),
        (
            "certain",
            logits(9.0, 0.0, 0.0),
            {"cutoff": 0.0625},
            "An entropy near 0.",
            ("HeavyHead",),
        ),
        ("least", ROW, {"cutoff": 0.75, "least": 4}, _LEAST, ("Least",)),
    ),
    "top_n_sigma": (
        ("usual", ROW, {"n": 1.0}, _INSIDE, ("Unsorted", "MinusInfinity")),
        (
            "equal",
            logits(4.0, 4.0, 0.0, 0.0),
            {"n": 2.0},
            "Exactly at the threshold.",
            ("Boundary",),
        ),
        ("sample", logits(4.0, 4.0, 0.0, 0.0), {"n": 1.75}, "A sample's deviation is 2.31.", ()),
        ("flat", EVEN, {"n": 0.5}, "No deviation at all: all are equals of the best.", ("Ties",)),
        (
            "masked",
            logits(-inf, 4.0, 0.0, 4.0, 0.0, -inf),
            {"n": 1.75},
            _INSIDE,
            ("MinusInfinity",),
        ),
    ),
    "top_a": (
        ("usual", ROW, {"a": 0.1875}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("equal", EVEN, {"a": 1.0}, "Equals of the best pass up to a = 4.", ("Ties",)),
        ("high", ROW, {"a": 0.75}, _INSIDE, ("Unsorted",)),
    ),
    "tail_free": (
        ("usual", ROW, {"z": 0.75}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("high", ROW, {"z": 0.9375}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("flat", EVEN, {"z": 0.5}, "A curve without a bend has no tail to cut.", ("Ties",)),
        ("two", logits(1.0, 0.0), {"z": 0.5}, "Two tokens have no bend.", ("OneToken",)),
    ),
    "top_h": (
        ("usual", ROW, {"alpha": 0.5}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("high", ROW, {"alpha": 0.875}, _INSIDE, ("Unsorted", "MinusInfinity")),
        ("equal-inside", EVEN, {"alpha": 0.625}, "Two of four equal terms fit.", ("Ties",)),
        (
            "hundred",
            logits(*([1.0] * 8), *([0.0] * 112)),
            {"alpha": 0.75},
            "Only the hundred largest are looked at, and scaled to sum 1.",
            ("Ties",),
        ),
    ),
    "xtc": (
        ("usual", ROW, {"threshold": 0.1875, "probability": 1.0}, _INSIDE, ("MinusInfinity",)),
        ("equal", EVEN, {"threshold": 0.25, "probability": 1.0}, _EQUAL, ("Ties", "Boundary")),
        ("tied", EVEN, {"threshold": 0.125, "probability": 1.0}, _EQUAL, ("Ties",)),
        (
            "two-of-a-pair",
            logits(2.0, 1.0, 2.0, 1.0, 0.0),
            {"threshold": 0.125, "probability": 1.0},
            _EQUAL,
            ("Ties",),
        ),
        (
            "rests",
            ROW,
            {"threshold": 0.1875, "probability": 0.25},
            "The coin decides against it.",
            ("Coin",),
        ),
        (
            "coin-equal",
            ROW,
            {"threshold": 0.1875, "probability": 0.5},
            "The coin is equal.",
            ("Coin",),
        ),
        ("off", ROW, {"threshold": 0.1875, "probability": 0.0}, "Probability 0 is off.", ("Coin",)),
        ("least", ROW, {"threshold": 0.125, "probability": 1.0, "least": 5}, _LEAST, ("Least",)),
        (
            "protected",
            ROW,
            {"threshold": 0.1875, "probability": 1.0, "protected": [5]},
            "A protected token, such as the end of the text, stays.",
            (),
        ),
    ),
}
