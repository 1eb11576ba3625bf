"""Filters where rounding decides, and filters on rows with a proven margin.

Where rounding decides
    The parameter is as near to a sum as 32 bits allow, so no single answer is right for all
    programs. The verdicts are generated: what every named arithmetic keeps, or the set that all
    answers lie in. They show which arithmetic an engine has, and that it is one.

With a proven margin
    The rows have usual logits: no number is round, and nothing is near a threshold. These test
    programs that accept only logits. Such a program cannot hide a wrong formula behind rounding,
    because no arithmetic is near enough to another answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any, Final

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths, logits
from authoring.cases.splitmix import SplitMix64
from authoring.grids import grid
from sampling_ref import PROFILES
from sampling_ref.numbers.softmax import softmax
from tokenref.floats import nearest
from tokenref.record import FILTER_OPS
from tokenref.rounding.margins import UndecidedError, filter_verdict, is_decided, values_of
from tokenref.verdicts import Either, Set


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _rounding_cases()
    yield from _margin_cases()


# ---- where rounding decides

_MANY: Final = 200
"""Maximum number of rows to search for one that rounding decides."""


def _rounding_cases() -> Iterator[SamplerDraft]:
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
        "The parameter is the 32-bit number nearest to what decides: only the order and width of "
        "the arithmetic may matter.",
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


# ---- with a proven margin

VALUES: Final[Mapping[str, tuple[dict[str, Any], ...]]] = {
    "top_k": ({"k": 1}, {"k": 20}, {"k": 40}),
    "top_p": ({"p": 0.5}, {"p": 0.9}, {"p": 0.95}),
    "min_p": ({"m": 0.05}, {"m": 0.1}, {"m": 0.3}),
    "typical": ({"mass": 0.2}, {"mass": 0.9}, {"mass": 0.95}),
    "epsilon": ({"cutoff": 0.0003}, {"cutoff": 0.01}, {"cutoff": 0.05}),
    "eta": ({"cutoff": 0.0003}, {"cutoff": 0.004}, {"cutoff": 0.05}),
    "top_n_sigma": ({"n": 1.0}, {"n": 0.5}, {"n": 1.5}),
    "top_a": ({"a": 0.1}, {"a": 0.2}, {"a": 0.8}),
    "tail_free": ({"z": 0.5}, {"z": 0.95}, {"z": 0.97}),
    "top_h": ({"alpha": 0.3}, {"alpha": 0.4}, {"alpha": 0.9}),
    "xtc": (
        {"threshold": 0.05, "probability": 0.75},
        {"threshold": 0.1, "probability": 0.75},
        {"threshold": 0.2, "probability": 0.75},
    ),
}
"""Parameters that people use."""

SIZES: Final = (12, 48, 96)

_MASKED: Final = 24
"""One in this many tokens is impossible, in rows that are long enough."""

_MANY_MARGIN: Final = 100
"""Maximum number of rows to search for one with a margin."""


def _margin_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for number, op in enumerate(FILTER_OPS):
        for place, (size, params) in enumerate(zip(SIZES, VALUES[op], strict=True)):
            exact = {name: _narrow(value) for name, value in params.items()}
            yield _case(op, f"usual-{size}", "standard", exact, size, 1000 * number + 100 * place)
        for place, profile in enumerate(PROFILES):
            stages = [stage for stage in PROFILES[profile].stages if stage.step == op]
            if stages and all(name in stages[0].takes for name in VALUES[op][1]):
                own = {stages[0].takes[name]: value for name, value in VALUES[op][1].items()}
                yield _case(op, profile, profile, own, 24, 1000 * number + 500 + place)


def usual_row(seed: int, size: int) -> Row:
    """Return logits about as a model gives them: a few large ones, many small, some impossible.

    Each is a sum of three uniform numbers of 23 bits, so that no two are equal by accident.

    >>> len(usual_row(1, 12).numbers)
    12
    """
    words = SplitMix64(seed)
    numbers = [
        nearest((sum(words.below(1 << 23) for _ in range(3)) / (1 << 23) - 1.5) * 6, "f32")
        for _ in range(size)
    ]
    for _ in range(size // _MASKED):
        numbers[words.below(size)] = -inf
    return logits(*numbers)


def _case(
    op: str, slug: str, profile: str, params: Mapping[str, Any], size: int, seed: int
) -> SamplerDraft:
    for attempt in range(_MANY_MARGIN):
        case = FilterCase(
            op,
            "margin",
            slug,
            usual_row(seed + attempt, size),
            params,
            "Logits as in use: the same answer in every arithmetic.",
            (
                "Margin",
                "Unsorted",
                *(("MinusInfinity",) if size >= _MASKED else ()),
                *(("EngineProfile",) if profile in PROFILES else ()),
                *(("Entropy",) if op in {"typical", "eta", "top_h"} else ()),
                *(("Deviation",) if op == "top_n_sigma" else ()),
                *(("Xtc", "Coin") if op == "xtc" else ()),
            ),
            profile=profile,
            uniform=0.5 if op == "xtc" else None,
        )
        (values,) = values_of(op, profile, case.request())
        if is_decided(case.row.numbers, op, values):  # type: ignore[arg-type]  # no recipe
            return case.draft()
    raise PurposeError(f"no row of {size} tokens decides {op} with {params}")


def _narrow(value: Any) -> Any:
    """Return a number in 32 bits, as rules take it."""
    return nearest(value, "f32") if isinstance(value, float) else value
