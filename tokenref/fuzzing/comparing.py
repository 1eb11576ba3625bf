"""Ask the reference and the engine the same question, and compare the answers by a golden record.

Only decided questions are compared. If the reference cannot answer, or if rounding may decide the
answer, an engine that differs is not wrong.
"""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import groupby
from typing import Final, Literal, TypeAlias

import msgspec

from tokenref.answers import (
    Answer,
    AnswersMany,
    Crashed,
    Engine,
    NotAsked,
    Ok,
    Refused,
    Skipped,
    Unsupported,
    answers_of,
)
from tokenref.catalogue import is_large, open_catalogue
from tokenref.diagnosis import length
from tokenref.engines.reference import ReferenceEngine
from tokenref.errors import InputError
from tokenref.fuzzing.plan import Question
from tokenref.goldens import GoldensError, golden, right_answer
from tokenref.judge import FAILURES, judge
from tokenref.known import Known
from tokenref.operations import ABOUT
from tokenref.record import SAMPLER_OPS, Case, op_of
from tokenref.rounding.verdicts import sampler_verdict
from tokenref.subjects import OneSession
from tokenref.verdicts import Judgement

_DRAFT_WHY: Final = "A question that a campaign drew; nobody has said yet why it matters."


def case_of(
    question: Question, right: Answer, *, slug: str = "", why: str = _DRAFT_WHY
) -> Case | None:
    """Return the record of a question and the reference's answer to it.

    Return None if rounding may decide the answer, so that other answers are not wrong. The
    slug is the beginning of the record's sum unless another one is given.
    """
    if not isinstance(right, Ok | Refused):
        return None
    op, verdict, area = question.op, None, "bpe"
    if op in SAMPLER_OPS:
        verdict, area = sampler_verdict(op, question.profile, question.request, right), "sampling"
        if verdict is None and not isinstance(right, Refused):
            return None
    case = golden(
        op,
        question.subject,
        question.request,
        right,
        id=f"{area}/{op}/regress/draft",
        profile=question.profile,
        why=why,
        flags=["Random"],
        spec=ABOUT[op].spec,
        verdict=verdict,
    )
    slug = slug or case.sum.removeprefix("sha256:")[:12]
    return msgspec.structs.replace(case, id=f"{area}/{op}/regress/{slug}")


def answered_anew(question: Question, name: str, *, slug: str, why: str) -> Case:
    """Return the record of a question. Raises `InputError`, which begins with `name`.

    >>> from tokenref.subjects import SAMPLERS
    >>> request = {"probs": {"f32": "3f0000003f000000"}, "params": {"k": 1}}
    >>> question = Question("top_k", "standard", SAMPLERS, "", request)
    >>> answered_anew(question, "one", slug="one", why="Of two equal tokens the first stays.").out
    KeepOutput(keep=[0])
    """
    answer = right_answer_to(question, name)
    try:
        case = case_of(question, answer, slug=slug, why=why)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(f"{name}: it is no question: {error}") from None
    if case is None:
        raise InputError(f"{name}: rounding decides the answer, so that it is no golden")
    return case


def right_answer_to(question: Question, name: str) -> Ok | Refused:
    """Return the reference's answer. Raise `InputError`, beginning with `name`, if none."""
    try:
        return right_answer(question.op, question.profile, question.subject, name, question.request)
    except GoldensError as error:
        raise InputError(f"{name}: {error}") from None


# ---- comparing

Fate: TypeAlias = Literal["same", "failed", "known", "ignored", "unsupported", "undecided"]
"""`known`: a failure like those of a known difference. `ignored`: a failure that matches --ignore.
`undecided`: the reference cannot answer, or rounding decides."""

MANY: Final = 64
"""Number of questions in one message to an engine that takes many."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one question."""

    question: Question
    fate: Fate
    right: Answer
    got: Answer
    judgement: Judgement

    @property
    def kind(self) -> tuple[str, str]:
        """The kind of failure: the status, and the reference's error code, if any."""
        right = self.right
        return self.judgement.status, right.code if isinstance(right, Refused) else ""


