"""What programs answer that misread questions: the reference answers those of a run again.

A misreading is a changed question (`misread_questions`) or a changed answer (`wrong_answers`). It
is a cause if it gives the wrong answers, and if the records that pass would still do so. Nothing is
known of misreadings before a run, as there are too many records. So the few shortest failures of an
operation are misread in every way, and then all of its questions in the ways that explain most of
these.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from operator import ne
from time import process_time
from typing import Final, TypeAlias

from msgspec import UNSET

from tokenref.answers import Answer, Ok
from tokenref.diagnosis import try_hint
from tokenref.diagnosis.asked import (
    MOST_AGAIN,
    SUMMING,
    VARIANT,
    Asked,
    Misreading,
    Row,
    named,
    rows_of,
)
from tokenref.diagnosis.misread_questions import QUESTIONS, changes_sum, perturbed
from tokenref.diagnosis.mistakes import NO_ANSWERS, NOT_RESCALED, SUMS
from tokenref.diagnosis.row_facts import AT_THE_END
from tokenref.diagnosis.signatures import FEWEST, Reference, Signature, by_place
from tokenref.diagnosis.wrong_answers import ANSWERS, BEGINS, in_steps
from tokenref.judge import FAILURES, judge
from tokenref.questions.sampling import BatchInput, tokens_of
from tokenref.record import OWN_DRAW_OPS, Case, op_of, rows_op
from tokenref.result import Result, answer_digest, place_of, size
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import MustRefuse

Misreadings: TypeAlias = Callable[[str, Sequence[Row]], Iterable[Misreading]]
"""Returns ways to misread questions, given their operation and rows."""


def misread(
    case: Case,
    reference: Reference,
    ways: Misreadings,
    only: Container[str] | None = None,
    most: int = MOST_AGAIN,
) -> Iterator[tuple[str, Answer, int]]:
    """Yield how a program may misread a question, its answer if it is another one then, and more.

    The third part is the number of rows whose answers differ. With `only`, nothing else is
    answered. A question of more than `most` tokens is left out.
    """
    question, rows = rows_of(case)
    is_batch = isinstance(case.input, BatchInput)
    op = question["op"] if is_batch else op_of(case)
    if tokens_of(rows) > most:
        return

    def ask(rows: Sequence[Row]) -> Answer:
        return reference(case, {**question, "rows": rows} if is_batch else rows[0])

    def ask_one(row: Row) -> Row | None:
        answer = ask([row])
        return outs_of(answer)[0] if isinstance(answer, Ok) else None

    def outs_of(answer: Ok) -> Sequence[Row]:
        return answer.out["rows"] if is_batch else [answer.out]

    right = ask(rows)
    outs = outs_of(right) if isinstance(right, Ok) else []
    layout = getattr(case.input, "layout", UNSET)
    order = () if layout is UNSET else layout.order
    asked = [
        Asked(op, case.profile, rows, at % len(rows), out, ask_one, order)
        for at, out in enumerate(outs)
    ]
    known: list[tuple[Sequence[Row], Answer]] = [(rows, right)]
    for way in ways(op, rows) if asked else ():
        is_other = way.name.startswith(NOT_RESCALED) and "probs" in rows[0]  # without a maximum
        if is_other or (only is not None and way.name not in only):
            continue
        if way.is_question:
            changed = [{**each.row, **_changed(way, each)} for each in asked[: len(rows)]]
            answer = next((answer for asked, answer in known if asked == changed), None)
            if answer is None:
                answer = ask(changed)
                known.append((changed, answer))
        else:
            wrong = [{**each.out, **_changed(way, each)} for each in asked]
            answer = Ok({"rows": wrong} if is_batch else wrong[0])
        if answer != right:
            differ = sum(map(ne, outs, outs_of(answer))) if isinstance(answer, Ok) else len(outs)
            yield way.name, answer, differ


def _changed(way: Misreading, asked: Asked) -> Row:
    found = try_hint(lambda: way.change(asked)) or {}
    if found or way.is_question:
        return found
    return try_hint(lambda: in_steps(way.change, asked)) or {}


_USUAL: Final = (
    *(Misreading(named(says), change) for says, change in QUESTIONS.items()),
    *(Misreading(named(says), change, is_question=False) for says, change in ANSWERS.items()),
)


def usual(op: str, rows: Sequence[Row]) -> Iterator[Misreading]:
    """Yield all changed questions and answers."""
    yield from _USUAL
    yield from perturbed(op, rows)


def said_of(name: str) -> str:
    """Return what wrong answers resemble, or have in common, given the name of a misreading."""
    name, _, _ = name.partition(VARIANT)
    is_plain = name in NO_ANSWERS or name.startswith(("answers with ", "steps "))
    return name if is_plain else f"batches with the {name}"


# ---- the failures of a run

_MOST_OF_RIGHT: Final = 5_000
"""The tokens of the longest question that was answered right and is misread."""

_MOST_TRIED: Final = 12
"""How many of the shortest failures are misread in every way."""

MOST_SECONDS: Final = 20
"""How long this process works on each of the two: the shortest failures, and all questions."""


class Patience:
    """The time that misreadings may take. It is asked for between them."""

    def __init__(self) -> None:
        self._end, self._asked, self._over = process_time() + MOST_SECONDS, 0, False

    @property
    def is_over(self) -> bool:
        """Whether the time is over. Looking at the clock takes time itself."""
        self._asked += 1
        self._over |= self._asked % 16 == 0 and process_time() > self._end
        return self._over

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
