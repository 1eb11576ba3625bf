"""Parameters of filters at the edges of what they may be, and beyond; rows that are none."""

from collections.abc import Iterator
from math import inf, nan
from typing import Any, Final

from tokenref.cases.sampling.draft import SamplerDraft
from tokenref.cases.sampling.filter_draft import FilterCase, Row, beside, eighths, logits, parts

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
    ("nan", logits(0.0, nan, 1.0), "NaN has no place in an order: comparisons with it are false."),
    ("plus-infinity", logits(0.0, inf), "Infinity less itself is no number, so there is no share."),
    ("empty", logits(), "A row without tokens has nothing to keep."),
    ("impossible", logits(-inf, -inf), "No token is possible: none may be made up."),
)
_BAD_SHARES: Final[tuple[tuple[str, Row, str], ...]] = (
    ("nan-share", Row((0.5, nan)), "A share that is no number, as a masked softmax makes it."),
    ("infinite-share", Row((0.5, inf)), "A share that is infinite."),
    ("negative-share", Row((1.5, -0.5)), "A negative share, as a residual without a floor makes it."),
    ("no-shares", Row(()), "A row without tokens has nothing to keep."),
    ("all-zero", Row((0.0, 0.0)), "No token has any share: none may be made up."),
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_edges(), *_refused(), *_bad_rows(), *_counts(), *_least(), *_zero(), *_coins()):
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
            f"{name} is at the edge of what it may be, or as near to it as 32 bits allow: it is "
            "taken, and neither rounded to what is no longer allowed nor understood as off.",
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
                f"The definition knows no such {name}: an error says so, where a program that "
                "goes on keeps everything, nothing, or an accident.",
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
                f"{why} The row is refused; what comes out otherwise is garbage.",
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
            "One bad number anywhere spoils the row, also where the others are masked, or where "
            "it stands behind what a vector unit reads at once.",
            ("InvalidRow",),
            refused="INVALID_ROW",
        )


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
            "k runs from 1 to the length of the row and beyond: more than there are means all, "
            "also where k does not fit into 32 bits.",
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
            "With the parameter 0 some programs leave the filter out, some keep only the best, "
            "some nothing. An argmax of an empty mask is token 0, which is not the best.",
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
            "n = 0 keeps the equals of the largest logit, as the rule says; engines use it for off.",
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
            "With m = 1 only equals of the best token pass, with more than 1 none does, and where "
            "equality is removed not even the best: it must stay all the same.",
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
        "Without a least number, and with equality removed, m = 1 leaves nothing at all: some "
        "programs mask the whole row. The rule says so, and no caller should want it.",
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
                f"Never fewer than {least} tokens, the likeliest first, however strict the filter "
                "is; more than there are means all.",
                ("Least", "Dyadic", *(("EmptyResult",) if least == 0 else ())),
                keep=sorted(line[:least]) if known else None,
            )
    for least, keep in ((1, [2, 3]), (2, [2, 3]), (3, [0, 1, 2, 3]), (9, [0, 1, 2, 3])):
        yield FilterCase(
            "xtc",
            "parameters",
            f"least-{least}",
            parts(16, 7, 5, 3, 1),
            {"threshold": 0.1875, "least": least, "probability": 1.0},
            "Two of four tokens would stay: if that is fewer than the least number, nothing at "
            "all is removed.",
            ("Least", "Xtc", "Dyadic"),
            uniform=0.5,
            keep=keep,
        )


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
            "A uniform number lies from 0 to below 1: anything else is no random number.",
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