class Comparer:
    """One engine and the reference, each with its last subject loaded.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> from tokenref.engines.table import engine
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"aba": 2})
    >>> question = Question("encode", "definition", vocabulary, "", {"text": "aba"})
    >>> outcome, = Comparer(engine("greedy")).compare([question])
    >>> outcome.fate, outcome.judgement.detail
    ('failed', "ids, from token 0 (byte 0): expected 0 b'a', 1 b'b', 0 b'a', got 2 b'aba'")
    """

    def __init__(
        self, engine: Engine, ignored: Sequence[str] = (), known: Sequence[Known] = ()
    ) -> None:
        """Load nothing yet. `ignored` are patterns of operation, status and detail.

        `known` are known differences. Their records are asked when the first question fails.
        """
        self._known = known
        self.known_keys: dict[str, set[tuple[Hashable, ...]]] = {}
        """For operations with findings, what `likely_bugs` recognizes known failures by."""

        self._ignored = ignored
        self.name, self.version = engine.name, engine.version
        self._engine = OneSession(engine)
        self._reference = OneSession(ReferenceEngine())

    @property
    def takes_many(self) -> bool:
        """Whether the engine takes many questions in one message."""
        return isinstance(self._engine.session, AnswersMany)

    def compare(self, questions: Sequence[Question]) -> list[Outcome]:
        """Return the outcome of each question, in order."""
        return [
            replace(each, fate="known") if each.fate == "failed" and self._is_known(each) else each
            for each in self._compared(questions)
        ]

    @cached_property
    def known_failures(self) -> list[Outcome]:
        """How the engine fails the records of its known differences."""
        if not self._known:
            return []
        catalogue = open_catalogue()
        questions = []
        for case in sorted(catalogue.cases, key=lambda case: (op_of(case), case.vocab or "")):
            if is_large(case) or not any(e.covers(self.name, case.id) for e in self._known):
                continue
            subject = catalogue.subject(case.vocab)
            if not isinstance(subject, str) and length(case) <= _LONGEST_KNOWN:
                name = catalogue.name(case.vocab) if case.vocab else ""
                request = msgspec.to_builtins(case.input)
                questions.append(Question(op_of(case), case.profile, subject, name, request))
        return [each for each in self._compared(questions) if each.fate == "failed"]

    def _is_known(self, outcome: Outcome) -> bool:
        """Return whether a failure is known by its message. A wrong answer has no message.

        A crash with the same message is the same one in every operation.
        """
        status, op = outcome.judgement.status, outcome.question.op
        message = without_values(outcome.judgement.detail)
        return status != "fail" and any(
            each.judgement.status == status
            and without_values(each.judgement.detail) == message
            and (status == "crash" or each.question.op == op)
            for each in self.known_failures
        )

    def _compared(self, questions: Sequence[Question]) -> list[Outcome]:
        """Return the outcomes before known differences are considered."""
        outcomes: list[Outcome] = []
        for _, each in groupby(questions, key=lambda q: (id(q.subject), q.profile, q.op)):
            group = list(each)
            rights = _answers(self._reference, group)
            pairs = list(zip(group, rights, strict=True))
            asked = [question for question, right in pairs if isinstance(right, Ok | Refused)]
            answers = iter(_answers(self._engine, asked))
            nothing = Unsupported("was not asked")
            for question, right in pairs:
                answer = next(answers) if isinstance(right, Ok | Refused) else nothing
                outcome = _outcome(question, right, answer)
                says = f"{question.op} {outcome.judgement.status} {outcome.judgement.detail}"
                ignored = any(fnmatchcase(says, glob) for glob in self._ignored)
                if outcome.fate == "failed" and ignored:
                    outcome = replace(outcome, fate="ignored")
                outcomes.append(outcome)
        return outcomes


_LONGEST: Final = 80
_LONGEST_KNOWN: Final = 2_000
_VARIES: Final = re.compile(
    r"'[^']*'|\"[^\"]*\"|0[xX][0-9a-fA-F]+|\[[^\]]*\]|-?\d+(?:\.\d+)?(?:e-?\d+)?"
)
"""What varies between messages: quoted texts, numbers, lists."""


def without_values(text: str) -> str:
    """Return the beginning of a message without what varies.

    >>> without_values("KeyError: 'abc' at 12")
    'KeyError: * at *'
    """
    return _VARIES.sub("*", text)[:_LONGEST]


def _answers(loaded: OneSession, questions: Sequence[Question]) -> Sequence[Answer]:
    """Return the answers to questions of one operation about one subject."""
    if not questions:
        return []
    first = questions[0]
    session = loaded.load(first.subject, first.name or "drawn", first.profile)
    if isinstance(session, Unsupported | Crashed):
        return [session] * len(questions)
    return answers_of(session, first.op, [question.request for question in questions])


def _outcome(question: Question, right: Answer, got: Answer) -> Outcome:
    """Return the outcome of a question with these two answers."""
    if not isinstance(right, Ok | Refused):
        return Outcome(question, "undecided", right, got, Judgement("not_run"))
    if isinstance(got, Unsupported | Skipped | NotAsked):
        return Outcome(question, "unsupported", right, got, Judgement("unsupported", got.reason))
    if _is_plainly_right(right, got):
        return Outcome(question, "same", right, got, Judgement("pass"))
    case = case_of(question, right)
    if case is None:
        return Outcome(question, "undecided", right, got, Judgement("not_run"))
    judgement = judge(case, got, question.subject)
    fate: Fate = "failed" if judgement.status in FAILURES else "same"
    return Outcome(question, fate, right, got, judgement)


def _is_plainly_right(right: Answer, got: Answer) -> bool:
    """Return whether two answers are equal, without making a record."""
    if isinstance(right, Refused) and isinstance(got, Refused):
        return right.code == got.code
    if not isinstance(right, Ok) or not isinstance(got, Ok):
        return False
    plain = {key: value for key, value in right.out.items() if key != "stages"}
    return got.out in (right.out, plain)
