"""Ask the reference and the engine the same question, and compare the answers by a golden record.

Only decided questions are compared. If the reference cannot answer, or if rounding may decide the
answer, an engine that differs is not wrong.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from tokenref.answers import (
    UNDECLARED,
    Answer,
    AnswersMany,
    Crashed,
    Engine,
    HasIncidents,
    NotAsked,
    Ok,
    Refused,
    Skipped,
    Unsupported,
    answers_of,
    guarded,
)
from tokenref.catalogue import is_large, open_catalogue
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.errors import InputError
from tokenref.floats import pack, type_of, unpack
from tokenref.fuzzing.plan import Question
from tokenref.goldens import GoldensError, golden, open_own, right_answer
from tokenref.judge import FAILURES, judge
from tokenref.known import Known, entry_for
from tokenref.operations import ABOUT
from tokenref.record import ROW_OPS, SAMPLER_OPS, Case, op_of
from tokenref.result import answer_digest, length, without_values
from tokenref.rounding.verdicts import sampler_verdict
from tokenref.rules import STANDARD, choices_of, other_rules
from tokenref.subjects import OneSession
from tokenref.verdicts import ErrorCode, Judgement, MustRefuse, Verdict

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
    op, area = question.op, "bpe"
    verdict: Verdict | None = None
    if op in SAMPLER_OPS:
        area = "sampling"
        if isinstance(right, Refused):
            verdict = MustRefuse(codes=_codes(question, right))
        else:
            verdict = sampler_verdict(op, question.profile, question.request, right)
            if verdict is None:
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


def _codes(question: Question, right: Refused) -> list[ErrorCode]:
    """Return the codes of all errors of a question to a sampler, first that of the reference.

    A question may have several, and engines look for them in any order.

    >>> from tokenref.subjects import SAMPLERS
    >>> question = Question(
    ...     "top_k", "standard", SAMPLERS, "", {"logits": {"f32": ""}, "params": {"k": 0}}
    ... )
    >>> _codes(question, right_answer_to(question, "one"))
    ['INVALID_ROW', 'INVALID_PARAMETER']
    """
    request, op, found = question.request, question.op, [right.code]
    rows = [request]
    if op == "batch":
        op, rows = request["op"], request["rows"]
    for row in rows:
        for profile, asked, other in _corrected(question.profile, op, row):
            answer = guarded(partial(SamplerSession(profile).answer, asked, other))
            if isinstance(answer, Refused):
                found.append(answer.code)
    return list(dict.fromkeys(found))


def _corrected(
    profile: str, op: str, row: Mapping[str, Any]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield questions without one or another error: about the row alone, and about a valid row."""
    yield profile, op, row
    name = next((name for name in ("logits", "probs") if name in row), None)
    if name is None:
        return
    alone = {name: row[name], "history": [], "prompt_length": 0, "params": {}}
    if op in ROW_OPS:
        yield STANDARD, "temperature", {**alone, "params": {"temperature": 1}}
    else:
        yield STANDARD, "top_k", {**alone, "params": {"k": 1}}
    values = unpack(row[name])
    least = 0.0 if name == "probs" else -inf
    good = [value if least <= value < inf else 0.0 for value in values] or [0.0]
    if max(good) == least:
        good = [1.0] * len(good)
    valid = {**row, name: pack(good, type_of(row[name]))}
    every = [valid]
    if not values:  # no token is in the row, so those that are named are not to be in the valid one
        beyond = {part: _beyond(row[part]) for part in _WITH_TOKENS if part in row}
        every.append({**valid, **beyond})
    for each in every:
        yield profile, op, each
        if "history" in row:
            yield STANDARD, "temperature", {**each, "params": {"temperature": 1}}
            yield profile, op, {**each, "history": [0] * len(row["history"])}


_WITH_TOKENS: Final = ("history", "params", "token")
"""The parts of a question that may have ids of tokens."""


def _beyond(value: Any) -> Any:
    """Return ids that are larger by 1, among lists and the keys of maps.

    >>> _beyond({"biases": {"map": [[0, {"f32": "3f800000"}]]}})
    {'biases': {'map': [[1, {'f32': '3f800000'}]]}}
    """
    if isinstance(value, list):
        return [*map(_beyond, value)]
    if isinstance(value, dict):
        return {name: _beyond(part) for name, part in value.items()}
    return value + 1 if isinstance(value, int) and not isinstance(value, bool) else value


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


