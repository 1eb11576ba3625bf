"""How a command ends: exit codes, interrupts, and standard streams that are closed or full.

Errors that have an exit code are listed by name. Importing their classes would load every module
at every start, and an error whose module was never loaded cannot have been raised.

A standard stream that is closed, full or no longer read is not a bug in tokenref, and it must not
look like a result. The exit code is then 2, whatever Python itself would return.

Python raises `KeyboardInterrupt` wherever the program is. In a destructor or a callback of the
garbage collector (Hypothesis has one) the exception cannot propagate: Python prints it, forgets
it, and the command continues. So the interrupt is raised again a moment later.
"""

import _thread
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import BinaryIO, Final

from tokenref.commands.paths import InputError

BAD_INPUT: Final = frozenset(
    {
        "bpe_ref.errors.BpeError",
        "sampling_ref.errors.SamplingError",
        "tokenref.commands.paths.InputError",
        "tokenref.corpus_files.CorpusError",
        "tokenref.engines.table.EngineError",
        "tokenref.fuzzing.errors.CampaignError",
        "tokenref.protocol.channel.StartError",
    }
)
INVALID_RUN: Final = frozenset(
    {
        "tokenref.catalogue.SelectionError",
        "tokenref.protocol.requests.ExchangeError",
        "tokenref.protocol.opening.GreetingError",
        "tokenref.record.RecordError",
        "tokenref.reports.results.ResultsError",
    }
)


def exit_code(error: BaseException) -> int | None:
    """Return 3 for a run that proves nothing, 2 for bad input, None for what is neither.

    >>> from tokenref.record import RecordError
    >>> exit_code(RecordError("no record")), exit_code(ValueError("a bug"))
    (3, None)
    """
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    if names & INVALID_RUN:
        return 3
    return 2 if names & BAD_INPUT else None


AGAIN: Final = 0.02
"""Seconds until a lost interrupt is raised again, outside of what lost it."""


@contextmanager
def none_lost() -> Iterator[None]:
    """Raise interrupts again that were lost in a callback, while the context lasts.

    >>> with none_lost():
    ...     is_ours = sys.unraisablehook is not sys.__unraisablehook__
    >>> is_ours
    True
    """
    before = sys.unraisablehook

    def take(unraisable: "sys.UnraisableHookArgs") -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        timer = Timer(AGAIN, _thread.interrupt_main)
        timer.daemon = True
        timer.start()

    sys.unraisablehook = take
    try:
        yield
    finally:
        sys.unraisablehook = before


_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF})
"""What writing to a stream fails with; such an error names no file."""


def take_closed_streams() -> None:
    """Put /dev/null in the place of standard streams that are closed.

    Else the next file that is opened would get their number, and whatever is
    written to the stream would go into that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            if os.open(os.devnull, os.O_RDWR) != number:
                return  # those below it are open: this cannot be
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - a stream, for as long as we run


def standard_output() -> BinaryIO:
    """Return standard output for bytes. Raises `InputError` if it is closed."""
    if sys.stdout is None:
        raise InputError("standard output cannot be written: it is closed")
    return sys.stdout.buffer


def standard_input() -> BinaryIO:
    """Return standard input for bytes. Raises `InputError` if it is closed."""
    if sys.stdin is None:
        raise InputError("standard input cannot be read: it is closed")
    return sys.stdin.buffer


def sentence_of(error: OSError) -> str:
    """Return what the system refused, in a sentence; of a file that is named, with its name.

    Nothing is said where who read the output has gone, as `head` does.

    >>> sentence_of(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'a.txt: No such file or directory'
    >>> sentence_of(OSError(28, "No space left on device"))
    'the output cannot be written: No space left on device'
    """
    if isinstance(error, BrokenPipeError):
        return ""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if error.errno in _NO_ROOM:
        return f"the output cannot be written: {error.strerror}"
    return str(error)


def flush_output() -> None:
    """Write what is still to be written, while an error can be told. Raises `OSError`."""
    if sys.stdout is not None:
        sys.stdout.flush()


def forget_output() -> None:
    """Leave what cannot be written to standard streams unwritten.

    Else Python tries again at the end, tells of it at length, and ends with 120.
    """
    for number, stream in enumerate((sys.stdout, sys.stderr), start=1):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                if stream.fileno() == number:
                    nowhere = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(nowhere, number)
                    os.close(nowhere)
