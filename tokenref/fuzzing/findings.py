"""Findings: the smallest question that fails, the answers, and a record of it.

The subject of a finding, a vocabulary or tokenizer, is stored by name if it is generally
available, otherwise completely.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json, parse_plain_json
from tokenref.answers import Answer, Ok, Refused
from tokenref.catalogue import shipped_subject, shipped_subjects
from tokenref.errors import InputError
from tokenref.floats import Strict
from tokenref.fuzzing.comparing import Outcome, case_of
from tokenref.fuzzing.plan import GENERATOR, Question
from tokenref.fuzzing.shrinking import Shrunk
from tokenref.goldens import GoldensError, own_subject
from tokenref.record import canonical_json
from tokenref.subjects import SAMPLERS, Samplers, Subject, TokenizerFile

LONGEST_GOT: Final = 2_000
"""Maximum length of an error or crash message, in characters."""

LONGEST_LOG: Final = 500
"""How much of a program's last standard error is kept, in characters."""


class Finding(Strict, frozen=True, kw_only=True, tag_field="kind", tag="finding"):
    """One failure, shrunk."""

    index: int
    """The number of the question that failed first."""

    status: str
    detail: str
    """Where the answer first differs."""

    got: dict[str, Any]
    """The engine's answer: `ok`, `err`, `crash` or `timeout`."""

    record: dict[str, Any]
    """The golden record. Its `why` says what differed and should be replaced by a reason."""

    subject: dict[str, Any] | None
    """The subject, see `written`."""

    asked: dict[str, Any]
    """The original question: `op`, `in`, and the name of its subject, if any."""

    unfinished: bool = False
    """Whether it may still become smaller, because a limit or an interrupt ended shrinking."""

    now_and_then: bool = False
    """Whether it did not fail when it was asked again."""

    replaces: str = ""
    """The sum of the larger finding that this one replaces, if any."""

    @property
    def sum(self) -> str:
        """The sum of the record: findings with the same sum are the same finding."""
        return str(self.record["sum"])

    def is_kept(self, known: Mapping[str, "Finding"]) -> bool:
        """Return whether it is kept, given the known findings by sum.

        Of two findings with the same sum, the same one is kept in whatever order they are read.
        """
        other = known.get(self.sum)
        return other is None or (self.unfinished, self.index) < (other.unfinished, other.index)


def finding_of(first: Outcome, shrunk: Shrunk, *, index: int, seed: int, engine: str) -> Finding:
    """Return the finding of a failure, with the original and the smallest question."""
    smallest = shrunk.outcome
    question, detail = smallest.question, smallest.judgement.detail
    why = (
        f"{engine} differs: {detail[:300]}. Found by tokenref fuzz "
        f"(generator {GENERATOR}, seed {seed}, question {index})."
    )
    case = case_of(question, smallest.right, why=why.encode("ascii", "backslashreplace").decode())
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
    """Return the question of a finding. Raises `InputError` if its subject is invalid."""
    record = finding.record
    try:
        subject = read_written(finding.subject)
    except (BpeError, GoldensError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{record['id']}: its vocabulary or tokenizer cannot be loaded: {error}"
        ) from None
    name = str((finding.subject or {}).get("name", ""))
    return Question(record["op"], record["profile"], subject, name, record["in"])


def said(answer: Answer) -> dict[str, Any]:
    """Return an engine's answer as plain data, in the form of the protocol.

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


LARGEST: Final = 20_000
"""Maximum tokens of a vocabulary that is stored completely; a larger one needs a name."""


def written(subject: Subject, name: str) -> dict[str, Any] | None:
    """Return a subject as plain data: null for samplers, a name for a shipped subject.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> sorted(written(vocabulary_by_concatenation({b"ac": 0}), ""))
    ['vocabulary']
    >>> written(shipped_subject("tiny"), "")
    {'name': 'tiny'}
    """
    if isinstance(subject, Samplers):
        return None
    shipped = shipped_name(subject)
    if shipped is not None:
        return {"name": shipped}
    if isinstance(subject, TokenizerFile):
        return {"tokenizer": json.loads(subject.content), "name": subject.name}
    if name and len(subject.tokens) > LARGEST:
        return {"name": name}
    named = NamedVocabulary(name or "drawn", "Drawn or made smaller by a campaign.", subject)
    return {"vocabulary": json.loads(dump_plain_json(named))}


def read_written(content: dict[str, Any] | None) -> Subject:
    """Return the subject from plain data; the inverse of `written`.

    Raises `BpeError` if a vocabulary is invalid or cannot be found.
    """
    if content is None:
        return SAMPLERS
    if "vocabulary" in content:
        data = canonical_json(content["vocabulary"])
        return parse_plain_json(data, "the vocabulary of a finding").vocabulary
    if "tokenizer" in content:
        return TokenizerFile(str(content["name"]), canonical_json(content["tokenizer"]))
    return named_subject(str(content["name"]))


def named_subject(name: str) -> Subject:
    """Return a subject by name or path; names in the fixtures come first."""
    return shipped_subject(name) if name in shipped_subjects() else _own_subject(name)


_own_subject = cache(own_subject)


def shipped_name(subject: Vocabulary | TokenizerFile) -> str | None:
    """Return the name that the fixtures have for a subject, or None."""
    return _shipped().get(subject.digest())


@cache
def _shipped() -> dict[str, str]:
    return {entry.digest: name for name, entry in shipped_subjects().items()}
