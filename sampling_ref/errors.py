"""Every exception this package raises on purpose.

SamplingError
├── ParameterError     also a ValueError: a parameter outside its documented domain
├── RowError           also a ValueError: a row of numbers that means nothing
├── HistoryError       also a ValueError: a history that does not fit the row
├── RandomNumberError  also a ValueError: random numbers that are missing or no uniforms
├── UnknownNameError   also a LookupError: no such engine, step or parameter
└── UndecidedError     also an ArithmeticError: two numbers that could not be compared
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

LONGEST = 200
"""The largest number of characters of a value in an error message."""

LONGEST_MESSAGE = 1000
"""The largest number of characters of a message, from which the middle is left out."""


def shown(value: object) -> str:
    """Return a value as an error message shows it, however long it is.

    >>> shown(1.5), shown(10**5000)
    ('1.5', 'a whole number of more than 4000 digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return "a whole number of more than 4000 digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _made_again(kind: type[Exception], message: str) -> Exception:
    return kind.__new__(kind, message)


class SamplingError(Exception):
    """Base class of the errors below.

    A message is short, whatever it is about. A pickled error keeps its message and its
    attributes; an attribute that is neither a number nor a text becomes its `shown` form.

    >>> issubclass(RowError, SamplingError), len(str(RowError("a" * 10**6)))
    (True, 1000)
    """

    def __init__(self, message: str) -> None:
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[: LONGEST_MESSAGE - LONGEST - 5]} ... {message[-LONGEST:]}"
        super().__init__(message)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return how to make the error again without its constructor's arguments."""
        plain = (str, int, float, Fraction)
        state = {
            name: value if isinstance(value, plain) else shown(value)
            for name, value in vars(self).items()
        }
        return _made_again, (type(self), str(self)), state


class ParameterError(SamplingError, ValueError):
    """A parameter lies outside its documented domain.

    >>> str(ParameterError("p", 1.5, "must be in (0, 1]"))
    'p must be in (0, 1], got 1.5'
    """

    def __init__(self, name: str, value: object, requirement: str) -> None:
        super().__init__(f"{name} {requirement}, got {shown(value)}")
        self.name, self.value, self.requirement = name, value, requirement


class RowError(SamplingError, ValueError):
    """A row is empty, holds NaN or plus infinity, or leaves no token possible."""


class HistoryError(SamplingError, ValueError):
    """A history holds something that is no token of the row."""


class RandomNumberError(SamplingError, ValueError):
    """A random number is missing, or is no number in [0, 1)."""


class UnknownNameError(SamplingError, LookupError):
    """Nothing has this name; the sentence suggests what was probably meant.

    Names that are `also` possible there are suggested, but not listed.

    >>> str(UnknownNameError("step", "topp", ["top_k", "top_p"]))
    "there is no step 'topp'; did you mean 'top_p'?"
    >>> str(UnknownNameError("profile", "abc", ["vllm", "sglang"]))
    "there is no profile 'abc'; there are: sglang, vllm"
    >>> str(UnknownNameError("parameter", "TOPK", ["top_k"], owner="vllm"))
    "vllm has no parameter 'TOPK'; did you mean 'top_k'?"
    """

    def __init__(
        self,
        kind: str,
        name: object,
        known: Iterable[str],
        owner: str = "",
        *,
        also: Iterable[str] = (),
        advice: str = "",
    ) -> None:
        names = {one.lower(): one for one in sorted(known)}
        possible = {one: one for one in also if one != name} | names
        start = name.lower() if isinstance(name, str) else ""
        near = get_close_matches(start, possible, n=1)
        near += [each for each in possible if start[2:] and each.startswith(start)]
        if near and not advice:
            advice = f"did you mean {possible[near[0]]!r}?"
        advice = advice or f"there are: {', '.join(names.values()) or 'none'}"
        lacks = f"{owner} has no" if owner else "there is no"
        super().__init__(f"{lacks} {kind} {shown(name)}; {advice}")


class UndecidedError(SamplingError, ArithmeticError):
    """Two real numbers agree to more digits than are calculated."""
