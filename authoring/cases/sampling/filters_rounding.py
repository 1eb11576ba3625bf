"""Filters where rounding decides: the parameter is as near to a sum as 32 bits allow.

No single answer is right for all programs here. The verdicts are generated: what every
named arithmetic keeps, or the set that all of them lie in. They show which arithmetic an
engine has, and that it is one.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths
from authoring.cases.sampling.filters_margin import usual_row
from sampling_ref import PROFILES
from sampling_ref.numbers.softmax import softmax
from tokenref.floats import grid, nearest
from tokenref.rounding.margins import UndecidedError, filter_verdict
from tokenref.verdicts import Either, Set

_MANY: Final = 200
"""So many rows are looked at for one that is open."""


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_near(), _long(), _tenths(), _typical_tie()):
        yield case.draft()


def _shares(row: Sequence[float]) -> list[float]:
    return sorted(softmax(list(row)), reverse=True)


def _running(row: Sequence[float], count: int) -> float:
    return nearest(sum(map(Fraction, _shares(row)[:count])), "f32")


def _params(op: str, row: Sequence[float]) -> Mapping[str, Any]:
    """Return a parameter that lies, in 32 bits, where the answer changes."""
    shares = _shares(row)
    if op in {"top_p", "typical"}:
        return {"p" if op == "top_p" else "mass": _running(row, 3)}
    if op == "min_p":
        return {"m": nearest(Fraction(shares[2]) / Fraction(shares[0]), "f32")}
    if op == "top_a":
        return {"a": nearest(Fraction(shares[2]) / Fraction(shares[0]) ** 2, "f32")}
    if op == "xtc":
        return {"threshold": nearest(shares[2], "f32"), "probability": 1.0}
    return {"cutoff": nearest(shares[2], "f32")}


_ASKED: Final = (
    ("top_p", "standard", 12),
    ("top_p", "boundary.exceed", 12),
    ("top_p", "standard", 40),
    ("min_p", "standard", 12),
    ("min_p", "standard", 40),
    ("epsilon", "standard", 12),
    ("epsilon", "standard", 40),
    ("top_a", "standard", 12),
    ("xtc", "standard", 12),
    ("top_p", "transformers", 12),
    ("top_p", "llama.cpp", 12),
)


def _near() -> Iterator[FilterCase]:
    for number, (op, profile, size) in enumerate(_ASKED):
        for attempt in range(_MANY):
            row = usual_row(90_000 + 1000 * number + attempt, size)
            params = _params(op, [float(x) for x in row.numbers])  # type: ignore[union-attr]
            if profile in PROFILES:
                params = {"top_p": params["p"]}
            case = _open(op, f"{profile}-{size}", row, params, profile)
            if case is not None:
                yield case
                break


def _open(
    op: str, slug: str, row: Row, params: Mapping[str, Any], profile: str
) -> FilterCase | None:
    """Return a case if rounding decides it, and a verdict can be given."""
    case = FilterCase(
        op,
        "rounding",
        slug,
        row,
        params,
        "The parameter is the 32-bit number nearest to the sum, share or threshold that decides. "
        "Order and width of the arithmetic decide: an answer of none of them is wrong.",
        ("Rounding", *(("EngineProfile",) if profile in PROFILES else ())),
        profile=profile,
        uniform=0.5 if op == "xtc" else None,
        is_open=True,
    )
    try:
        verdict = filter_verdict(op, profile, case.request())
    except UndecidedError:
        return None
    return case if isinstance(verdict, Either | Set) else None


def _long() -> FilterCase:
    """Return a row of many tokens of nearly the same weight, where sums go apart."""
    recipe = grid(77, 2048, span=1 << 20)
    row = recipe.values()
    return FilterCase(
        "top_p",
        "rounding",
        "two-thousand",
        Row(recipe, "logits"),
        {"p": _running(row, 250)},
        "Two thousand tokens of nearly the same weight, without a margin: parallel sums and naive "
        "ones end within a few tokens of each other. More than that is a wrong sum.",
        ("Rounding",),
        is_open=True,
    )


def _tenths() -> FilterCase:
    """Return the example of 0.3 + 0.5 against 0.8, none of which 32 bits hold."""
    tenths = [nearest(Fraction(number, 10), "f32") for number in (3, 1, 1, 5)]
    return FilterCase(
        "top_p",
        "rounding",
        "tenths",
        Row(tuple(tenths)),
        {"p": nearest(Fraction(8, 10), "f32")},
        "0.5 and 0.3 are 0.8 on paper. In 32 bits it depends on how they are added up, and one "
        "engine that subtracts a share from the sum keeps a third token.",
        ("Rounding", "Published"),
        is_open=True,
    )


def _typical_tie() -> FilterCase:
    """Return a row whose two different shares are equally far from the entropy."""
    return FilterCase(
        "typical",
        "rounding",
        "either-side",
        eighths(4, 2, 2),
        {"mass": 0.25},
        "1/2 and 1/4 lie equally far on either side of the entropy of (1/2, 1/4, 1/4): without "
        "rounding they stay together, with rounding the one or the other is nearer.",
        ("Rounding", "Entropy", "Ties"),
        is_open=True,
    )
