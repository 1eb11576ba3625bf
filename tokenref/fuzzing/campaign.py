"""A campaign: the groups of one shard, one after the other, until the end or until time is up.

Each group that is done is reported at once. Nothing is kept but what the journal
keeps: a campaign that was ended goes on at the first group that is not done.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import count, takewhile
from typing import Final, TypeAlias

import msgspec

from tokenref.fuzzing.groups import Done, run_group
from tokenref.fuzzing.journal import Journal
from tokenref.fuzzing.plan import Plan
from tokenref.protocol.patience import Patience

WAITING: Final = 64
"""Groups that an executor has at a time: enough for many workers, few to lose."""

Report: TypeAlias = Callable[[Done], bool]
"""What is told of each group; whether to go on."""


def run_campaign(
    journal: Journal,
    report: Report,
    *,
    patience: Patience,
    seconds: float | None = None,
    executor: Executor | None = None,
) -> str:
    """Do the groups that a journal does not have; return why it ended, in a few words.

    `report` is called once for each, as soon as it is done, and says whether to
    go on. After `seconds` no group is begun. `KeyboardInterrupt` passes through, and
    what was reported is all that is lost not.
    """
    end = None if seconds is None else time.monotonic() + seconds
    plan = msgspec.json.encode(journal.plan)
    left = groups_left(journal.plan, journal)
    until = takewhile(lambda _: end is None or time.monotonic() < end, left)
    work = (plan, msgspec.json.encode(patience))
    results = _here(until, work) if executor is None else _there(until, work, executor)
    for done in results:
        if not report(done):
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


def _here(groups: Iterator[int], work: tuple[bytes, bytes]) -> Iterator[Done]:
    for group in groups:
        yield msgspec.json.decode(run_group(*work, group), type=Done)


def _there(groups: Iterator[int], work: tuple[bytes, bytes], executor: Executor) -> Iterator[Done]:
    """Keep an executor busy, and yield what is done in whatever order."""
    running: set[Future[bytes]] = set()
    try:
        while True:
            for group in groups:
                running.add(executor.submit(run_group, *work, group))
                if len(running) >= WAITING:
                    break
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield msgspec.json.decode(future.result(), type=Done)
    finally:
        for future in running:
            future.cancel()
