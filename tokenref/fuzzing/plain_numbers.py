"""Numbers in plain JSON that anybody may have written."""

from collections.abc import Mapping
from typing import Any

from tokenref.floats import TYPES, FloatsError, unpack


def is_numbers(value: Any) -> bool:
    """Tell whether a value has the form of numbers: a type, and something under it.

    >>> is_numbers({"f32": "3f000000"}), is_numbers({"text": "a"}), is_numbers([0.5])
    (True, False, False)
    """
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in TYPES


def numbers_of(value: Any) -> list[float] | None:
    """Return the numbers of a value, or None if it has none.

    >>> numbers_of({"f32": "3f000000"}), numbers_of({"f32": "half"})
    ([0.5], None)
    """
    if not is_numbers(value):
        return None
    try:
        return unpack(value)
    except (FloatsError, TypeError, ValueError):
        return None
