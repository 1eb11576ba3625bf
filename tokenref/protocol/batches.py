"""What is sent to a program: questions in messages of limited size, and files to load."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from tokenref.subjects import TokenizerFile, TokenizerSubject

HEAVIEST: Final = 8 * 2**20
"""Maximum estimated size of the questions and answers of one message, in bytes."""

_OF_A_NUMBER: Final = 16
"""Estimated bytes per number of an answer."""

_OF_A_CHARACTER: Final = 8
"""Estimated bytes of the answer per character of a question."""


def message_slices(requests: Sequence[Mapping[str, Any]], most: int) -> Iterator[slice]:
    """Yield slices of requests for one message each: at most `most` of them, and not too large.

    >>> [len("abcdefg"[part]) for part in message_slices([{"text": "a"}] * 7, 3)]
    [3, 3, 1]
    >>> len(list(message_slices([{"gen": "grid.v1", "n": 400_000}] * 3, 64)))
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
    """Return an estimate of the bytes of a question and its answer, with recipes expanded.

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
    return 0  # numbers are counted by their list


@dataclass(frozen=True, eq=False)
class Loading:
    """A vocabulary or a whole tokenizer that a program must load."""

    kind: Literal["vocab", "tokenizer"]
    digest: str
    name: str
    content: Callable[[], bytes] = field(repr=False)


def loading_of(subject: TokenizerSubject, name: str) -> Loading:
    """Return a vocabulary to load in the format of the fixtures, or a tokenizer as its own file."""
    if isinstance(subject, TokenizerFile):
        return Loading("tokenizer", subject.digest(), name, lambda: subject.content)
    named = NamedVocabulary(name, "", subject)
    return Loading("vocab", subject.digest(), name, lambda: dump_plain_json(named))
