"""Reading the parameters of this package, each before anything is calculated with it.

A truth value and a text are no numbers here, although Python would calculate with the
first. A strength must be a number that a float can hold, so that it has a size at all.
"""

from fractions import Fraction
from typing import Any

from sampling_ref.errors import ParameterError
from sampling_ref.row import Number

LARGEST = 1.7976931348623157e308


def read_whole(name: str, value: Any, least: int = 0) -> int:  # noqa: ANN401 - checked here
    """Return a parameter that is a whole number of at least `least`.

    >>> read_whole("buffer", 0, 1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: buffer must be a whole number of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(name, value, f"must be a whole number of at least {least}")
    return value


def read_strength(value: Any) -> Number:  # noqa: ANN401 - checked here
    """Return the parameter `strength`: a finite number that is not negative.

    >>> read_strength(float("nan"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: strength must be a finite number of at least 0, got nan
    """
    is_number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= LARGEST:
        raise ParameterError("strength", value, "must be a finite number of at least 0")
    number: Number = value
    return number


def read_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:  # noqa: ANN401 - checked
    """Return a parameter that is one of a few names.

    >>> read_choice("variant", "papers", ("corrected", "paper"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: variant must be one of corrected, paper, got 'papers'
    """
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, value, f"must be one of {', '.join(choices)}")
    return value


def read_bits(value: Any) -> str:  # noqa: ANN401 - checked here
    """Return the parameter `bits`: a string of the digits 0 and 1.

    >>> read_bits("012")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: bits must be a string of the digits 0 and 1, got '012'
    """
    if not isinstance(value, str) or not set(value) <= {"0", "1"}:
        raise ParameterError("bits", value, "must be a string of the digits 0 and 1")
    return value
