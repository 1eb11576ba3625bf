"""Questions and answers for people: numbers that records hold as bits, in decimal."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from tokenref.floats import DIGITS, TYPES, Type, from_digits
from tokenref.reports import short_json

_SHOWN: Final = 16
"""Numbers of a row that are shown."""

_PRECISION: Final[Mapping[Type, int]] = {"f64": 17, "f32": 9, "f16": 5, "bf16": 4}
"""Decimal digits that tell every two numbers of a type apart."""


def readable(value: Any) -> Any:
    """Return plain data with decimals in the place of bits; the rest as it is.

    A decimal here is for people: it need not be the very number that the bits mean.

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
    """Return whether these are the bits of whole numbers. An engine's answer may be anything."""
    return (
        isinstance(digits, str)
        and len(digits) % each == 0
        and all(digit in "0123456789abcdef" for digit in digits)
    )


def _decimals(digits: str, dtype: Type) -> list[float | str]:
    """Return the first numbers in few digits, and how many more there are."""
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
    """Return an engine's answer, given as JSON that may be cut off, as one line for people.

    >>> readable_answer('{"probs":{"f32":"3f000000"}}', 50), readable_answer('{"ids":[1, ...', 50)
    ('{"probs": {"f32": [0.5]}}', '{"ids":[1, ...')
    """
    try:
        return readable_json(json.loads(got), widest)
    except (ValueError, RecursionError):
        return got
