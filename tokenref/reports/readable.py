"""Questions and answers for people: floats in decimal instead of bits."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from tokenref.floats import DIGITS, TYPES, Type, from_digits
from tokenref.reports import short_json

_SHOWN: Final = 16
"""How many numbers of a row are shown."""

_PRECISION: Final[Mapping[Type, int]] = {"f64": 17, "f32": 9, "f16": 5, "bf16": 4}
"""Number of decimal digits that distinguish any two numbers of a type."""


def readable(value: Any) -> Any:
    """Return plain data with floats in decimal instead of bits.

    The decimals are for people and need not be exactly the numbers.

    >>> readable({"logits": {"f32": "3f0000007f800000"}, "token": 7})
    {'logits': {'f32': [0.5, 'inf']}, 'token': 7}
    """
    if isinstance(value, list):
        return [readable(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, digits),) = value.items()
        if key in TYPES and _are_digits(digits, DIGITS[key]):
            return {key: _decimals(digits, key)}
    return {key: readable(entry) for key, entry in value.items()}


def _are_digits(digits: object, each: int) -> bool:
    """Return whether the value is the bits of complete numbers. An engine may answer anything."""
    return (
        isinstance(digits, str)
        and len(digits) % each == 0
        and all(digit in "0123456789abcdef" for digit in digits)
    )


def _decimals(digits: str, dtype: Type) -> list[float | str]:
    """Return the first numbers in few digits, and the number of others."""
    shown: list[float | str] = []
    for value in from_digits(digits[: _SHOWN * DIGITS[dtype]], dtype):
        short = float(f"{value:.{_PRECISION[dtype]}g}")
        shown.append(short if isfinite(short) else str(value))
    more = len(digits) // DIGITS[dtype] - len(shown)
    return [*shown, f"and {more} more"] if more else shown


def readable_json(value: Any, widest: int) -> str:
    """Return plain data as one line for people.

    >>> readable_json({"f16": "3c00"}, 50)
    '{"f16": [1.0]}'
    """
    return short_json(readable(value), widest)


def readable_answer(got: str, widest: int) -> str:
    """Return an engine's answer, given as JSON that may be truncated, as one line for people.

    >>> readable_answer('{"probs":{"f32":"3f000000"}}', 50), readable_answer('{"ids":[1, ...', 50)
    ('{"probs": {"f32": [0.5]}}', '{"ids":[1, ...')
    """
    try:
        return readable_json(json.loads(got), widest)
    except (ValueError, RecursionError):
        return got
