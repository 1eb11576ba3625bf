"""What a program answers if it misreads a question in a way that is frequent.

The reference answers again: with a sum of weights that is forgotten or lacks its last block, with
histories that are counted otherwise, with rounded random numbers, with a part of another row of the
batch, with steps in another order. A misreading is named if it gives the wrong answers, and if the
records that pass would still do so.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from operator import ne
from typing import Final, TypeAlias

from tokenref.answers import Answer, Ok
from tokenref.diagnosis import try_hint
from tokenref.diagnosis.asked import MOST_AGAIN, VARIANT, Asked, Misreading, Row, named, rows_of
from tokenref.diagnosis.misread_questions import QUESTIONS, perturbed
from tokenref.diagnosis.mistakes import NO_ANSWERS, NOT_RESCALED
from tokenref.diagnosis.signatures import Reference
from tokenref.diagnosis.wrong_answers import ANSWERS, in_steps
from tokenref.questions.sampling import BatchInput, tokens_of
from tokenref.record import Case, op_of

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
    asked = [
        Asked(op, case.profile, rows, at % len(rows), out, ask_one) for at, out in enumerate(outs)
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
