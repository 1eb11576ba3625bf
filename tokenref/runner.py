"""Drive one engine through a selection of cases.

A panic or exception of the engine is a crash of that case, and the run goes
on. What the engine writes to standard error meanwhile (Rust announces each
panic there) is kept away from the report. Among the cases are the canaries:
records with wrong answers. A judge that lets one pass is not to be trusted,
and the run is invalid.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from tokenref.answers import (
    UNDECLARED,
    Answer,
    AnswersMany,
    Crashed,
    Declares,
    Engine,
    HasIncidents,
    NotAsked,
    Ok,
    Session,
    TimedOut,
    Unsupported,
    answer_question,
)
from tokenref.catalogue import Catalogue
from tokenref.judge import FAILURES, Judgement, Status, judge
from tokenref.known import Known, stale_globs, with_known
from tokenref.protocol.batches import batches
from tokenref.record import Case, op_of
from tokenref.subjects import Subject, load_subject

_Returned = TypeVar("_Returned")

_LONGEST_GOT: Final = 2000
"""Characters of an answer that are kept for the report."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one case."""

    case: Case
    judgement: Judgement
    milliseconds: float
    """The time it took; of cases asked together the mean."""

    got: str = ""
    """The answer, if it is not right, as JSON; cut if it is long."""

    log: str = ""
    """The end of what the engine wrote to standard error, if it broke or was late."""


@dataclass
class Run:
    """What became of all selected cases with one engine."""

    engine: str
    version: str
    selected: int
    results: list[Result] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    """Why the run proves nothing, if so: canaries that passed, or nothing that was run."""

    stale: list[str] = field(default_factory=list)
    """Known differences that a complete run did not see."""

    incidents: list[str] = field(default_factory=list)
    """Failures that are no one case's: questions that fail together, and none of them alone."""

    again: list[str] = field(default_factory=list)
    """The arguments of `tokenref check` that mean this engine; empty: its name."""

    restarts: int = 0
    """How often the engine had to be started again."""

    def count(self, *statuses: Status) -> int:
        """Return how many cases ended with one of these statuses."""
        return sum(result.judgement.status in statuses for result in self.results)

    @property
    def is_valid(self) -> bool:
        """Whether every selected case has a result, and the judge could be trusted."""
        return not self.trouble and len(self.results) == self.selected

    @property
    def failures(self) -> list[Result]:
        """The results that make the run fail."""
        return [result for result in self.results if result.judgement.status in FAILURES]

    @property
    def exit_code(self) -> int:
        """0 clean, 1 failures, 3 invalid."""
        if not self.is_valid:
            return 3
        return 1 if self.failures or self.stale or self.incidents else 0


def run_engine(
    engine: Engine,
    cases: Sequence[Case],
    catalogue: Catalogue,
    *,
    known: Sequence[Known] = (),
    complete: bool = False,
    progress: Callable[[int], None] | None = None,
    seed: int = 0,
) -> Run:
    """Run the cases, those of one vocabulary together, else in an order that `seed` makes.

    `complete` says that nothing was left out, so that every glob in `known`
    for this engine must have been seen to differ. `progress` is called with the number of cases
    done, now and then. The results are in the order of the cases.
    """
    run = Run(engine.name, engine.version, len(cases))
    asked = [*cases, *catalogue.canaries]
    results: dict[int, Result] = {}
    with quiet_standard_error():
        sessions = Sessions(engine, catalogue)
        for batch in batches(asked, seed):
            answered = sessions.results([asked[number] for number in batch])
            results.update(zip(batch, answered, strict=True))
            if progress is not None:
                progress(min(len(results), len(cases)))
    for number, canary in enumerate(catalogue.canaries, start=len(cases)):
        if results.pop(number).judgement.status == "pass":
            run.trouble.append(f"the canary {canary.id} passed: a wrong answer was taken for right")
    in_order = [results[number] for number in range(len(cases))]
    run.results = with_known_results(in_order, engine.name, known)
    run.trouble += [f"the engine was given up: {reason}" for reason in sessions.lost]
    if isinstance(engine, HasIncidents):
        run.incidents = list(engine.incidents)
        run.again = list(engine.again)
        run.restarts = engine.restarts
    conclude(run, known, complete=complete)
    return run


def conclude(run: Run, known: Sequence[Known], *, complete: bool) -> None:
    """Say of a run what only shows when all cases have a result."""
    if not run.results or run.count("unsupported", "skip", "not_run") == len(run.results):
        run.trouble.append(
            "no case could be run: each is unsupported, skipped, or lacks its vocabulary or answer"
        )
    if complete:
        statuses = {result.case.id: result.judgement.status for result in run.results}
        run.stale = stale_globs(known, run.engine, statuses)


