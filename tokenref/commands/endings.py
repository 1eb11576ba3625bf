"""How a command ends: interrupts, and standard streams that are closed or full.

A standard stream that is closed or full is not a bug in tokenref, and it must not look like a
result. The exit code is then 2, whatever Python itself would return.

A reader that has read enough, as in `| head`, is not an error at all. The command ends, and the
exit code is what it would have been: 1 if an engine has failed, and so on (`reached`).

Python raises `KeyboardInterrupt` wherever the program is. In a destructor or a callback of the
garbage collector (Hypothesis has one) the exception cannot propagate: Python prints it, forgets
it, and the command continues. So the interrupt is raised again a moment later.
"""

import _thread
import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer, current_thread, main_thread
from typing import BinaryIO, Final

import click

from tokenref.errors import InputError

AGAIN: Final = 0.02
"""Seconds until a lost interrupt is raised again, outside the code that lost it."""


@contextmanager
def none_lost() -> Iterator[None]:
    """Within this context, raise interrupts again that were lost in a callback.

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


class TerminatedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP was sent, as `timeout`, servers and terminals that close do.

    The command ends as after an interrupt.
    """


@contextmanager
def terminated_in_order() -> Iterator[list[int]]:
    """Within this context, SIGTERM raises `TerminatedError`, so that engines are ended, too.

    So does SIGHUP, unless it is ignored, as by `nohup`. The signal is also added to
    a list, for a command that goes on after an interrupt.
    """
    received: list[int] = []

    def end(number: int, frame: object) -> None:
        received.append(number)
        raise TerminatedError

    if current_thread() is not main_thread():
        yield received
        return
    numbers = [signal.SIGTERM]
    if os.name == "posix" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = [(number, signal.signal(number, end)) for number in numbers]
    try:
        yield received
    finally:
        for number, handler in before:
            signal.signal(number, handler)


_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO})
"""Errors of writing to a stream; they name no file."""


def take_closed_streams() -> None:
    """Replace closed standard streams by /dev/null.

    Otherwise the next file that is opened would get the stream's number, and output meant for the
    stream would go into that file. Standard output is opened for reading only, so that writing to
    it is an error, as for other programs such as grep.
    """
    for number, mode in enumerate((os.O_RDWR, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:
            if os.open(os.devnull, mode) != number:
                return  # impossible: all lower numbers are open
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - a stream, for as long as we run
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - as above


def standard_input() -> BinaryIO:
    """Return standard input for bytes. Raises `InputError` if it is closed."""
    if sys.stdin is None:
        raise InputError("standard input cannot be read: it is closed")
    return sys.stdin.buffer


def sentence_of(error: OSError) -> str:
    """Return an error of the system as one sentence, with the name of the file if there is one.

    Return an empty string if the reader of the output is gone, as in `| head`.

    >>> sentence_of(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'a.txt: No such file or directory'
    >>> sentence_of(OSError(28, "No space left on device"))
    'the output cannot be written: No space left on device'
    """
    if isinstance(error, BrokenPipeError):
        return ""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if error.errno == errno.EBADF:
        return "standard output cannot be written: it is closed"
    if error.errno in _NO_ROOM:
        return f"the output cannot be written: {error.strerror}"
    return str(error)


_REACHED: Final = "tokenref.reached"


def reached(code: int) -> None:
    """Set the exit code that the command has if the reader of its output goes away from now on.

    Until then it is 0: what the reader wanted, it has read.
    """
    click.get_current_context().find_root().meta[_REACHED] = code


_TO_TELL: Final = "tokenref.to_tell"


def on_error(tell: Callable[[str], None]) -> None:
    """Set what is called with the sentence if an error ends the command from now on."""
    click.get_current_context().find_root().meta[_TO_TELL] = tell


def tell_error(context: click.Context, sentence: str) -> None:
    """Call what `on_error` has set, if anything. It cannot make the error worse."""
    tell: Callable[[str], None] | None = context.find_root().meta.get(_TO_TELL)
    if tell is not None:
        with suppress(InputError, OSError):
            tell(sentence)


def code_without_reader(context: click.Context) -> int:
    """Return the exit code if the reader of the output is gone, as in `| head`."""
    return int(context.find_root().meta.get(_REACHED, 0))


def reader_is_gone() -> bool:
    """Return whether nobody reads standard output or standard error any more."""
    if not hasattr(select, "poll"):  # on Windows
        return True
    streams = select.poll()
    for number in (1, 2):
        streams.register(number, 0)
    return any(event & select.POLLERR for _, event in streams.poll(0))


def forget_output() -> None:
    """Discard output that cannot be written to the standard streams.

    Otherwise Python would try again at exit, print a long message, and exit with 120.
    """
    for number, stream in enumerate((sys.stdout, sys.stderr), start=1):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                if stream.fileno() == number:
                    nowhere = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(nowhere, number)
                    os.close(nowhere)
