"""Errors that end a command with one sentence. The class decides the exit code.

The errors of the references are known by name. Importing their classes would load the packages at
every start, and an error whose module was never loaded cannot have been raised.
"""

from typing import Final


class InputError(Exception):
    """An argument, an option or a file that cannot be used. The exit code is 2."""


class InvalidRunError(Exception):
    """A run, a file of records or of results that proves nothing. The exit code is 3."""


FOREIGN: Final = frozenset({"bpe_ref.errors.BpeError", "sampling_ref.errors.SamplingError"})
"""Errors of the references about input, by name."""


def exit_code(error: BaseException) -> int | None:
    """Return 3 for an invalid run, 2 for bad input, None for any other error.

    >>> from tokenref.record import RecordError
    >>> exit_code(RecordError("no record")), exit_code(ValueError("a bug"))
    (3, None)
    """
    if isinstance(error, InvalidRunError):
        return 3
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    return 2 if isinstance(error, InputError) or names & FOREIGN else None
