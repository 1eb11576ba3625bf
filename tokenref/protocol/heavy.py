"""How many questions go into one message, where questions or answers are long."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

HEAVIEST: Final = 8 * 2**20
"""Bytes that questions and answers of one message may have together, as estimated."""

_OF_A_NUMBER: Final = 16
"""Bytes that a number of an answer may have."""

_OF_A_CHARACTER: Final = 8
"""Bytes of the answer to one character of a question: a token, or a number."""


def parts(requests: Sequence[Mapping[str, Any]], most: int) -> Iterator[slice]:
    """Yield slices of requests that go into one message: of at most `most`, and not too heavy.

    >>> [len("abcdefg"[part]) for part in parts([{"text": "a"}] * 7, 3)]
    [3, 3, 1]
    >>> len(list(parts([{"gen": "grid.v1", "n": 400_000}] * 3, 64)))
    3
    """
    start = weight = 0
    for at, request in enumerate(requests):
        each = _weight(request)
        if at > start and (at - start == most or weight + each > HEAVIEST):
            yield slice(start, at)
            start, weight = at, 0
        weight += each
    if start < len(requests):
        yield slice(start, len(requests))


def _weight(value: Any) -> int:
    """Return about how many bytes a question and its answer have; what recipes make counts.

    >>> _weight({"text": "ab"}), _weight({"gen": "grid.v1", "n": 128_256})
    (16, 2052096)
    """
    if isinstance(value, str):
        return len(value) * _OF_A_CHARACTER
    if isinstance(value, list):
        return len(value) * _OF_A_NUMBER + sum(map(_weight, value))
    if isinstance(value, dict):
        if "gen" in value:
            return int(value["n"]) * _OF_A_NUMBER
        if "times" in value:
            return len(value["unit"]) * int(value["times"]) * _OF_A_CHARACTER
        return sum(map(_weight, value.values()))
    return 0  # a list counts its numbers
