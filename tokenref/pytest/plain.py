"""Lists, numpy arrays and torch tensors, all as Python's own numbers."""

from typing import Any


def plain(value: Any) -> Any:
    """Return arrays and tensors as lists, and their numbers as Python's.

    >>> plain((1, 2.5, [True]))
    [1, 2.5, [True]]
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, list | tuple | range):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value
