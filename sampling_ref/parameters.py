"""Checking parameters: each check returns the value, or raises one sentence.

What a number is
    A finite `int`, `float` or `Fraction` that a float can hold: at most about 1.8e308,
    and not so small that a float would make it zero. A bool is no number here, nor is a
    string, NaN or an infinity.
What is calculated with it
    Python's own rule: a `Fraction` with a `Fraction` or an `int` is exact; a float with
    anything is a float.
"""

from collections.abc import Callable, Collection, Iterable
from fractions import Fraction
from typing import Any

from sampling_ref.errors import ParameterError
from sampling_ref.history import read_history
from sampling_ref.row import Number, TokenId

LARGEST = 1.7976931348623157e308
"""The largest number that a float can hold."""


def is_number(value: object) -> bool:
    """Say whether a value is a number as described above.

    >>> is_number(0.5), is_number(True), is_number("1"), is_number(float("inf"))
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return False
    return -LARGEST <= value <= LARGEST and (value == 0) == (float(value) == 0)


def read_number(
    name: str,
    value: Any,  # noqa: ANN401 - it is checked
    requirement: str,
    holds: Callable[[Number], bool],
) -> Number:
    """Return a number for which `holds` is true; `requirement` says so in words.

    >>> read_number("p", 2, "must be in (0, 1]", lambda p: 0 < p <= 1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: p must be in (0, 1], got 2
    """
    if not is_number(value) or not holds(value):
        raise ParameterError(name, value, requirement)
    number: Number = value
    return number


def read_finite(name: str, value: Any) -> Number:  # noqa: ANN401 - it is checked
    """Return a finite number.

    >>> read_finite("penalty", -0.5)
    -0.5
    >>> read_finite("penalty", float("nan"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: penalty must be a finite number, got nan
    """
    return read_number(name, value, "must be a finite number", lambda _: True)


def read_positive(name: str, value: Any) -> Number:  # noqa: ANN401 - it is checked
    """Return a finite number above 0.

    >>> read_positive("penalty", 0.0)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: penalty must be a finite number above 0, got 0.0
    """
    return read_number(name, value, "must be a finite number above 0", lambda x: x > 0)


def read_not_negative(name: str, value: Any) -> Number:  # noqa: ANN401 - it is checked
    """Return a finite number of at least 0.

    >>> read_not_negative("multiplier", 0.0)
    0.0
    """
    return read_number(name, value, "must be a finite number of at least 0", lambda x: x >= 0)


def read_whole(name: str, value: Any, least: int = 0) -> int:  # noqa: ANN401 - it is checked
    """Return a whole number of at least `least`.

    >>> read_whole("decay", -1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: decay must be a whole number of at least 0, got -1
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(name, value, f"must be a whole number of at least {least}")
    return value


def read_window(value: Any, name: str = "window") -> int | None:  # noqa: ANN401 - it is checked
    """Return how many tokens a window holds, or None for all.

    >>> read_window(None), read_window(64)
    (None, 64)
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ParameterError(name, value, "must be a whole number of at least 0, or None")
    return value


def read_choice(name: str, value: Any, choices: Collection[str]) -> str:  # noqa: ANN401
    """Return one of a few names; complain about another.

    >>> read_choice("method", "half", ("divide", "subtract"))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: method must be one of divide, subtract, got 'half'
    """
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, value, f"must be one of {', '.join(choices)}")
    return value


def read_token_set(tokens: Any, size: int, name: str) -> frozenset[TokenId]:  # noqa: ANN401
    """Return the tokens that a parameter names: one token id or any number of them.

    >>> sorted(read_token_set([2, 0, 2], 3, "ends")), sorted(read_token_set(1, 3, "ends"))
    ([0, 2], [1])
    """
    if isinstance(tokens, int):
        tokens = [tokens]
    return frozenset(read_history(tokens, size, name))


def read_sequences(
    sequences: Any,  # noqa: ANN401 - it is checked
    size: int,
    name: str,
) -> list[tuple[TokenId, ...]]:
    """Return the token sequences that a parameter names, each of at least one token.

    A bare token id stands for the sequence of this one token.

    >>> read_sequences([[0, 1], 2], 3, "breakers")
    [(0, 1), (2,)]
    """
    if isinstance(sequences, str | bytes) or not isinstance(sequences, Iterable):
        raise ParameterError(name, sequences, "must be a collection of token sequences")
    found = []
    for place, sequence in enumerate(sequences):
        tokens = [sequence] if isinstance(sequence, int) else sequence
        found.append(tuple(read_history(tokens, size, f"{name}[{place}]")))
        if not found[-1]:
            raise ParameterError(f"{name}[{place}]", sequence, "must hold at least one token")
    return found
