"""What was found: the smallest question that fails, the answers, and a record of it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from tokenref.answers import Answer, Ok, Refused
from tokenref.fuzzing.comparing import Outcome
from tokenref.fuzzing.question import Question
from tokenref.fuzzing.records import case_of
from tokenref.fuzzing.selection import GENERATOR
from tokenref.fuzzing.shrinking import Shrunk
from tokenref.fuzzing.written_subjects import read_written, written

LONGEST_GOT: Final = 2_000
"""Characters of a refusal or crash that are kept."""

LONGEST_LOG: Final = 500
"""Characters that are kept of what a program wrote last to its standard error."""


class Finding(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="finding"
):
    """One failure, made smaller."""

    index: int
    """The number of the question that failed first."""

    status: str
    detail: str
    """Where the answer first differs."""

    got: dict[str, Any]
    """What the engine said: `ok` with its answer, `err`, `crash` or `timeout`."""

    record: dict[str, Any]
    """The golden record; its `why` says what differed, and is to be replaced by a reason."""

    subject: dict[str, Any] | None
    """What it is about, see `written_subjects`."""

    asked: dict[str, Any]
    """The question as it was drawn: `op`, `in` and what it was about, if that has a name."""

    unfinished: bool = False
    """Whether it may still become smaller: a limit or an interrupt ended that."""

    now_and_then: bool = False
    """Whether it did not fail when it was asked once more."""

    replaces: str = ""
    """The sum of a larger finding that this one was made of later, if it was."""

    @property
    def sum(self) -> str:
        """What the record means: two findings with one sum are one finding."""
        return str(self.record["sum"])

    def is_kept(self, known: Mapping[str, "Finding"]) -> bool:
        """Tell whether it is kept beside, or in the place of, what is known by its sum.

        Of two findings of one sum always the same one is kept, whichever was read first.
        """
        other = known.get(self.sum)
        return other is None or (self.unfinished, self.index) < (other.unfinished, other.index)


def finding_of(first: Outcome, shrunk: Shrunk, *, index: int, seed: int, engine: str) -> Finding:
    """Return the finding of a failure, as it was drawn and as small as it became."""
    smallest = shrunk.outcome
    question, detail = smallest.question, smallest.judgement.detail
    why = (
        f"{engine} differs: {detail[:300]}. Found by tokenref fuzz "
        f"(generator {GENERATOR}, seed {seed}, question {index})."
    )
    case = case_of(question, smallest.right, why=_ascii(why))
    assert case is not None  # noqa: S101 - it was judged, so there is a record
    asked = {"op": first.question.op, "in": dict(first.question.request)}
    if first.question.name:
        asked["of"] = first.question.name
    return Finding(
        index=index,
        status=smallest.judgement.status,
        detail=detail,
        got=said(smallest.got),
        record=msgspec.to_builtins(case),
        subject=written(question.subject, question.name),
        asked=asked,
        unfinished=not shrunk.is_finished,
        now_and_then=not shrunk.fails_again,
    )


def question_of(finding: Finding) -> Question:
    """Return the question that a finding asks again. Raises `BpeError` if its subject is none."""
    record, subject = finding.record, read_written(finding.subject)
    name = str((finding.subject or {}).get("name", ""))
    return Question(record["op"], record["profile"], subject, name, record["in"])


def said(answer: Answer) -> dict[str, Any]:
    """Return an engine's answer as plain data, as the protocol has it.

    >>> said(Refused("MISSING_BYTE", "no token for 0xff"))
    {'err': {'code': 'MISSING_BYTE', 'msg': 'no token for 0xff'}}
    """
    if isinstance(answer, Ok):
        return {"ok": dict(answer.out)}
    if isinstance(answer, Refused):
        return {"err": {"code": answer.code, "msg": answer.message[:LONGEST_GOT]}}
    message = getattr(answer, "message", "") or getattr(answer, "reason", "")
    said_last = {"log": log[-LONGEST_LOG:]} if (log := getattr(answer, "log", "")) else {}
    return {type(answer).__name__.lower(): {"msg": str(message)[:LONGEST_GOT], **said_last}}


def _ascii(text: str) -> str:
    """Return a text that is safe anywhere: an engine may say anything."""
    return text.encode("ascii", "backslashreplace").decode()
