"""Drive one engine through a selection of cases.

A panic or exception of the engine is a crash of that case, and the run goes
on. What the engine writes to standard error meanwhile (Rust announces each
panic there) is kept away from the report. Before the cases come the canaries:
records with wrong answers. A judge that lets one pass is not to be trusted,
and the run is invalid.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from tokenref.catalogue import Catalogue
from tokenref.engines.answers import Crashed, Engine, Session, Unsupported
from tokenref.judge import FAILURES, Judgement, Status, judge
from tokenref.known import Known, stale_globs, with_known
from tokenref.record import Case, op_of
from tokenref.subjects import load_subject

_Returned = TypeVar("_Returned")


@dataclass(frozen=True)
class Result:
    """What became of one case."""

    case: Case
    judgement: Judgement
    milliseconds: float


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
        return 1 if self.failures or self.stale else 0


def run_engine(
    engine: Engine,
    cases: Sequence[Case],
    catalogue: Catalogue,
    *,
    known: Sequence[Known] = (),
    complete: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run the cases, those of one vocabulary together.

    `complete` says that nothing was left out, so that every glob in `known`
    for this engine must have been seen to differ. `progress` is called with the number of cases
    done, now and then.
    """
    run = Run(engine.name, engine.version, len(cases))
    with quiet_standard_error():
        sessions = Sessions(engine, catalogue)
        for case in catalogue.canaries:
            if sessions.judge(case).status == "pass":
                run.trouble.append(
                    f"the canary {case.id} passed: a wrong answer was taken for right"
                )
        for done, case in enumerate(cases):
            start = time.perf_counter()
            judgement = with_known(sessions.judge(case), engine.name, case.id, known)
            run.results.append(Result(case, judgement, (time.perf_counter() - start) * 1000))
            if progress is not None and done % 100 == 0:
                progress(done)
    if not run.results or run.count("unsupported", "not_run") == len(run.results):
        run.trouble.append("no case could be run: each is unsupported or lacks its vocabulary")
    if complete:
        statuses = {result.case.id: result.judgement.status for result in run.results}
        run.stale = stale_globs(known, engine.name, statuses)
    return run


class Sessions:
    """One engine, loaded with one thing after the other, only the last one kept."""

    def __init__(self, engine: Engine, catalogue: Catalogue) -> None:
        """Load nothing yet."""
        self._engine = engine
        self._catalogue = catalogue
        self._loaded = ("", "")
        self._session: Session | Unsupported | Crashed = Unsupported("nothing is loaded yet")

    def judge(self, case: Case) -> Judgement:
        """Ask the engine, and return the judgement of what it says."""
        subject = self._catalogue.subject(case.vocab)
        if isinstance(subject, str):
            return Judgement("not_run", subject)
        if (case.vocab, case.profile) != self._loaded:
            name, profile = self._catalogue.entry(case.vocab).name, case.profile
            self._session = guarded(lambda: load_subject(self._engine, subject, name, profile))
            self._loaded = (case.vocab, case.profile)
        session = self._session
        if isinstance(session, Unsupported | Crashed):
            return judge(case, session, subject)
        request = msgspec.to_builtins(case.input)
        return judge(case, guarded(lambda: session.answer(op_of(case), request)), subject)


def guarded(call: Callable[[], _Returned]) -> _Returned | Crashed:
    """Return what the call returns, or `Crashed` if it raises anything but the user's interrupt.

    >>> guarded(lambda: 1 // 0)
    Crashed(message='ZeroDivisionError: integer division or modulo by zero')
    """
    try:
        return call()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException
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
