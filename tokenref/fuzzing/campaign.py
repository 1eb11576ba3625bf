"""A campaign: the groups of one shard, one after another, until all are done or time is up.

The unit of work is a group: its questions are drawn, asked, compared, and failures are shrunk.
For an executor, input and output of a group are lines of JSON, so that it can run on another
machine. A worker opens the engine once and keeps it.

Each finished group is reported at once. Only the journal is kept: a campaign that was stopped
resumes with the first group that is not done. When time is up, failures that were already found
are shrunk for at most `Limits.seconds`.
"""

import atexit
import signal
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from itertools import count, takewhile
from multiprocessing import get_context
from operator import attrgetter
from typing import Final

import msgspec
from msgspec import Struct, structs

from tokenref.answers import Engine, NotAsked, quiet_standard_error
from tokenref.engines.table import available
from tokenref.errors import InputError
from tokenref.fuzzing.comparing import Comparer, Outcome
from tokenref.fuzzing.drawn_questions import questions_of
from tokenref.fuzzing.findings import (
    Finding,
    disagreement,
    exact_key,
    finding_of,
    likely_bugs,
    question_of,
)
from tokenref.fuzzing.journal import Group, Journal, summed
from tokenref.fuzzing.plan import GROUP, Limits, Plan
from tokenref.fuzzing.shrinking import Shrunk, shrunk
from tokenref.protocol.channel import Patience
from tokenref.protocol.opening import imported, open_program
from tokenref.result import without_values

COMMAND: Final = "cmd:"
"""The prefix of an engine's name that is a command."""

_RESTARTS: Final = 1_000_000
"""Maximum number of restarts: each smaller question that crashes the program is one."""


class Done(Struct, frozen=True, kw_only=True):
    """The result of a group."""

    group: Group
    findings: list[Finding]
    trouble: str = ""
    """Why the engine can no longer be asked, if so."""

    interrupted: bool = False
    """Whether Ctrl-C was pressed while a failure was shrunk."""


def open_engine(name: str, patience: Patience | None = None) -> Engine:
    """Return an engine by its name, or start the program of `cmd:PROGRAM ARGS`.

    Raises `InputError` for an unknown engine, or one that is not installed.

    >>> open_engine("heap").name
    'heap'
    """
    if name.startswith(COMMAND):
        patience = replace(patience or Patience(), restarts=_RESTARTS)
        program = open_program(name.removeprefix(COMMAND), patience)
        atexit.register(program.close)
        return program
    return available(name)


class Work(Struct, frozen=True, kw_only=True):
    """What all groups of a campaign have in common."""

    plan: Plan
    patience: Patience
    limits: Limits


def run_group(work: bytes, group: int) -> bytes:
    """Run a group. The work and the result are JSON."""
    read, comparer = _begun(work)
    return msgspec.json.encode(done_group(read.plan, comparer, group, read.limits))


@lru_cache(maxsize=1)
def _begun(work: bytes) -> tuple[Work, Comparer]:
    """Return the work as read, and its engine opened."""
    read = msgspec.json.decode(work, type=Work)
    return read, comparer_for(read.plan, open_engine(read.plan.engine, read.patience))


def comparer_for(plan: Plan, engine: Engine) -> Comparer:
    """Return what compares the engine of a campaign with the reference."""
    own = plan.records
    return Comparer(engine, plan.ignored, plan.known, records=own, ids_only=plan.ids_only)


