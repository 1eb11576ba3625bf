"""A case before it has an answer: what it asks, why, and how its purpose is proven.

Every generator yields drafts. The answer is computed by the reference, never
written by hand; where a person knows it anyway, or where a particular bug must
show, the draft carries a *purpose*: a check that the finished case really does
what its `why` claims. A draft that fails it stops the generator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec
from msgspec import Struct

from tokenref.answers import Unsupported, guarded
from tokenref.engines.reference import ReferenceEngine
from tokenref.goldens import GoldensError, golden, right_answer
from tokenref.judge import judge
from tokenref.record import Case, RecordError, op_of
from tokenref.subjects import TokenizerSubject, load_subject
from tokenref.verdicts import MustRefuse

Purpose: TypeAlias = Callable[[TokenizerSubject, Case], None]


class PurposeError(RecordError):
    """A case does not do what its `why` claims."""


@dataclass(frozen=True)
class Draft:
    """A case about a tokenizer, without its answer."""

    op: str
    topic: str
    """The name of the file it goes to, and the second part of its id's middle."""

    slug: str
    vocabulary: str
    """A name from `cases.vocabularies`, `tokenizer_files`, or the registry."""

    request: Struct
    why: str
    flags: Sequence[str]
    spec: str = "docs/bpe.md#definition"
    profile: str = "definition"
    purposes: Sequence[Purpose] = field(default_factory=tuple)

    @property
    def id(self) -> str:
        """The permanent id: operation, topic, slug."""
        return f"bpe/{self.op}/{self.topic}/{self.slug}"


def finish(draft: Draft, subject: TokenizerSubject) -> Case:
    """Answer a draft with the reference, and prove its purpose. Raises `PurposeError`."""
    request = msgspec.to_builtins(draft.request)
    try:
        right = right_answer(draft.op, draft.profile, subject, draft.vocabulary, request)
    except GoldensError as error:
        raise PurposeError(f"{draft.id}: {error}") from None
    case = golden(
        draft.op,
        subject,
        request,
        right,
        id=draft.id,
        profile=draft.profile,
        why=draft.why,
        flags=sorted(draft.flags),
        spec=draft.spec,
    )
    for purpose in draft.purposes:
        purpose(subject, case)
    return case


def answers(*ids: int) -> Purpose:
    """Return the purpose "the tokens are these", for cases whose answer a person knows.

    >>> answers(1, 2)  # doctest: +ELLIPSIS
    <function ...>
    """

    def check(_: TokenizerSubject, case: Case) -> None:
        got = msgspec.to_builtins(case.out).get("ids") if case.out is not None else None
        if got != list(ids):
            raise PurposeError(f"{case.id}: the tokens must be {list(ids)}, got {got}")

    return check


def refuses(code: str) -> Purpose:
    """Return the purpose "the input is refused for this reason".

    >>> refuses("MISSING_BYTE")  # doctest: +ELLIPSIS
    <function ...>
    """

    def check(_: TokenizerSubject, case: Case) -> None:
        if not isinstance(case.verdict, MustRefuse) or case.verdict.codes != [code]:
            raise PurposeError(f"{case.id}: must be refused with {code}, got {case.verdict}")

    return check


def tells_apart(name: str, rival: ReferenceEngine) -> Purpose:
    """Return the purpose "an engine with this bug fails here".

    >>> tells_apart("the reference itself", ReferenceEngine())  # doctest: +ELLIPSIS
    <function ...>
    """

    def check(subject: TokenizerSubject, case: Case) -> None:
        session = load_subject(rival, subject, name, case.profile)
        if isinstance(session, Unsupported):
            raise PurposeError(f"{case.id}: {name} cannot answer: {session.reason}")
        answer = guarded(lambda: session.answer(op_of(case), msgspec.to_builtins(case.input)))
        if judge(case, answer, subject).status == "pass":
            raise PurposeError(f"{case.id}: {name} must fail here, but passes")

    return check
