"""One group of questions, from drawing to shrinking: the unit of work, here or on another machine.

What goes in and what comes out are lines of JSON, so that any executor can carry
them. A worker opens the engine once and keeps it.
"""

import atexit
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Struct

from tokenref.answers import Engine, NotAsked
from tokenref.engines.table import EngineError, Unavailable, engine
from tokenref.fuzzing.comparing import Comparer, Outcome
from tokenref.fuzzing.drawn_questions import questions_of
from tokenref.fuzzing.findings import Finding, finding_of
from tokenref.fuzzing.journal import Group
from tokenref.fuzzing.limits import Limits
from tokenref.fuzzing.plan import Plan
from tokenref.fuzzing.selection import GROUP
from tokenref.fuzzing.shrinking import shrunk
from tokenref.protocol.channel import Patience
from tokenref.protocol.opening import open_program
from tokenref.runner import quiet_standard_error

COMMAND: Final = "cmd:"
"""What the name of an engine begins with that is a command."""

RESTARTS: Final = 1_000_000
"""Of a program that crashes: each smaller question that crashes it, too, is one more."""


class Done(Struct, frozen=True, kw_only=True):
    """What became of a group."""

    group: Group
    findings: list[Finding]
    trouble: str = ""
    """Why the engine cannot be asked any more, if so."""

    interrupted: bool = False
    """Whether Ctrl-C came while a failure was made smaller."""


def opened(name: str, patience: Patience | None = None) -> Engine:
    """Return an engine by its name, or the program of `cmd:PROGRAM ARGS`, started.

    Raises `EngineError` for one that nobody knows, or that is not installed.

    >>> opened("heap").name
    'heap'
    """
    if name.startswith(COMMAND):
        patience = replace(patience or Patience(), restarts=RESTARTS)
        program = open_program(name.removeprefix(COMMAND), patience)
        atexit.register(program.close)
        return program
    found = engine(name)
    if isinstance(found, Unavailable):
        raise EngineError(f"{name} is unavailable: {found.reason}")
    return found


def run_group(plan: bytes, patience: bytes, limits: bytes, group: int) -> bytes:
    """Return what becomes of a group; what goes in beside its number, and the result, is JSON."""
    read = msgspec.json.decode(plan, type=Plan)
    comparer = _comparer(read.engine, patience, tuple(read.ignored))
    shrinking = msgspec.json.decode(limits, type=Limits)
    return msgspec.json.encode(done_group(read, comparer, group, shrinking))


@lru_cache(maxsize=1)
def _comparer(name: str, patience: bytes, ignored: tuple[str, ...]) -> Comparer:
    return Comparer(opened(name, msgspec.json.decode(patience, type=Patience)), ignored)


def done_group(plan: Plan, comparer: Comparer, group: int, limits: Limits | None = None) -> Done:
    """Draw the questions of a group, compare, and shrink the first failure of each kind.

    The others of the kind are mostly the same mistake, and shrinking takes long. An
    interrupt while a failure is shrunk ends that; failures that wait for it stay as they are.
    """
    start = time.perf_counter()
    first = GROUP * group
    questions = questions_of(plan.selection, plan.seed, group)
    if plan.cases is not None:
        questions = questions[: plan.cases - first]
    findings, interrupted = list[Finding](), False
    with quiet_standard_error():
        outcomes = comparer.compare(questions)
        for place, outcome in _one_of_each_kind(outcomes):
            shrinking = Limits(seconds=0) if interrupted else limits
            small = shrunk(outcome, comparer, shrinking)
            interrupted = interrupted or small.was_interrupted
            engine = f"{comparer.name} {comparer.version}"
            findings.append(
                finding_of(outcome, small, index=first + place, seed=plan.seed, engine=engine)
            )
    milliseconds = round((time.perf_counter() - start) * 1000)
    done = Group(group=group, counts=_counts(outcomes), milliseconds=milliseconds)
    lost = next((each.got for each in outcomes if isinstance(each.got, NotAsked)), None)
    trouble = "" if lost is None else lost.reason
    return Done(group=done, findings=findings, trouble=trouble, interrupted=interrupted)


def _one_of_each_kind(outcomes: Sequence[Outcome]) -> list[tuple[int, Outcome]]:
    """Return the first failure of each kind, with its place."""
    failed: dict[tuple[str, str, str], tuple[int, Outcome]] = {}
    for place, outcome in enumerate(outcomes):
        if outcome.fate == "failed":
            failed.setdefault((outcome.question.op, *outcome.kind), (place, outcome))
    return list(failed.values())


def _counts(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        of_op = counts.setdefault(outcome.question.op, {})
        of_op[outcome.fate] = of_op.get(outcome.fate, 0) + 1
    return counts
