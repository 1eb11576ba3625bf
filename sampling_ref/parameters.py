"""Checking parameters: each check returns the value, or raises one sentence.

What a number is
    A finite `int`, `float` or `Fraction`. A bool is not a number here, nor is a string, NaN or
    an infinity.
What is decided exactly
    `read_fraction` returns the rational number that a value is, of whatever size.
What is calculated with plain operators
    `read_number` returns the value itself. Python's own rule holds: a `Fraction` with a
    `Fraction` or an `int` is exact, a float with anything is a float. So a float must be
    able to hold it, and the nearest float must keep the rule, too: 10**-400 is no divisor.
Intervals
    are written as in mathematics: a bracket belongs to it, a parenthesis does not, and
    `inf` has no end. A rule is checked and said from the same text, so that no sentence can
    contradict its check.
"""

from collections.abc import Collection
from fractions import Fraction
from functools import cache
from math import inf, isfinite
from typing import Any, Final, TypeGuard

from sampling_ref.errors import ParameterError
from sampling_ref.row import LARGEST, Number, is_number

_PLAIN: Final = 2**16
"""Larger powers of two are said as powers."""


def is_finite(value: object) -> TypeGuard[Number]:
    """Return whether a value is a number as described above.

    >>> is_finite(0.5), is_finite(True), is_finite("1"), is_finite(float("inf"))
    (True, False, False, False)
    """
    if isinstance(value, float):
        return isfinite(value)
    return is_number(value)


def is_whole(value: object, least: float = 0, most: float = inf) -> TypeGuard[int]:
    """Return whether a value is a whole number from `least` to `most`.

    >>> is_whole(3), is_whole(-1), is_whole(3.0), is_whole(True), is_whole(3, most=2)
    (True, False, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def read_fraction(name: str, value: Any, interval: str = "(-inf, inf)") -> Fraction:
    """Return a number of the interval as the rational number that it is.

    >>> read_fraction("p", 0.75, "(0, 1]")
    Fraction(3, 4)
    >>> read_fraction("p", 0.0, "(0, 1]")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: p must be in (0, 1], got 0.0
    """
    if not is_finite(value) or not is_inside(interval, value):
        raise ParameterError(name, value, rule_of(interval))
    return Fraction(value)


def read_number(name: str, value: Any, interval: str = "(-inf, inf)") -> Number:
    """Return a number of the interval as it was given.

    >>> read_number("penalty", -0.5), read_number("multiplier", 0, "[0, inf)")
    (-0.5, 0)
    >>> read_number("penalty", float("nan"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: penalty must be a finite number, got nan
    >>> read_number("penalty", 0.0, "(0, inf)")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: penalty must be a finite number above 0, got 0.0
    """
    exact = float(value) if isinstance(value, float) else value
    if (
        is_finite(exact)
        and -LARGEST <= exact <= LARGEST
        and is_inside(interval, exact)
        and is_inside(interval, float(exact))
    ):
        number: Number = value
        return number
    raise ParameterError(name, value, rule_of(interval))


@cache
def ends(interval: str) -> tuple[float, float]:
    """Return both ends of an interval."""
    low, high = interval[1:-1].split(", ")
    return float(low), float(high)


def is_inside(interval: str, number: Number) -> bool:
    """Return whether a number belongs to an interval.

    >>> is_inside("(0, 1]", 0), is_inside("(0, 1]", 1)
    (False, True)
    """
    low, high = ends(interval)
    above = number >= low if interval[0] == "[" else number > low
    below = number <= high if interval[-1] == "]" else number < high
    return above and below


def rule_of(interval: str) -> str:
    """Return the rule that a number belongs to an interval, in words."""
    low, high = interval[1:-1].split(", ")
    if high != "inf":
        return f"must be in {interval}"
    if low == "-inf":
        return "must be a finite number"
    return f"must be a finite number {'of at least' if interval[0] == '[' else 'above'} {low}"


def read_whole(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`, or of whatever size above.

    >>> read_whole("k", 40, 1)
    40
    >>> read_whole("k", 2.0, 1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: k must be a whole number of at least 1, got 2.0
    >>> read_whole("seed", -1, most=2**32 - 1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: seed must be a whole number from 0 to 2**32 - 1, got -1
    """
    if type(value) is int and value >= least and (most is None or value <= most):
        return value
    rule = f"of at least {least}" if most is None else f"from {_said(least)} to {_said(most)}"
    raise ParameterError(name, value, f"must be a whole number {rule}")


def _said(bound: int) -> str:
    """Return a number as a sentence says it.

    >>> _said(624), _said(-(2**31)), _said(2**64 - 1)
    ('624', '-2**31', '2**64 - 1')
    """
    for number, rest in ((bound, ""), (bound + 1, " - 1")):
        if abs(number) >= _PLAIN and abs(number).bit_count() == 1:
            return f"{'-' if number < 0 else ''}2**{abs(number).bit_length() - 1}{rest}"
    return str(bound)


def read_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return the name; raise `ParameterError` if it is not one of the allowed names.

    >>> read_choice("method", "half", ("divide", "subtract"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: method must be one of divide, subtract, got 'half'
    """
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, value, f"must be one of {', '.join(choices)}")
    return value
