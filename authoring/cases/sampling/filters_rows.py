"""Filters on unusual rows: unsorted, masked, shifted, tiny numbers, a single token."""

from collections.abc import Iterator
from math import inf
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, logits, parts

PARAMS: Final[dict[str, dict[str, Any]]] = {
    "top_k": {"k": 3},
    "top_p": {"p": 0.8125},
    "min_p": {"m": 0.25},
    "typical": {"mass": 0.8125},
    "epsilon": {"cutoff": 0.09375},
    "eta": {"cutoff": 0.1875},
    "top_a": {"a": 0.4375},
    "tail_free": {"z": 0.875},
    "top_h": {"alpha": 0.6875},
    "xtc": {"threshold": 0.15625, "probability": 1.0},
}
"""Of a row of 8, 4, 2, 1 and 1 sixteenths most filters keep some, with these parameters."""

_SHARES: Final = (8, 4, 2, 1, 1)
_ORDERS: Final = {
    "rising": (4, 3, 2, 1, 0),
    "heavy-last": (1, 2, 3, 4, 0),
    "mixed": (2, 4, 0, 3, 1),
}

LOGITS: Final = (3.0, 2.25, 1.25, -0.5, -0.5)
LOGIT_PARAMS: Final[dict[str, dict[str, Any]]] = {
    **PARAMS,
    "top_p": {"p": 0.75},
    "typical": {"mass": 0.75},
    "tail_free": {"z": 0.6875},
    "top_n_sigma": {"n": 1.0},
    "top_h": {"alpha": 0.75},
}


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_orders(), *_zeros(), *_shifts(), *_masked(), *_single(), *_extreme()):
        yield case.draft()


def _case(
    op: str, slug: str, row: Row, params: dict[str, Any], why: str, *flags: str
) -> FilterCase:
    uniform = 0.5 if op == "xtc" else None
    more: tuple[str, ...] = ("Xtc",) if op == "xtc" else ()
    more += ("Entropy",) if op in {"typical", "eta", "top_h"} else ()
    more += ("Deviation",) if op == "top_n_sigma" else ()
    return FilterCase(op, "rows", slug, row, params, why, (*flags, *more), uniform=uniform)


def _orders() -> Iterator[FilterCase]:
    for op, params in PARAMS.items():
        for name, order in _ORDERS.items():
            yield _case(
                op,
                f"order-{name}",
                parts(16, *(_SHARES[place] for place in order)),
                params,
                "The same probabilities in several orders: the ids kept move with them.",
                "Unsorted",
                "Dyadic",
            )


def _zeros() -> Iterator[FilterCase]:
    """Yield tokens of probability 0 at both ends and in the middle."""
    keeps_all: dict[str, dict[str, Any]] = {
        "top_k": {"k": 8},
        "top_p": {"p": 1.0},
        "min_p": {"m": 0.0},
        "typical": {"mass": 1.0},
        "top_a": {"a": 0.0},
        "top_h": {"alpha": 1.0},
    }
    row = parts(16, 0, 8, 0, 4, 4, 0)
    for op, params in PARAMS.items():
        yield _case(
            op,
            "zero-weights",
            parts(16, 0, 8, 4, 0, 2, 1, 1, 0),
            params,
            "Tokens of probability 0 at both ends and in between: they are never kept, add "
            "nothing to an entropy (0 log 0 is 0), and do not belong to a curve.",
            "ZeroWeight",
            "Dyadic",
        )
    for op, every in keeps_all.items():
        yield _case(
            op,
            "zero-weights-keep-all",
            row,
            every,
            "The parameter keeps everything, which means every possible token. Tokens of "
            "probability 0 must not return.",
            "ZeroWeight",
            "AllTokens",
            "Dyadic",
        )
        yield _case(
            op,
            "minus-infinity-keep-all",
            logits(-inf, 1.0, -inf, 0.5, 0.5, -inf),
            every,
            "The parameter keeps everything, which means every possible token. Tokens at minus "
            "infinity must not return.",
            "MinusInfinity",
            "AllTokens",
        )
    for op in ("top_k", "top_p", "min_p", "epsilon", "top_a", "top_h", "tail_free"):
        many = {**PARAMS[op], "least": 5}
        yield _case(
            op,
            "zero-weights-least",
            row,
            many,
            "At least five tokens are requested, but only three are possible. The minimum does "
            "not make impossible tokens possible.",
            "ZeroWeight",
            "Least",
            "Dyadic",
        )