@dataclass(frozen=True, eq=False)
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
    ('failed', "ids, from token 0 (byte 0): expected 0 'a', 1 'b', 0 'a', got 2 'aba'")
    """

    def __init__(
        self,
        engine: Engine,
        ignored: Sequence[str] = (),
        known: Sequence[Known] = (),
        *,
        records: Sequence[str] = (),
        ids_only: bool = False,
    ) -> None:
        """Load nothing yet. `ignored` are patterns of operation, status and detail.

        `known` are known differences. Their records, golden ones and those in the files `records`,
        are asked when the first question fails.
        `ids_only` is as for `run_engine`.
        """
        self._known, self._records = known, records
        self.plain = Comparer(engine, ids_only=ids_only) if known else self
        """The same without known differences, to shrink one."""

        self.known_shrunk: dict[Outcome, Hashable] = {}
        """What known failures are recognised by, of those that a finding was compared with."""

        self._ignored, self._ids_only = ignored, ids_only
        self.name, self.version = engine.name, engine.version
        self._engine = OneSession(engine)
        self._program = engine if isinstance(engine, HasIncidents) else None
        self._reference = OneSession(ReferenceEngine())

    @property
    def most_at_once(self) -> int:
        """How many questions the engine takes in one message."""
        return 64 if isinstance(self._engine.session, AnswersMany) else 1

    @property
    def incidents(self) -> list[str]:
        """Failures of the engine that no single question caused; who reports some removes them."""
        return [] if self._program is None else self._program.incidents

    def restart(self) -> bool:
        """End the engine's process, and return whether it has one. The next question starts it."""
        if self._program is not None:
            self._program.close()
        return self._program is not None

    def compare(self, questions: Sequence[Question]) -> list[Outcome]:
        """Return the outcome of each question, in order."""
        return [
            replace(each, fate="known") if each.fate == "failed" and self._is_known(each) else each
            for each in self._compared(questions)
        ]

    @cached_property
    def known_failures(self) -> dict[Outcome, str]:
        """How the engine fails the records of its known differences, each with its title."""
        if not self._known:
            return {}
        catalogues = [open_catalogue(), *(open_own(Path(path)) for path in self._records)]
        cases = [(case, catalogue) for catalogue in catalogues for case in catalogue.cases]
        questions, titles = [], []
        for case, catalogue in sorted(cases, key=lambda it: (op_of(it[0]), it[0].vocab or "")):
            entry = entry_for(self.name, case.id, self._known)
            if is_large(case) or entry is None:
                continue
            subject = catalogue.subject(case.vocab)
            if not isinstance(subject, str) and length(case) <= _LONGEST_KNOWN:
                name = catalogue.name(case.vocab) if case.vocab else ""
                request = msgspec.to_builtins(case.input)
                questions.append(Question(op_of(case), case.profile, subject, name, request))
                titles.append(entry.title)
        pairs = zip(self._compared(questions), titles, strict=True)
        return {outcome: title for outcome, title in pairs if outcome.fate == "failed"}

    @cached_property
    def _known_choices(self) -> dict[tuple[str, str], set[tuple[str, Any]]]:
        """The other choices of a rule that explain all known failures of a title and operation."""
        found: dict[tuple[str, str], set[tuple[str, Any]]] = {}
        for outcome, title in self.known_failures.items():
            if outcome.judgement.status == "fail":
                fitting, key = _fitting(outcome), (outcome.question.op, title)
                found[key] = fitting & found.get(key, fitting)
        return found

    def _is_known(self, outcome: Outcome) -> bool:
        """Return whether a failure is known by its message, or by a rule that explains the listed.

        A crash that says more than how it ended is the same one in every operation. A wrong answer
        has no message. If a rule gives it, it is known before it is shrunk, so that
        no question that fails for another reason is shrunk to it.
        """
        status, op = outcome.judgement.status, outcome.question.op
        if status == "fail":
            known = [choices for (of, _), choices in self._known_choices.items() if of == op]
            return any(known) and not _fitting(outcome).isdisjoint(set().union(*known))
        message = without_values(outcome.judgement.detail)
        return any(
            each.judgement.status == status
            and without_values(each.judgement.detail) == message
            and (each.question.op == op or (status == "crash" and ": " in message))
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
                outcome = _outcome(question, right, answer, ids_only=self._ids_only)
                says = f"{question.op} {outcome.judgement.status} {outcome.judgement.detail}"
                ignored = any(fnmatchcase(says, glob) for glob in self._ignored)
                if outcome.fate == "failed" and ignored:
                    outcome = replace(outcome, fate="ignored")
                outcomes.append(outcome)
        return outcomes


def fitting_choices(
    op: str, profile: str, request: Mapping[str, Any], out: Mapping[str, Any] | None
) -> dict[tuple[str, Any], str]:
    """Return the other choices, as point and choice, that give this answer, with their rules."""
    asked = choices_of(op, profile)
    if asked is None or out is None:
        return {}
    return {
        (point, choice): name
        for point, choice, name in other_rules(op, asked)
        if answer_digest(op, SamplerSession(name).answer(op, request)) == answer_digest(op, Ok(out))
    }


def _fitting(outcome: Outcome) -> set[tuple[str, Any]]:
    question, out = outcome.question, outcome.got.out if isinstance(outcome.got, Ok) else None
    return {*fitting_choices(question.op, question.profile, question.request, out)}


_LONGEST_KNOWN: Final = 2_000


def _answers(loaded: OneSession, questions: Sequence[Question]) -> Sequence[Answer]:
    """Return the answers to questions of one operation about one subject."""
    if not questions:
        return []
    first = questions[0]
    session = loaded.load(first.subject, first.name or "drawn", first.profile)
    if isinstance(session, Unsupported | Crashed):
        return [session] * len(questions)
    return answers_of(session, first.op, [question.request for question in questions])


def _outcome(question: Question, right: Answer, got: Answer, *, ids_only: bool) -> Outcome:
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
    declared = UNDECLARED.for_op(question.op, ids_only=ids_only)
    judgement = judge(case, got, question.subject, declared)
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
