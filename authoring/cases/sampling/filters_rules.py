"""Every rule of every filter once, each on the question that tells it from most other rules."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths, logits, parts
from tokenref.answers import Answer, Refused
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import unpack
from tokenref.rounding.margins import is_decided, values_of
from tokenref.rules import STANDARD, choices_of, rule_names

_EVEN: Final = eighths(2, 2, 2, 2)
_EIGHT: Final = parts(8, *([1] * 8))
_PAIRS: Final = parts(16, 3, 5, 3, 5)
_TIED: Final = parts(16, 2, 2, 6, 2, 2, 2)

QUESTIONS: Final[dict[str, tuple[tuple[Row, dict[str, Any]], ...]]] = {
    "top_k": ((_TIED, {"k": 3}), (_EVEN, {"k": 0}), (_EVEN, {"k": 4}), (_PAIRS, {"k": 1})),
    "top_p": (
        (_TIED, {"p": 0.5}),
        (_TIED, {"p": 0.625}),
        (_TIED, {"p": 0.6875}),
        (_EVEN, {"p": 0.5}),
        (_PAIRS, {"p": 0.0}),
        (_PAIRS, {"p": 0.25}),
    ),
    "min_p": (
        (parts(16, 2, 4, 2, 8), {"m": 0.5, "least": 3}),
        (_PAIRS, {"m": 1.0}),
        (_PAIRS, {"m": 2.0}),
    ),
    "typical": (
        (_EIGHT, {"mass": 0.5}),
        (_EIGHT, {"mass": 0.5625}),
        (parts(16, 2, 4, 2, 8), {"mass": 0.25}),
        (parts(16, 2, 4, 2, 8), {"mass": 0.75}),
    ),
    "epsilon": ((parts(16, 2, 4, 2, 8), {"cutoff": 0.25, "least": 3}), (_EVEN, {"cutoff": 0.25})),
    "eta": (
        (parts(16, 2, 4, 2, 8), {"cutoff": 0.25, "scale": 4.0, "least": 3}),
        (_EVEN, {"cutoff": 0.25, "scale": 4.0}),
    ),
    "top_n_sigma": (
        (logits(8.0, 0.0, 8.0, 0.0), {"n": 1.75}),
        (logits(4.0, 4.0, 0.0, 0.0), {"n": 0.0}),
    ),
    "top_a": ((parts(16, 2, 4, 2, 8), {"a": 1.0, "least": 3}), (_EVEN, {"a": 8.0})),
    "tail_free": ((parts(32, 4, 12, 8, 4, 4), {"z": 1.0}), (parts(16, 6, 2, 2, 6), {"z": 0.25})),
    "top_h": ((_TIED, {"alpha": 0.625}), (parts(16, *([1] * 16)), {"alpha": 0.453125})),
    "xtc": (
        (parts(16, 2, 4, 4, 6), {"threshold": 0.25, "probability": 0.5}),
        (parts(16, 2, 4, 4, 6), {"threshold": 0.125, "probability": 0.5}),
        (_PAIRS, {"threshold": 0.1875, "probability": 0.5}),
    ),
}


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op in QUESTIONS:
        for rule in _rules(op):
            yield _case(op, rule).draft()


def _rules(op: str) -> list[str]:
    """Return the rules that matter to one filter alone: what p is a share of does in chains."""
    return [rule for rule in rule_names(op) if "base." not in rule or rule.startswith("base.")]


def _case(op: str, rule: str) -> FilterCase:
    cases = [_asking(op, rule, row, params) for row, params in QUESTIONS[op]]
    decided = [case for case in cases if _is_decided(case)]
    return max(decided, key=_others)


def _asking(op: str, rule: str, row: Row, params: dict[str, Any]) -> FilterCase:
    choices = choices_of(op, rule) or {}
    said = ", ".join(f"{point} is {choice!r}" for point, choice in choices.items())
    zero_or_above = [value for value in params.values() if value in {0, 2.0}]
    case = FilterCase(
        op,
        "rules",
        rule.replace("+", "_"),
        row,
        params,
        (f"The rule in which {said}" if said else "The rule that is standard at every point")
        + ", on a question that most other rules answer otherwise.",
        (
            *(("Dyadic", "Ties") if row.kind == "probs" else ("Deviation",)),
            *(("Boundary", "Crossing") if "boundary" in rule else ()),
            *(("Boundary",) if "equality" in rule else ()),
            *(("Coin", "Xtc") if op == "xtc" else ()),
            *(("Entropy",) if op in {"typical", "eta", "top_h"} else ()),
            *(("ParameterDomain",) if zero_or_above else ()),
            *(("Least",) if "least" in params else ()),
        ),
        profile=rule,
        uniform=0.5 if op == "xtc" else None,
    )
    answer = _answer(case, rule)
    return replace(case, refused=answer.code) if isinstance(answer, Refused) else case


def _is_decided(case: FilterCase) -> bool:
    """Say whether the reference refuses, or answers with a proven margin."""
    if case.refused:
        return True
    request = case.request()
    (values,) = values_of(case.op, case.profile, request)
    kind = case.row.kind
    row = unpack(request[kind])
    return is_decided(row, case.op, values, kind="probs" if kind == "probs" else "logits")


def _answer(case: FilterCase, rule: str) -> Answer:
    return SamplerSession(rule).answer(case.op, case.request())


def _others(case: FilterCase) -> int:
    """Return how many rules answer otherwise, the standard one above all."""
    own = _answer(case, case.profile)
    others = sum(_answer(case, rule) != own for rule in _rules(case.op))
    return others + 1000 * (_answer(case, STANDARD) != own)
