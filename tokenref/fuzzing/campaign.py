"""A campaign: the groups of one shard, one after the other, until the end or until time is up.

Each group that is done is reported at once. Nothing is kept but what the journal
keeps: a campaign that was ended goes on at the first group that is not done. What
has been begun when time is up is made smaller for `Limits.seconds` at most.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import count, takewhile
from typing import Final, TypeAlias

import msgspec

from tokenref.fuzzing.groups import Done, run_group
from tokenref.fuzzing.journal import Journal
from tokenref.fuzzing.limits import Limits
from tokenref.fuzzing.plan import Plan
from tokenref.protocol.channel import Patience

WAITING: Final = 64
"""Groups that an executor has at a time: enough for many workers, few to lose."""

_TICK: Final = 0.2
"""Seconds after which a waiting campaign looks at the clock."""

Work: TypeAlias = tuple[bytes, bytes, bytes]
"""Plan, patience and limits, as JSON: the same for each group."""

Report: TypeAlias = Callable[[Done], bool]
"""What is told of each group; whether to go on."""


def run_campaign(
    journal: Journal,
    report: Report,
    *,
    patience: Patience,
    limits: Limits | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
) -> str:
    """Do the groups that a journal does not have; return why it ended, in a few words.

    `report` is called once for each, as soon as it is done, and says whether to
    go on. After `seconds` no group is begun. `KeyboardInterrupt` passes through, after
    what was reached until then has been reported; groups that an executor was at
    are not: they are done again another time.
    """
    end = None if seconds is None else time.monotonic() + seconds
    plan = msgspec.json.encode(journal.plan)
    work = (plan, msgspec.json.encode(patience), msgspec.json.encode(limits or Limits()))

    def is_time_up() -> bool:
        return end is not None and time.monotonic() >= end

    until = takewhile(lambda _: not is_time_up(), groups_left(journal.plan, journal))
    results = _here(until, work) if executor is None else _there(until, work, executor, is_time_up)
    for done in results:
        goes_on = report(done)
        if done.interrupted:
            raise KeyboardInterrupt
        if not goes_on:
            return "enough was found"
        if done.trouble:
            return done.trouble
    over = next(groups_left(journal.plan, journal), None) is None
    return "all questions were asked" if over else "time is up"


def groups_left(plan: Plan, journal: Journal) -> Iterator[int]:
    """Yield the groups of a shard that a journal does not have, in order."""
    for place in count():
        group = plan.shard.group(place)
        if plan.groups is not None and group >= plan.groups:
            return
        if group not in journal.groups:
            yield group


def _here(groups: Iterator[int], work: Work) -> Iterator[Done]:
    for group in groups:
        yield msgspec.json.decode(run_group(*work, group), type=Done)


def _there(
    groups: Iterator[int], work: Work, executor: Executor, is_time_up: Callable[[], bool]
) -> Iterator[Done]:
    """Keep an executor busy, and yield what is done in whatever order.

    When time is up, what it has not begun yet is taken back.
    """
    running: set[Future[bytes]] = set()
    try:
        while True:
            for group in groups:
                running.add(executor.submit(run_group, *work, group))
                if len(running) >= WAITING:
                    break
            if is_time_up():
                running = {future for future in running if not future.cancel()}
            if not running:
                return
            finished, running = wait(running, _TICK, return_when=FIRST_COMPLETED)
            for future in finished:
                yield msgspec.json.decode(future.result(), type=Done)
    finally:
        for future in running:
            future.cancel()
