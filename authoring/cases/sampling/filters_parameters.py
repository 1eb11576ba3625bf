"""Parameters of filters at the edges of what they may be, and beyond; rows that are none."""

from collections.abc import Iterator
from math import inf, nan
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, beside, eighths, logits

ROW: Final = eighths(1, 4, 1, 2)
LOGITS: Final = logits(0.25, 2.0, -1.0, 1.0)
USUAL: Final[dict[str, dict[str, Any]]] = {
    "top_k": {"k": 2},
    "top_p": {"p": 0.5},
    "min_p": {"m": 0.5},
    "typical": {"mass": 0.5},
    "epsilon": {"cutoff": 0.25},
    "eta": {"cutoff": 0.25},
    "top_n_sigma": {"n": 1.0},
    "top_a": {"a": 0.5},
    "tail_free": {"z": 0.5},
    "top_h": {"alpha": 0.5},
    "xtc": {"threshold": 0.25, "probability": 1.0},
}
TINY: Final = 2.0**-149
_OVER: Final = beside(1.0, 1)
_UNDER: Final = beside(1.0, -1)

_ALLOWED: Final[tuple[tuple[str, str, float, list[int] | None], ...]] = (
    ("top_p", "p", TINY, [1]),
    ("min_p", "m", 0.0, [0, 1, 2, 3]),
    ("min_p", "m", TINY, [0, 1, 2, 3]),
    ("min_p", "m", 1.0, [1]),
    ("typical", "mass", TINY, [3]),
    ("typical", "mass", 1.0, [0, 1, 2, 3]),
    ("epsilon", "cutoff", TINY, [0, 1, 2, 3]),
    ("epsilon", "cutoff", _UNDER, [1]),
    ("eta", "cutoff", TINY, [0, 1, 2, 3]),
    ("eta", "cutoff", _UNDER, None),
    ("top_a", "a", 0.0, [0, 1, 2, 3]),
    ("top_a", "a", 1024.0, [1]),
    ("tail_free", "z", 0.0, None),
    ("tail_free", "z", 1.0, None),
    ("top_h", "alpha", 2.0**-20, [1]),
    ("top_h", "alpha", 1.0, [0, 1, 2, 3]),
    ("xtc", "threshold", 0.0, [2]),
    ("xtc", "threshold", TINY, [2]),
    ("xtc", "threshold", 1.0, [0, 1, 2, 3]),
    ("xtc", "threshold", beside(0.5, 1), [0, 1, 2, 3]),
)
"""Values that are just allowed, and what stays of the row 1, 4, 1, 2 eighths."""

_REFUSED: Final[tuple[tuple[str, str, tuple[Any, ...]], ...]] = (
    ("top_k", "k", (0, -1, 2.0)),
    ("top_p", "p", (0.0, -TINY, _OVER, inf, nan)),
    ("min_p", "m", (-TINY, _OVER, nan)),
    ("typical", "mass", (0.0, _OVER, nan)),
    ("epsilon", "cutoff", (0.0, 1.0, nan)),
    ("eta", "cutoff", (0.0, 1.0, nan)),
    ("top_n_sigma", "n", (-TINY, inf, nan)),
    ("top_a", "a", (-TINY, inf, nan)),
    ("tail_free", "z", (-TINY, _OVER, nan)),
    ("top_h", "alpha", (0.0, _OVER, nan)),
    ("xtc", "threshold", (-TINY, _OVER, nan)),
    ("xtc", "probability", (-TINY, _OVER, nan)),
)
_NAMES: Final = {
    0: "zero",
    1: "one",
    -1: "minus-one",
    2: "not-whole",
    -TINY: "below-zero",
    _OVER: "above-one",
    inf: "infinite",
}
_BAD_ROWS: Final[tuple[tuple[str, Row, str], ...]] = (
    (
        "nan",
        logits(0.0, nan, 1.0),
        "NaN has no position in an order, because comparisons with it are false.",
    ),
    ("plus-infinity", logits(0.0, inf), "Infinity minus infinity is NaN, so there is no share."),
    ("empty", logits(), "A row without tokens has nothing to keep."),
    ("impossible", logits(-inf, -inf), "No token is possible, so none may be returned."),
)
_BAD_SHARES: Final[tuple[tuple[str, Row, str], ...]] = (
    ("nan-share", Row((0.5, nan)), "A share that is NaN, like that of a masked softmax."),
    ("infinite-share", Row((0.5, inf)), "A share that is infinite."),
    (
        "negative-share",
        Row((1.5, -0.5)),
        "A negative share, like that of a residual without a floor.",
    ),
    ("no-shares", Row(()), "A row without tokens has nothing to keep."),
    ("all-zero", Row((0.0, 0.0)), "No token has any share, so none may be returned."),
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_edges(), *_refused(), *_bad_rows()):
        yield case.draft()


def _uniform(op: str) -> float | None:
    return 0.5 if op == "xtc" else None


def _edges() -> Iterator[FilterCase]:
    seen: dict[tuple[str, str], int] = {}
    for op, name, value, keep in _ALLOWED:
        number = seen[op, name] = seen.get((op, name), 0) + 1
        yield FilterCase(
            op,
            "parameters",
            f"{name}-edge-{number}",
            ROW,
            {**USUAL[op], name: value},
            f"{name} is at the edge of its domain, or next to it in 32 bits: it is not refused, "
            "rounded, or treated as off.",
            ("ParameterDomain", "Dyadic", *(("AllTokens",) if keep == [0, 1, 2, 3] else ())),
            keep=keep,
            uniform=_uniform(op),
        )


def _refused() -> Iterator[FilterCase]:
    for op, name, values in _REFUSED:
        for value in values:
            yield FilterCase(
                op,
                "parameters",
                f"{name}-{_NAMES.get(value, 'nan')}",
                LOGITS if op == "top_n_sigma" else ROW,
                {**USUAL[op], name: value},
                f"This {name} is not allowed: a program that continues keeps everything, nothing, "
                "or arbitrary tokens.",
                ("ParameterDomain",),
                refused="INVALID_PARAMETER",
                uniform=_uniform(op),
            )


def _bad_rows() -> Iterator[FilterCase]:
    for op, params in USUAL.items():
        rows = _BAD_ROWS if op == "top_n_sigma" else (*_BAD_ROWS, *_BAD_SHARES)
        if op not in {"top_k", "top_p", "min_p", "typical", "top_n_sigma", "xtc"}:
            rows = (_BAD_ROWS[0], _BAD_ROWS[3], _BAD_SHARES[2])
        for slug, row, why in rows:
            yield FilterCase(
                op,
                "parameters",
                f"row-{slug}",
                row,
                params,
                f"{why} The row is refused.",
                ("InvalidRow", *(("MinusInfinity",) if slug == "impossible" else ())),
                refused="INVALID_ROW",
                uniform=_uniform(op),
            )
    for slug, row in (
        ("nan-masked", logits(nan, -inf)),
        ("nan-last", logits(*([0.0] * 16), nan)),
        ("infinity-among-masked", logits(-inf, inf, -inf)),
    ):
        yield FilterCase(
            "top_k",
            "parameters",
            f"row-{slug}",
            row,
            {"k": 1},
            "One bad number anywhere makes the row invalid, even if the others are masked, or "
            "if it is beyond the numbers that a vector unit reads at once.",
            ("InvalidRow",),
            refused="INVALID_ROW",
        )
