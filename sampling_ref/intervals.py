"""Numbers in intervals: a parameter outside its interval gives one sentence.

The rule is checked and printed from the same text, so a message cannot contradict its
check. A bool is no number here, a string is none, NaN and the infinities are none.
"""

from fractions import Fraction
from math import isfinite
from typing import Any

from sampling_ref.errors import ParameterError


def read_number(name: str, value: Any, interval: str) -> Fraction:  # noqa: ANN401 - it is checked
    """Return a finite number, as the rational that it is, if it lies in the interval.

    The interval is written as in mathematics: a bracket belongs to it, a parenthesis
    does not, and `inf` has no end.

    >>> read_number("p", 0.75, "(0, 1]")
    Fraction(3, 4)
    >>> read_number("p", 0.0, "(0, 1]")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: p must be in (0, 1], got 0.0
    """
    is_number = isinstance(value, float | int | Fraction) and not isinstance(value, bool)
    is_finite = is_number and (not isinstance(value, float) or isfinite(value))
    if not is_finite or not _holds(interval, Fraction(value)):
        raise ParameterError(name, value, f"must be in {interval}")
    return Fraction(value)


def _holds(interval: str, number: Fraction) -> bool:
    low, high = map(float, interval[1:-1].split(","))
    above = number >= low if interval[0] == "[" else number > low
    below = number <= high if interval[-1] == "]" else number < high
    return above and below


def read_count(name: str, value: object, least: int) -> int:
    """Return a whole number of at least `least`.

    >>> read_count("k", 40, 1)
    40
    >>> read_count("k", 2.0, 1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: k must be a whole number of at least 1, got 2.0
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(name, value, f"must be a whole number of at least {least}")
    return value
