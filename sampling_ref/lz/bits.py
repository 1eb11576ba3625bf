"""Codes, written as strings of the digits 0 and 1."""

from typing import Any

from sampling_ref.errors import ParameterError


def read_bits(value: Any) -> str:
    """Return the parameter `bits`: a string of the digits 0 and 1.

    >>> read_bits("012")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: bits must be a string of the digits 0 and 1, got '012'
    """
    if not isinstance(value, str) or not set(value) <= {"0", "1"}:
        raise ParameterError("bits", value, "must be a string of the digits 0 and 1")
    return value
