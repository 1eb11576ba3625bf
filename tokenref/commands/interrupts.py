"""Ctrl-C that is not lost.

Python raises `KeyboardInterrupt` wherever the program is. In a destructor or a callback of the
garbage collector (Hypothesis has one) it cannot pass on: it is printed and forgotten, and the
command runs on. So it is raised again a moment later.
"""

import _thread
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Final

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