def done_group(plan: Plan, comparer: Comparer, group: int, limits: Limits | None = None) -> Done:
    """Draw the questions of a group, compare, and shrink the first failure of each kind.

    Other failures of a kind are mostly the same mistake, and shrinking takes long. After a known
    difference, which is not a finding, the next of the kind follows. An interrupt ends the
    shrinking; the remaining failures are kept as they are.
    """
    start = time.perf_counter()
    first = GROUP * group
    questions = questions_of(plan.selection, plan.seed, group)
    if plan.cases is not None:
        questions = questions[: plan.cases - first]
    findings, interrupted, limits = list[Finding](), False, limits or Limits()
    before = len(comparer.incidents)
    with quiet_standard_error():
        outcomes = comparer.compare(questions)
        seen: set[tuple[str, str, str]] = set()
        for place, outcome in enumerate(outcomes):
            kind = (outcome.question.op, *outcome.kind)
            if outcome.fate != "failed" or kind in seen:
                continue
            shrinking = Limits(seconds=0) if interrupted else limits
            kind_of = attrgetter("kind") if comparer.plain is comparer else _way
            small = shrunk(outcome, comparer, shrinking, kind_of)
            interrupted = interrupted or small.was_interrupted
            engine = f"{comparer.name} {comparer.version}"
            finding = finding_of(outcome, small, index=first + place, seed=plan.seed, engine=engine)
            listed, is_same = _listed(comparer, finding, limits)
            if is_same:
                outcomes[place] = replace(outcome, fate="known")
                continue
            seen.add(kind)
            findings.append(structs.replace(finding, perhaps=listed))
    counts = summed({each.question.op: {each.fate: 1}} for each in outcomes)
    lacking = [each for each in outcomes if each.fate == "unsupported"]
    declined = summed({e.question.op: {e.judgement.detail: 1}} for e in lacking)
    incidents, comparer.incidents[before:] = comparer.incidents[before:], []
    done = Group(
        group=group,
        counts=counts,
        milliseconds=round((time.perf_counter() - start) * 1000),
        declined=declined,
        incidents=incidents,
    )
    lost = next((each.got for each in outcomes if isinstance(each.got, NotAsked)), None)
    trouble = "" if lost is None else lost.reason
    return Done(group=done, findings=findings, trouble=trouble, interrupted=interrupted)


_SECONDS_OF_KNOWN: Final = 0.5
"""Maximum time to shrink the question of a known difference."""


@lru_cache(maxsize=4096)
def _way(outcome: Outcome) -> tuple[str, ...]:
    """Return how an answer is wrong. A question is shrunk only to others wrong in this way."""
    whole = Shrunk(outcome, is_finished=False)
    found = finding_of(outcome, whole, index=0, seed=0, engine="")
    return outcome.kind[1], *disagreement(found)


def _listed(comparer: Comparer, finding: Finding, limits: Limits) -> tuple[str, bool]:
    """Return the title of the known difference that a finding may be, and whether it surely is.

    It surely is if a listed record, shrunk as the finding is, becomes the same question with the
    same wrong answer, whatever its tokens and numbers are. If it is only about the same operation,
    it may be a new bug. Those that look most like it come first, because shrinking takes long.
    A crash with another message is a new bug.
    """
    op, key = str(finding.record["op"]), exact_key(finding)
    limits = structs.replace(limits, seconds=min(_SECONDS_OF_KNOWN, limits.seconds))
    name, message = (finding.subject or {}).get("name", ""), without_values(finding.detail)

    def unlike(outcome: Outcome) -> tuple[bool, bool, bool]:
        other = without_values(outcome.judgement.detail) != message
        return outcome not in comparer.known_shrunk, outcome.question.name != name, other

    failures = comparer.known_failures
    alike = [o for o in failures if (o.question.op, o.judgement.status) == (op, finding.status)]
    alike.sort(key=unlike)
    for outcome in alike:
        if outcome not in comparer.known_shrunk and _way(outcome)[1:] == disagreement(finding):
            small = shrunk(outcome, comparer.plain, limits, _way)
            found = finding_of(outcome, small, index=0, seed=0, engine=comparer.name)
            comparer.known_shrunk[outcome] = exact_key(found)
        if comparer.known_shrunk.get(outcome) == key:
            return failures[outcome], True
    is_other = finding.status == "crash" and ": " in message
    return failures[alike[0]] if alike and not is_other else "", False


WAITING: Final = 64
"""Number of groups submitted at a time: enough for many workers, few enough to lose."""

_TICK: Final = 0.2
"""Seconds between checks of the clock while waiting."""


def run_campaign(
    journal: Journal,
    report: Callable[[Done], bool],
    comparer: Comparer,
    *,
    patience: Patience,
    limits: Limits | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
) -> str:
    """Run the groups that a journal lacks, and return in a few words why the campaign ended.

    `report` is called for each finished group and returns whether to continue. Without an executor
    `comparer` is used. After `seconds` no new group is started. `KeyboardInterrupt` propagates
    after the current results have been reported; groups that are running in an executor are run
    again another time.
    """
    end = None if seconds is None else time.monotonic() + seconds
    work = Work(plan=journal.plan, patience=patience, limits=limits or Limits())

    def is_time_up() -> bool:
        return end is not None and time.monotonic() >= end

    until = takewhile(lambda _: not is_time_up(), groups_left(journal.plan, journal))
    results: Generator[Done] = (
        (done_group(work.plan, comparer, group, work.limits) for group in until)
        if executor is None
        else _there(until, msgspec.json.encode(work), executor, is_time_up)
    )
    with closing(results):  # so that what still runs in an executor is cancelled now
        for done in results:
            goes_on = report(done)
            if done.interrupted:
                raise KeyboardInterrupt
            if not goes_on:
                return "enough bugs were found"
            if done.trouble:
                return done.trouble
    over = next(groups_left(journal.plan, journal), None) is None
    return "all questions were asked" if over else "time is up"


