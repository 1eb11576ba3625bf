"""How the sentences of a judgement show values and tokens: short, whatever they are."""

from collections.abc import Sequence
from typing import Any, Final

_SHOWN: Final = 120
"""Characters of a value that a sentence shows."""

_MOST_IDS: Final = 12
"""Tokens that a sentence names."""


def are_ids(value: Any) -> bool:
    """Say whether a value is a list of whole numbers; true is none.

    >>> are_ids([0, 1]), are_ids([True]), are_ids("01")
    (True, False, False)
    """
    return isinstance(value, list) and all(type(token) is int for token in value)


def ids(tokens: Sequence[int]) -> str:
    """Return tokens as a list, the first ones if there are many.

    >>> ids([3, 5]), ids(range(20))
    ('[3, 5]', '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 20 in all]')
    """
    shown = ", ".join(map(str, tokens[:_MOST_IDS]))
    return f"[{shown}]" if len(tokens) <= _MOST_IDS else f"[{shown}, ... {len(tokens)} in all]"


def short(value: Any) -> str:
    """Return the beginning of what a value looks like.

    >>> short([1, None]), len(short("a" * 1000))
    ('[1, None]', 123)
    """
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
