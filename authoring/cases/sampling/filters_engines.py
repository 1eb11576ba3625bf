"""Filters as each engine has them, under its own names, and every rule of every filter once."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import Any, Final, TypeAlias

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, eighths, logits, parts
from sampling_ref import PROFILES
from sampling_ref.engines.profile import Profile, Stage
from sampling_ref.parameters import Domain
from tokenref.answers import Answer, Refused
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import unpack
from tokenref.record import FILTER_OPS
from tokenref.rounding.margins import UNDEFINED_TIES, is_decided, values_of
from tokenref.rules import STANDARD, choices_of, rule_names


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _engines_cases()
    yield from _rules_cases()


# ---- the questions, under the names of the steps

ROW: Final = logits(0.25, 2.0, -inf, -1.0, 1.0, 3.0)
EVEN: Final = logits(1.5, 1.5, 1.5, 1.5)
TIED: Final = logits(3.0, 2.0, 2.0, 2.0, 1.0)
Question: TypeAlias = tuple[str, Row, Mapping[str, Any], str, tuple[str, ...]]

_EQUAL: Final = (
    "Four equal tokens, and a parameter that their shares meet exactly: engines keep more or "
    "fewer, and other ones."
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


# ---- filters as each engine has them

NEXT: Final = 2.0**-20
"""A step beyond the end of a domain, which 32 bits hold."""

REFUSES: Final = frozenset(
    {
        ("transformers", "top_k"),
        ("transformers", "min_p"),
        ("transformers", "top_h"),
        ("transformers", "min_tokens_to_keep"),
        ("vllm", "top_k"),
        ("vllm", "top_p"),
        ("vllm", "min_p"),
        ("sglang", "top_k"),
        ("sglang", "top_p"),
        ("sglang", "min_p"),
        ("mlx-lm", "min_p"),
        ("mlx-lm", "xtc_probability"),
        ("mlx-lm", "xtc_threshold"),
    }
)
"""Engines and parameters that the engine itself checks; what others do beyond, nobody promises."""


def _engines_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op in FILTER_OPS:
        for name, profile in PROFILES.items():
            stages = [stage for stage in profile.stages if stage.step == op]
            if stages:
                yield from _without_repetition(
                    (*_asked(op, name, stages[0]), *_edges(op, profile, stages[0]))
                )


def _without_repetition(cases: Iterable[FilterCase]) -> Iterator[SamplerDraft]:
    """Yield the drafts of cases that ask what no earlier one asks."""
    asked: list[Mapping[str, Any]] = []
    for case in cases:
        if case.request() not in asked:
            asked.append(case.request())
            yield case.draft()


def _asked(op: str, profile: str, stage: Stage) -> Iterator[FilterCase]:
    for slug, row, generic, why, flags in QUESTIONS[op]:
        if generic.keys() <= stage.takes.keys():
            params = {stage.takes[ours]: value for ours, value in generic.items()}
            is_open = (profile, op) in UNDEFINED_TIES and "Ties" in flags
            yield _case(op, profile, (slug, row, params, why, flags), is_open=is_open)


def _edges(op: str, profile: Profile, stage: Stage) -> Iterator[FilterCase]:
    """Yield each parameter of the stage at both sides of both ends of its domain."""
    usual = {
        stage.takes[ours]: value
        for ours, value in QUESTIONS[op][0][2].items()
        if ours in stage.takes
    }
    for ours, theirs in stage.takes.items():
        if ours == "protected" or (ours == "least" and op != "top_p"):
            continue
        for name, value in _around(profile.parameter(theirs).domain):
            question: Question = (
                f"{theirs.replace('_', '-')}-{name}",
                ROW if op != "typical" else logits(0.25, 2.0, -1.0, 1.0, 3.0),
                {**usual, theirs: value},
                (
                    f"{theirs} at an end of what the engine takes, or beyond: refused, off, or "
                    "strictest."
                ),
                ("ParameterDomain",),
            )
            case = _case(op, profile.name, question)
            if not case.refused or (profile.name, theirs) in REFUSES:
                yield case


def _around(domain: Domain) -> Iterator[tuple[str, Any]]:
    """Yield values at the ends of a domain, and beyond."""
    if domain.or_none:
        yield "none", None
    if domain.kind == "whole":
        if domain.low > -inf:
            yield "lowest", int(domain.low)
            yield "too-low", int(domain.low) - 1
        else:
            yield "zero", 0
        if domain.also is not None:
            yield "off", domain.also
    if domain.kind == "number":
        if domain.low > -inf:
            yield "low", float(domain.low)
            yield "too-low", domain.low - NEXT
        else:
            yield "zero", 0.0
        if domain.high < inf:
            yield "high", float(domain.high)
            yield "too-high", domain.high + NEXT
        else:
            yield "one", 1.0
            yield "above-one", 1.5


def _case(op: str, profile: str, question: Question, *, is_open: bool = False) -> FilterCase:
    slug, row, params, why, flags = question
    more = {"xtc": ("Xtc", "Coin"), "top_n_sigma": ("Deviation",)}.get(op, ())
    more += ("Entropy",) if op in {"typical", "eta", "top_h"} else ()
    asked = FilterCase(
        op,
        "engines",
        f"{profile}-{slug}",
        row,
        params,
        f"{PROFILES[profile].title}: {why}",
        ("EngineProfile", *flags, *more),
        profile=profile,
        uniform=0.5 if op == "xtc" else None,
        is_open=is_open,
    )
    answer = SamplerSession(profile).answer(op, asked.request())
    if isinstance(answer, Refused):
        return replace(asked, refused=answer.code)
    return asked


# ---- every rule of every filter

_EVEN: Final = eighths(2, 2, 2, 2)
_EIGHT: Final = parts(8, *([1] * 8))
_PAIRS: Final = parts(16, 3, 5, 3, 5)
_TIED: Final = parts(16, 2, 2, 6, 2, 2, 2)

QUESTIONS_RULES: Final[dict[str, tuple[tuple[Row, dict[str, Any]], ...]]] = {
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


def _rules_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for op in QUESTIONS_RULES:
        for rule in _rules(op):
            yield _case_rules(op, rule).draft()


def _rules(op: str) -> list[str]:
    """Return the rules that matter to one filter alone: what p is a share of does in chains."""
    return [rule for rule in rule_names(op) if "base." not in rule or rule.startswith("base.")]


def _case_rules(op: str, rule: str) -> FilterCase:
    cases = [_asking(op, rule, row, params) for row, params in QUESTIONS_RULES[op]]
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
        + ", where most other rules differ.",
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
    """Return whether the reference refuses, or answers with a proven margin."""
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