def groups_left(plan: Plan, journal: Journal) -> Iterator[int]:
    """Yield the groups of a shard that a journal lacks, in order."""
    for place in count():
        group = plan.shard.group(place)
        if plan.groups is not None and group >= plan.groups:
            return
        if group not in journal.groups:
            yield group


def _there(
    groups: Iterator[int], work: bytes, executor: Executor, is_time_up: Callable[[], bool]
) -> Generator[Done]:
    """Keep an executor busy, and yield results in the order in which they finish.

    When time is up, groups that have not started are cancelled. Raises `InputError` if the
    executor fails, as when all of its workers are lost.
    """
    running: set[Future[bytes]] = set()
    try:
        while True:
            for group in groups:
                running.add(executor.submit(run_group, work, group))
                if len(running) >= WAITING:
                    break
            if is_time_up():
                running = {future for future in running if not future.cancel()}
            if not running:
                return
            finished, running = wait(running, _TICK, return_when=FIRST_COMPLETED)
            for future in finished:
                error = None if future.cancelled() else future.exception()
                if future.cancelled() or isinstance(error, Exception):
                    reason = f"{type(error).__name__}: {error}" if error else "it was cancelled"
                    raise InputError(f"a group failed in the executor: {reason:.500}") from error
                yield msgspec.json.decode(future.result(), type=Done)
    finally:
        for future in running:
            future.cancel()


def made_smaller(journal: Journal, comparer: Comparer, limits: Limits) -> Iterator[Finding]:
    """Shrink the unfinished findings of a journal, and yield the results.

    Each result says which finding it replaces. Findings that do not fail now stay as they are.
    After an interrupt the last result is what was reached, and `KeyboardInterrupt` is raised.
    """
    engine = f"{comparer.name} {comparer.version}"
    for finding in [finding for finding in journal.findings.values() if finding.unfinished]:
        if not limits.left():
            return
        question = question_of(finding)
        with quiet_standard_error():
            (failed,) = comparer.compare([question])
            if failed.fate != "failed":
                continue  # see `no_longer_failing`
            found = shrunk(failed, comparer, limits)
        seed = journal.plan.seed
        smaller = finding_of(failed, found, index=finding.index, seed=seed, engine=engine)
        replaces = "" if smaller.sum == finding.sum else finding.sum
        yield msgspec.structs.replace(smaller, asked=finding.asked, replaces=replaces)
        if found.was_interrupted:
            raise KeyboardInterrupt


def no_longer_failing(journal: Journal, comparer: Comparer) -> list[str]:
    """Return the likely bugs of a journal, by their ids, whose simplest question does not fail now.

    Failures that are intermittent are not asked again.
    """
    found = []
    for bug in likely_bugs(journal.findings.values()):
        if bug.first.now_and_then:
            continue
        with quiet_standard_error():
            (outcome,) = comparer.compare([question_of(bug.first)])
        if outcome.fate == "same":
            found.append(str(bug.first.record["id"]))
    return found


def executor_named(name: str) -> Executor:
    """Return an executor: `processes`, `processes:4`, or the result of `module:factory`.

    A factory is a function without arguments that returns a `concurrent.futures.Executor`,
    such as Dask's `Client(...).get_executor`. Raises `InputError`.

    >>> executor_named("4 machines")
    Traceback (most recent call last):
    tokenref.errors.InputError: an executor must be ..., got '4 machines'
    """
    kind, _, rest = name.partition(":")
    if kind == "processes":
        if rest and (not rest.isdecimal() or int(rest) < 1):
            raise InputError(f"the number of processes must be at least 1, got {name!r}")
        return ProcessPoolExecutor(
            int(rest) if rest else None,
            mp_context=get_context("spawn"),  # a fork of a process with threads may hang
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),  # the main process ends the workers in order
        )
    if not kind.replace(".", "").isidentifier() or not rest.isidentifier():
        raise InputError(
            f"an executor must be processes, processes:NUMBER or module:factory, got {name!r}"
        )
    try:
        executor: object = imported(kind, rest)()
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        raise InputError(
            f"the executor {name} cannot be created: {type(error).__name__}: {error}"
        ) from None
    if not isinstance(executor, Executor):
        raise InputError(
            f"{name} must return a concurrent.futures.Executor, got {type(executor).__name__}"
        )
    return executor