def _shifts() -> Iterator[FilterCase]:
    """Yield the same row of logits, all of them moved by one number."""
    moves = {"negative": -16.0, "far-below": -1024.0, "far-above": 512.0}
    for op, params in LOGIT_PARAMS.items():
        for name, move in moves.items():
            yield _case(
                op,
                f"shift-{name}",
                logits(*(number + move for number in LOGITS)),
                params,
                "Exponentials overflow or vanish unless the largest logit is taken off.",
                "Shift",
                "Margin",
            )


def _masked() -> Iterator[FilterCase]:
    """Yield logits of minus infinity at both ends and between."""
    row = logits(-inf, 3.0, 2.25, -inf, 1.25, -0.5, -0.5, -inf)
    for op, params in LOGIT_PARAMS.items():
        yield _case(
            op,
            "minus-infinity",
            row,
            params,
            "Impossible tokens at both ends and between: the answer is that of the row without "
            "them. In a mean, a deviation or an entropy they make everything not a number.",
            "MinusInfinity",
            "Margin",
        )


def _single() -> Iterator[FilterCase]:
    for op, params in LOGIT_PARAMS.items():
        yield _case(
            op,
            "one-token",
            logits(-3.5),
            params,
            "A row with one token: it stays, whatever the filter. Deviation, differences and "
            "entropy of one number are zero or do not exist.",
            "OneToken",
        )
        yield _case(
            op,
            "one-possible",
            logits(-inf, -inf, 0.75, -inf),
            params,
            "A row with one possible token: every filter keeps it and no other.",
            "OneToken",
            "MinusInfinity",
        )
        yield _case(
            op,
            "two-tokens",
            logits(0.5, 2.5),
            params,
            "The shortest row in which anything can be removed; a curve has no bend yet.",
            "OneToken",
            "Margin",
        )
    for op, params in PARAMS.items():
        yield _case(
            op,
            "certain",
            parts(1, 0, 1, 0),
            params,
            "One token has all the probability: it stays. Its entropy is 0, and 0 log 0 is 0.",
            "OneToken",
            "ZeroWeight",
            "Dyadic",
        )


def _extreme() -> Iterator[FilterCase]:
    """Yield numbers at both ends of what 32 bits hold."""
    yield _case(
        "top_k",
        "subnormal-logits",
        logits(2.0**-149, -(2.0**-149), 0.0, 2.0**-148),
        {"k": 2},
        "Subnormal logits: a program that flushes them to zero makes different tokens equal, "
        "and keeps the lowest ids.",
        "Subnormal",
    )
    yield _case(
        "top_k",
        "neighbours",
        logits(8.0, 8.0 + 2.0**-20, 8.0 - 2.0**-21, 8.0 + 2.0**-19),
        {"k": 2},
        "Neighbours in 32 bits: a search for the threshold that looks at 16 or 24 of the bits takes "
        "them for equal, and keeps the lowest ids.",
        "Ties",
    )
    for op, params in LOGIT_PARAMS.items():
        yield _case(
            op,
            "far-apart",
            logits(0.0, -200.0, -1.0, -4096.0 if op == "top_n_sigma" else -(2.0**100)),
            {"k": 4} if op == "top_k" else params,
            "Logits so far apart that probabilities vanish in 32 bits: nothing overflows, and a "
            "token of small probability is not impossible.",
            "Subnormal",
        )
    tiny = 2.0**-126
    for op, params in (
        ("top_k", {"k": 2}),
        ("top_p", {"p": 1.0}),
        ("min_p", {"m": 0.0}),
        ("xtc", {"threshold": 0.5, "probability": 1.0}),
    ):
        yield _case(
            op,
            "subnormal-weights",
            Row((tiny / 4, 1 - 2.0**-20, tiny, 2.0**-20, 0.0)),
            params,
            "Subnormal probabilities, or the smallest normal ones, next to one of nearly 1: a "
            "search for a threshold must end, and flushing them to zero must change nothing."
            + (
                " With p = 1 every possible token is kept; a running sum loses the lightest."
                if op == "top_p"
                else ""
            ),
            "Subnormal",
            "ZeroWeight",
        )