def with_known_results(
    results: Sequence[Result], engine: str, known: Sequence[Known]
) -> list[Result]:
    """Return results in the light of what is known of an engine."""
    found = []
    for result in results:
        judgement = with_known(result.judgement, engine, result.case.id, known)
        same = judgement is result.judgement
        found.append(result if same else replace(result, judgement=judgement))
    return found


class Sessions:
    """One engine, loaded with one thing after the other, only the last one kept."""

    def __init__(self, engine: Engine, catalogue: Catalogue) -> None:
        """Load nothing yet."""
        self.lost: list[str] = []
        """Why questions were not put to an engine that was given up."""

        self._engine = engine
        self._guard = not isinstance(engine, HasIncidents)  # another program raises nothing here
        self._catalogue = catalogue
        self._loaded = ("", "")
        self._session: Session | Unsupported | Crashed = Unsupported("nothing is loaded yet")

    def judge(self, case: Case) -> Judgement:
        """Ask the engine, and return the judgement of what it says."""
        return self.results([case])[0].judgement

    def results(self, cases: Sequence[Case]) -> list[Result]:
        """Ask the engine cases of one operation, profile and vocabulary, and judge its answers."""
        start = time.perf_counter()
        first = cases[0]
        subject = self._catalogue.subject(first.vocab)
        if isinstance(subject, str):
            return [Result(case, Judgement("not_run", subject), 0.0) for case in cases]
        session = self._open(first, subject)
        op, declared = op_of(first), UNDECLARED
        answers: Sequence[Answer]
        if isinstance(session, Unsupported | Crashed):
            answers = [session] * len(cases)
        else:
            requests = [msgspec.to_builtins(case.input) for case in cases]
            answers = answers_of(session, op, requests, guard=self._guard)
            if isinstance(session, Declares):
                declared = session.declared(op)
        for answer in answers:
            if isinstance(answer, NotAsked) and answer.reason not in self.lost:
                self.lost.append(answer.reason)
        judged = [
            judge(case, answer, subject, declared)
            for case, answer in zip(cases, answers, strict=True)
        ]
        each = (time.perf_counter() - start) * 1000 / len(cases)
        return [
            result_of(case, answer, judgement, each)
            for case, answer, judgement in zip(cases, answers, judged, strict=True)
        ]

    def _open(self, case: Case, subject: Subject) -> Session | Unsupported | Crashed:
        """Return a session for a case, the last one if it will do."""
        if (case.vocab or "", case.profile) != self._loaded:
            name, profile = self._catalogue.name(case.vocab), case.profile
            self._session = guarded(lambda: load_subject(self._engine, subject, name, profile))
            self._loaded = (case.vocab or "", case.profile)
        return self._session


def result_of(case: Case, answer: Answer, judgement: Judgement, milliseconds: float) -> Result:
    """Return the result of a case: its judgement, and of the answer what helps to understand it."""
    got = log = ""
    if isinstance(answer, Crashed | TimedOut):
        log = answer.log
    elif isinstance(answer, Ok) and judgement.status in FAILURES:
        got = _text(answer.out)
    return Result(case, judgement, milliseconds, got, log)


def answers_of(
    session: Session, op: str, requests: Sequence[Mapping[str, Any]], *, guard: bool = True
) -> Sequence[Answer]:
    """Return a session's answers, in one call if it takes many; what raises is a crash.

    Where one call for many raises, or gives another number of answers, each is asked alone.
    With `guard` false nothing is caught: the session is no foreign code.
    """
    if isinstance(session, AnswersMany):
        if not guard:
            return session.answer_many(op, requests)
        answers = guarded(lambda: session.answer_many(op, requests))
        if not isinstance(answers, Crashed) and len(answers) == len(requests):
            return answers
    return [guarded(partial(answer_question, session, op, request)) for request in requests]


def _text(out: Mapping[str, Any]) -> str:
    """Return an answer as JSON, as far as it can be written so, and cut if it is long."""
    try:
        text = json.dumps(out, default=repr)
    except (ValueError, RecursionError) as error:
        text = f"not to be written: {error}"
    return (
        text if len(text) <= _LONGEST_GOT else f"{text[:_LONGEST_GOT]} ... ({len(text)} characters)"
    )


def guarded(call: Callable[[], _Returned]) -> _Returned | Crashed:
    """Return what the call returns, or `Crashed` if it raises anything but the user's interrupt.

    >>> guarded(lambda: 1 // 0)
    Crashed(message='ZeroDivisionError: integer division or modulo by zero', log='')
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException, and so is exit()
        return Crashed(f"{type(error).__name__}: {error}"[:300])


@contextmanager
def quiet_standard_error() -> Iterator[None]:
    """Keep what native code writes to standard error out of the report."""
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error to keep quiet
        yield
        return
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
