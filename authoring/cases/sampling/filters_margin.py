"""Filters on rows of usual logits with a proven margin: no number is round, nothing is near.

A program that takes logits only is tested here: with these it cannot hide a wrong formula
behind rounding, because no arithmetic is near enough to another answer.
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, logits
from authoring.cases.splitmix import SplitMix64
from sampling_ref import PROFILES
from tokenref.floats import nearest
from tokenref.record import FILTER_OPS
from tokenref.rounding.margins import is_decided, values_of

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
"""Rows of so many tokens have one that is impossible for each so many."""

_MANY: Final = 100
"""So many rows are looked at for one with a margin."""


def drafts() -> Iterator[SamplerDraft]:
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
    for attempt in range(_MANY):
        case = FilterCase(
            op,
            "margin",
            slug,
            usual_row(seed + attempt, size),
            params,
            "Logits as a model gives them, and a parameter as people set it, in the width in "
            "which they write it: the answer is the same in every arithmetic.",
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
