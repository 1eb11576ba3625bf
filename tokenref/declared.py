"""Judge an answer in the light of what the engine declared: a stage it promised must be there."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from tokenref.engines.answers import Answer, Declared, Ok
from tokenref.judge import Judgement, judge
from tokenref.record import Case
from tokenref.subjects import Subject


def judge_declared(case: Case, answer: Answer, subject: Subject, declared: Declared) -> Judgement:
    """Return the judgement of an answer; one that passes fails if a declared stage is not there.

    Only stages that the record has are asked for: a record of a long text has none.
    """
    judgement = judge(case, answer, subject, declared)
    if declared.stages and judgement.status == "pass" and isinstance(answer, Ok):
        missing = _missing_stage(case, answer.out, declared)
        if missing:
            return Judgement("fail", f"stage {missing}: declared in hello, and not in the answer")
    return judgement


def _missing_stage(case: Case, out: Mapping[str, Any], declared: Declared) -> str:
    """Return a declared stage that the record has and the answer has not, or nothing."""
    expected, got = getattr(case.out, "stages", UNSET), out.get("stages") or {}
    for stage in declared.stages:
        if getattr(expected, stage, UNSET) is not UNSET and stage not in got:
            return stage
    return ""
