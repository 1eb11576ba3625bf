"""What is sent to an engine together: the order of the questions, batches, files to load."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal

from bpe_ref import Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from tokenref.record import Case, op_of
from tokenref.subjects import TokenizerFile

LARGEST: Final = 64
"""The most questions that are put at once."""


def batches(cases: Sequence[Case], seed: int, most: int = LARGEST) -> Iterator[list[int]]:
    """Yield the numbers of cases that are asked together: of one operation, profile and vocabulary.

    All of one vocabulary follow each other, and in these all of one profile, so
    that each is loaded once. Otherwise the order is random, as `seed` has it.
    """
    random = Random(seed)
    groups: dict[tuple[str, str], dict[str, list[int]]] = {}
    for number, case in enumerate(cases):
        group = groups.setdefault((case.vocab or "", case.profile), {})
        group.setdefault(op_of(case), []).append(number)
    for key in sorted(groups):
        together: list[list[int]] = []
        for _, numbers in sorted(groups[key].items()):
            random.shuffle(numbers)
            together += (numbers[at : at + most] for at in range(0, len(numbers), most))
        random.shuffle(together)
        yield from together


HEAVIEST: Final = 8 * 2**20
"""Maximum estimated size of the questions and answers of one message, in bytes."""

_OF_A_NUMBER: Final = 16
"""Estimated bytes per number of an answer."""

_OF_A_CHARACTER: Final = 8
"""Estimated bytes of the answer per character of a question."""


def parts(requests: Sequence[Mapping[str, Any]], most: int) -> Iterator[slice]:
    """Yield slices of requests for one message each: at most `most` of them, and not too large.

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


def load_vocabulary(vocabulary: Vocabulary, name: str) -> Loading:
    """Return a vocabulary to load, in the file format of the fixtures."""
    named = NamedVocabulary(name, "", vocabulary)
    return Loading("vocab", vocabulary.digest(), name, lambda: dump_plain_json(named))


def load_tokenizer(content: bytes, name: str) -> Loading:
    """Return a whole tokenizer to load, as its own file."""
    return Loading("tokenizer", TokenizerFile(name, content).digest(), name, lambda: content)
