"""Where groups are done: here, in processes of this machine, or wherever an executor takes them."""

import signal
from concurrent.futures import Executor, ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from typing import Final

from tokenref.fuzzing.errors import CampaignError

PROCESSES: Final = "processes"


def executor_named(name: str) -> Executor:
    """Return an executor: `processes`, `processes:4`, or what `module:factory` returns.

    A factory is a function without arguments that returns a `concurrent.futures.Executor`,
    such as Dask's `Client(...).get_executor`. Raises `CampaignError`.

    >>> executor_named("4 machines")
    Traceback (most recent call last):
    tokenref.fuzzing.errors.CampaignError: an executor must be ..., got '4 machines'
    """
    kind, _, rest = name.partition(":")
    if kind == PROCESSES:
        return _processes(name, rest)
    if not kind.replace(".", "").isidentifier() or not rest.isidentifier():
        raise CampaignError(
            f"an executor must be processes, processes:NUMBER or module:factory, got {name!r}"
        )
    try:
        executor: object = getattr(import_module(kind), rest)()
    except Exception as error:  # noqa: BLE001 - somebody else's code may raise anything
        raise CampaignError(
            f"the executor {name} cannot be made: {type(error).__name__}: {error}"
        ) from None
    if not isinstance(executor, Executor):
        raise CampaignError(
            f"{name} must return a concurrent.futures.Executor, got {type(executor).__name__}"
        )
    return executor


def _processes(name: str, count: str) -> Executor:
    if count and (not count.isdecimal() or int(count) < 1):
        raise CampaignError(f"the number of processes must be 1 or more, got {name!r}")
    return ProcessPoolExecutor(
        int(count) if count else None,
        mp_context=get_context("spawn"),  # a fork of a process with threads may hang
        initializer=_ignore_interrupts,
    )


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that asked: it ends the others in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
