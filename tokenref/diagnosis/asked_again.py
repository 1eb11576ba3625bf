"""Signatures of misread questions: the reference answers the questions of a run again.

Nothing is known of misreadings before a run, as there are too many records. So the few shortest
failures of an operation are misread in every way, and then all of its questions in the ways that
explain most of these.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import takewhile
from time import process_time
from typing import Final

from tokenref.answers import Answer, Ok
from tokenref.diagnosis.asked import MOST_AGAIN, SUMMING, VARIANT, named
from tokenref.diagnosis.misread_questions import changes_sum
from tokenref.diagnosis.misreadings import Misreadings, misread, said_of
from tokenref.diagnosis.mistakes import SUMS
from tokenref.diagnosis.row_facts import AT_THE_END
from tokenref.diagnosis.signatures import FEWEST, Reference, Signature, by_place
from tokenref.diagnosis.wrong_answers import BEGINS
from tokenref.judge import FAILURES, judge
from tokenref.record import OWN_DRAW_OPS, Case, op_of, rows_op
from tokenref.result import Result, answer_digest, place_of, size
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import MustRefuse

_MOST_OF_RIGHT: Final = 5_000
"""The tokens of the longest question that was answered right and is misread."""

_MOST_TRIED: Final = 12
"""How many of the shortest failures are misread in every way."""

MOST_SECONDS: Final = 20
"""How long this process works on each of the two: the shortest failures, and all questions."""


class Patience:
    """The time that misreadings may take. It is asked for between them."""

    def __init__(self) -> None:
        self._end = process_time() + MOST_SECONDS

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return process_time() > self._end

    def some(self, ways: Misreadings) -> Misreadings:
        """Return those ways to misread questions for which there is time."""
        return lambda op, rows: takewhile(lambda _: not self.is_over, ways(op, rows))


def signatures_of_misread(
    failed: Mapping[str, Result],
    passed: Mapping[str, Case],
    reference: Reference,
    ways: Misreadings,
    share: float,
    late: set[str],
) -> list[Signature]:
    """Return the signatures of misread questions that explain a share of the shortest failures.

    They are about the failures, and about the records of the same operations that pass. One that is
    about a single record of fewer than three rows explains nothing: the answer may be chance.
    Failures that are not misread in every way, for lack of time, are added to `late`.
    """
    tried = _tried(failed, reference, ways, share)
    patience = Patience()
    some, unasked = patience.some(ways), set[str]()
    likely: dict[str, dict[str, str]] = {}
    rows: Counter[str] = Counter()
    for record, case in {**{r: seen.case for r, seen in failed.items()}, **passed}.items():
        only = tried.get((place_of(case), case.profile))
        if only and not isinstance(case.verdict, MustRefuse):
            wrong = failed.get(record)
            most = MOST_AGAIN if wrong else _MOST_OF_RIGHT
            answered = iter(()) if patience.is_over else misread(case, reference, some, only, most)
            for name, answer, differ in answered:
                if _fails(case, answer, wrong):
                    answers = likely.setdefault(name, {})
                    if not wrong or answers.get(record) != wrong.answer:  # by another such way
                        answers[record] = answer_digest(op_of(case), answer)
                    rows[name] += differ
            unasked |= only if patience.is_over else set()
    for record, seen in failed.items():
        names = tried.get((place_of(seen.case), seen.case.profile), set())
        late |= {record} if names is None or names & unasked else set()
    likely = {name: answers for name, answers in likely.items() if name not in unasked}
    for name, answers in likely.items():
        answers |= {record: seen.answer for record, seen in failed.items() if name in seen.facts}

    summing = [seen for seen in failed.values() if rows_op(seen.case) in SUMMING]
    shown = {fact for seen in summing for fact in seen.facts}
    right = [
        case
        for case in (passed.values() if SUMS.keys() & likely.keys() else ())
        if rows_op(case) in SUMMING
        and not isinstance(case.verdict, MustRefuse)
        and size(case)[0] <= _MOST_OF_RIGHT
    ]
    return [
        Signature("misreading", name.partition(VARIANT)[0], said_of(name), answers)
        for name, answers in likely.items()
        if (len(answers) > 1 or rows[name] >= FEWEST)
        and _tells(name, answers, failed)
        and not (name in SUMS and name not in shown and any(changes_sum(name, c) for c in right))
    ]


def _tried(
    failed: Mapping[str, Result], reference: Reference, ways: Misreadings, share: float
) -> dict[tuple[str, str], set[str] | None]:
    """Return the misreadings that explain a share of the shortest failures of each operation.

    None: there is no time for them.
    """
    groups: dict[tuple[str, str], dict[str, Result]] = {}
    for place, here in by_place(failed).items():
        for record, seen in here.items() if place not in OWN_DRAW_OPS else ():
            groups.setdefault((place, seen.case.profile), {})[record] = seen
    patience, tried = Patience(), dict[tuple[str, str], set[str] | None]()
    for about, here in groups.items():
        found = _of_shortest(here.values(), reference, patience.some(ways), share)
        tried[about] = None if patience.is_over else found
    return tried


def _tells(name: str, answers: Mapping[str, str], failed: Mapping[str, Result]) -> bool:
    """Return whether a misreading explains a failure that not every sum explains."""
    explained = (seen for record, seen in failed.items() if answers.get(record) == seen.answer)
    is_end = name.startswith(named(BEGINS))
    return any(is_end or AT_THE_END not in seen.facts for seen in explained)


def _of_shortest(
    here: Iterable[Result], reference: Reference, ways: Misreadings, share: float
) -> set[str]:
    """Return the misreadings that explain a share of the shortest failures."""
    hits: Counter[str] = Counter()
    only: set[str] | None = None
    tried = sorted(here, key=lambda seen: size(seen.case))[:_MOST_TRIED]
    tried = [seen for seen in tried if size(seen.case)[0] <= MOST_AGAIN]
    for left, seen in zip(reversed(range(len(tried))), tried, strict=True):
        op, again = op_of(seen.case), misread(seen.case, reference, ways, only)
        hits.update({name for name, said, _ in again if answer_digest(op, said) == seen.answer})
        if left < share * len(tried):  # what is asked from here on can still explain enough
            only = {name for name, count in hits.items() if count + left >= share * len(tried)}
    return only or set()


def _fails(case: Case, answer: Answer, seen: Result | None) -> bool:
    """Return whether an answer fails apart from its stages, which programs need not have.

    If the one that was seen fails in its stages only, it must fail in the same.
    """
    plain = answer
    if isinstance(answer, Ok):
        plain = Ok({key: part for key, part in answer.out.items() if key != "stages"})
    if judge(case, plain, SAMPLERS).status in FAILURES:
        return True
    if seen is None or seen.answer != answer_digest(op_of(case), answer):
        return False
    return seen.judgement.detail == judge(case, answer, SAMPLERS).detail
