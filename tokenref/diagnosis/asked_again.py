"""Signatures of misread questions: the reference answers the questions of a run again.

Nothing is known of misreadings before a run, as there are too many records. So the few shortest
failures of an operation are misread in every way, and then all of its questions in the ways that
explain most of these.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import starmap
from typing import Final

from tokenref.answers import Answer, Ok
from tokenref.diagnosis.facts import AT_THE_END
from tokenref.diagnosis.misreadings import (
    MOST_AGAIN,
    SUMMING,
    Misreadings,
    changes_sum,
    in_words,
    misread,
)
from tokenref.diagnosis.mistakes import SUMS
from tokenref.diagnosis.signatures import FEWEST, Reference, Signature, by_place
from tokenref.judge import FAILURES, judge
from tokenref.record import OWN_DRAW_OPS, Case, op_of, rows_op
from tokenref.result import Result, answer_digest, place_of, size
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import MustRefuse

_MOST_OF_RIGHT: Final = 5_000
"""The tokens of the longest question that was answered right and is misread."""

_MOST_TRIED: Final = 12
"""How many of the shortest failures are misread in every way."""


def signatures_of_misread(
    failed: Mapping[str, Result],
    passed: Mapping[str, Case],
    reference: Reference,
    ways: Misreadings,
    share: float,
) -> list[Signature]:
    """Return the signatures of misread questions that explain a share of the shortest failures.

    They are about the failures, and about the records of the same operations that pass. One that is
    about a single record of fewer than three rows explains nothing: the answer may be chance.
    """
    likely: dict[str, dict[str, str]] = {}
    rows: Counter[str] = Counter()
    of_place: dict[tuple[str, str], set[str]] = {}
    for about, here in _by_profile(failed).items():
        of_place[about] = _of_shortest(here, reference, ways, share)
    for record, case in {**{r: seen.case for r, seen in failed.items()}, **passed}.items():
        only = of_place.get((place_of(case), case.profile))
        if only and not isinstance(case.verdict, MustRefuse):
            most = MOST_AGAIN if record in failed else _MOST_OF_RIGHT
            for name, answer, differ in misread(case, reference, ways, only, most):
                wrong = answer_digest(op_of(case), answer)
                seen = failed.get(record)
                if _fails(case, answer) or (seen and _fails_like(seen, wrong, answer)):
                    answers = likely.setdefault(name, {})
                    if not seen or answers.get(record) != seen.answer:  # by another way of the name
                        answers[record] = wrong
                    rows[name] += differ
    for name, answers in likely.items():
        answers |= {record: seen.answer for record, seen in failed.items() if name in seen.facts}

    def tells(record: str, answer: str) -> bool:
        seen = failed.get(record)
        return seen is not None and seen.answer == answer and AT_THE_END not in seen.facts

    summing = [seen for seen in failed.values() if rows_op(seen.case) in SUMMING]
    shown = {fact for seen in summing for fact in seen.facts}
    right = [
        case
        for case in passed.values()
        if rows_op(case) in SUMMING
        and not isinstance(case.verdict, MustRefuse)
        and size(case)[0] <= _MOST_OF_RIGHT
    ]
    return [
        Signature("misreading", name, in_words(name), answers)
        for name, answers in likely.items()
        if (len(answers) > 1 or rows[name] >= FEWEST)
        and any(starmap(tells, answers.items()))
        and not (name in SUMS and name not in shown and any(changes_sum(name, c) for c in right))
    ]


def _by_profile(failed: Mapping[str, Result]) -> dict[tuple[str, str], dict[str, Result]]:
    """Return the failures that can be misread questions, by operation and profile."""
    found: dict[tuple[str, str], dict[str, Result]] = {}
    for place, here in by_place(failed).items():
        for record, seen in here.items() if place not in OWN_DRAW_OPS else ():
            found.setdefault((place, seen.case.profile), {})[record] = seen
    return found


def _of_shortest(
    here: Mapping[str, Result], reference: Reference, ways: Misreadings, share: float
) -> set[str]:
    """Return the misreadings that explain a share of the shortest failures."""
    hits: Counter[str] = Counter()
    only: set[str] | None = None
    tried = sorted(here.values(), key=lambda seen: size(seen.case))[:_MOST_TRIED]
    tried = [seen for seen in tried if size(seen.case)[0] <= MOST_AGAIN]
    for left, seen in zip(reversed(range(len(tried))), tried, strict=True):
        again = misread(seen.case, reference, ways, only)
        hits.update(
            {
                name
                for name, said, _ in again
                if answer_digest(op_of(seen.case), said) == seen.answer
            }
        )
        if left < share * len(tried):  # what is asked from here on can still explain enough
            only = {name for name, count in hits.items() if count + left >= share * len(tried)}
    return only or set()


def _fails_like(seen: Result, wrong: str, answer: Answer) -> bool:
    """Return whether an answer differs as the one that was seen, perhaps in its stages only."""
    detail = judge(seen.case, answer, SAMPLERS).detail
    return seen.answer == wrong and seen.judgement.detail == detail


def _fails(case: Case, answer: Answer) -> bool:
    """Return whether an answer fails apart from its stages, which programs need not have."""
    if isinstance(answer, Ok):
        answer = Ok({key: part for key, part in answer.out.items() if key != "stages"})
    return judge(case, answer, SAMPLERS).status in FAILURES
