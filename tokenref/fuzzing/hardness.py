"""How long a request is, and how hard its numbers are to read: what shrinking makes less."""

from math import isfinite
from typing import Any

from tokenref.floats import pack, unpack
from tokenref.fuzzing.plain_numbers import is_numbers


def evened(value: Any) -> tuple[Any, int]:
    """Return a request as long as it were with all numbers in 32 bits, and how many rows are not.

    >>> evened({"probs": {"f16": "3c00"}})
    ({'probs': {'f32': '00000000'}}, 1)
    """
    if isinstance(value, dict):
        if is_numbers(value):
            return pack([0.0] * len(unpack(value))), int("f32" not in value)
        parts = {key: evened(entry) for key, entry in value.items()}
        return {key: part for key, (part, _) in parts.items()}, sum(
            odd for _, odd in parts.values()
        )
    if isinstance(value, list):
        entries = [evened(entry) for entry in value]
        return [entry for entry, _ in entries], sum(odd for _, odd in entries)
    return value, 0


def hardness(value: Any) -> float:
    """Return how hard the numbers of a request are to read: the digits of each, added up.

    >>> hardness({"probs": pack([0.5, 0.5])}) < hardness({"probs": pack([0.3125, 0.6875])})
    True
    """
    if isinstance(value, dict):
        if is_numbers(value):
            return sum(map(_hardness_of_number, unpack(value)))
        return sum(map(hardness, value.values()))
    return sum(map(hardness, value)) if isinstance(value, list) else 0.0


def _hardness_of_number(number: float) -> float:
    return len(repr(number)) + abs(number) / 1000 if isfinite(number) else len("-inf.0")
