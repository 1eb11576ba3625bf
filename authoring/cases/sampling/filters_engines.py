"""Filters as each engine has them, with parameters under the engine's own names."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, logits
from authoring.cases.sampling.filters_engine_questions import QUESTIONS, ROW, Question
from sampling_ref import PROFILES
from sampling_ref.engines.profile import Domain, Interval, OrNone, Profile, Stage, Whole
from tokenref.answers import Refused
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.record import FILTER_OPS
from tokenref.rounding.margins import UNDEFINED_TIES

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


def drafts() -> Iterator[SamplerDraft]:
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
                    f"{theirs} at an end of what the engine takes, or beyond it: it is refused, "
                    "means that the step is off, or is the strictest value of all."
                ),
                ("ParameterDomain",),
            )
            case = _case(op, profile.name, question)
            if not case.refused or (profile.name, theirs) in REFUSES:
                yield case


def _around(domain: Domain) -> Iterator[tuple[str, Any]]:
    """Yield values at the ends of a domain, and beyond."""
    if isinstance(domain, OrNone):
        yield "none", None
        domain = domain.rule
    if isinstance(domain, Whole):
        if domain.low is not None:
            yield "lowest", domain.low
            yield "too-low", domain.low - 1
        else:
            yield "zero", 0
        if domain.also is not None:
            yield "off", domain.also
    if isinstance(domain, Interval):
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
