"""The messages between tokenref and a program under test, as types.

`docs/protocol.md` is the normative description. tokenref sends a `Request`. A program answers
hello with `HelloAnswer`, load with `LoadAnswer` and run with `RunAnswer`. Ids and keys are opaque;
the program returns them unchanged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from tokenref.answers import Declared, PartialSums
from tokenref.floats import Strict
from tokenref.questions import OneOf
from tokenref.record import Digest
from tokenref.subjects import TokenizerFile, TokenizerSubject

PROTO: Final = 1
"""The version of the protocol."""

Text: TypeAlias = Annotated[str, Meta(max_length=10_000)]
"""A message for people, or a name."""


class About(Struct, frozen=True, kw_only=True):
    """Information about an exported file of requests. Programs can ignore it."""

    fixtures: Digest
    """Digest of the manifest that the questions are from."""

    cases: Annotated[int, Meta(ge=0)]
    """Number of questions in the file."""

    seed: int
    """The seed of the order."""


class HelloRequest(Strict, frozen=True, kw_only=True, tag_field="cmd", tag="hello"):
    """Ask what the program is and what it supports."""

    proto: Literal[1]
    about: About | UnsetType = UNSET


class LoadRequest(OneOf, frozen=True, kw_only=True, tag_field="cmd", tag="load"):
    """Load a vocabulary or a whole tokenizer. It replaces the previous one."""

    one_of = ("vocab", "tokenizer")
    id: str
    path: str
    """The file: a vocabulary as the fixtures have them, or a tokenizer.json."""

    vocab: Digest | UnsetType = UNSET
    tokenizer: Digest | UnsetType = UNSET

    @property
    def subject(self) -> str:
        """The digest of what is loaded."""
        return str(self.tokenizer if self.vocab is UNSET else self.vocab)


class Question(Strict, frozen=True, kw_only=True):
    """One question: its key, and a record's `in`."""

    k: str
    input: dict[str, Any] = msgspec.field(name="in")


class RunRequest(Strict, frozen=True, kw_only=True, tag_field="cmd", tag="run"):
    """Answer questions of one operation under one profile. The list may be empty."""

    id: str
    op: str
    profile: str
    cases: list[Question]
    vocab: Digest | UnsetType = UNSET
    tokenizer: Digest | UnsetType = UNSET


class ByeRequest(Strict, frozen=True, kw_only=True, tag_field="cmd", tag="bye"):
    """The end. There is no answer, and the program exits."""


Request: TypeAlias = HelloRequest | LoadRequest | RunRequest | ByeRequest


class Implementation(Struct, frozen=True, kw_only=True):
    """The program that answers. Other fields are allowed and ignored."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    version: Annotated[str, Meta(min_length=1, max_length=100)]
    language: Text = ""
    commit: Text = ""
    issues: Text = ""


class Ability(Strict, frozen=True, kw_only=True):
    """What an engine declares about one operation."""

    profiles: Annotated[list[str], Meta(min_length=1)]
    """The profiles it supports. Records of other profiles are not sent."""

    stages: list[str] = []  # noqa: RUF012 - msgspec copies it
    """The stages that its answers contain. They are judged too."""

    accum: str | PartialSums | UnsetType = UNSET
    """The arithmetic it uses for sums: a label, which selects one of several correct answers, or
    how many partial sums of which size it adds up, which bounds the rounding of long rows."""

    tie: str | UnsetType = UNSET
    """Its rule for ties. It selects one of several correct answers."""

    def declared(self) -> Declared:
        """Return the parts that the judge uses."""
        return Declared(self.accum or None, self.tie or None, self.stages)


class Limits(Strict, frozen=True, kw_only=True):
    """Limits of an engine."""

    batch: Annotated[int, Meta(ge=1)] = 64
    """Maximum number of questions in one run."""


class HelloAnswer(Strict, frozen=True, kw_only=True):
    """What the engine is and what it supports. Other operations are not sent."""

    proto: Literal[1]
    impl: Implementation
    ops: dict[str, Ability]
    limits: Limits = Limits()


class Err(Strict, frozen=True, kw_only=True):
    """The input is refused. `code` is one of the codes in `fixtures/README.md`."""

    code: str
    msg: Text = ""


class Skip(Strict, frozen=True, kw_only=True):
    """The engine does not support this question yet."""

    reason: Text
    issue: Text = ""


class Crash(Strict, frozen=True, kw_only=True):
    """The engine crashed, for example with a panic or an exception."""

    msg: Text


class _Outcome(OneOf, frozen=True, kw_only=True):
    one_of: ClassVar[tuple[str, ...]] = ("ok", "err", "skip", "crash")
    ok: dict[str, Any] | UnsetType = UNSET
    """The answer to a question, in the form of a record's `out`."""

    err: Err | UnsetType = UNSET
    skip: Skip | UnsetType = UNSET
    crash: Crash | UnsetType = UNSET


class LoadAnswer(_Outcome, frozen=True, kw_only=True):
    """The result of loading. Exactly one of ok, err, skip, crash is set."""

    id: str


class Result(_Outcome, frozen=True, kw_only=True):
    """The answer to one question, by its key. Exactly one of ok, err, skip, crash is set."""

    k: str


class RunAnswer(OneOf, frozen=True, kw_only=True):
    """The answers to a run in any order, or a skip or crash of the whole run."""

    one_of = ("results", "skip", "crash")
    id: str
    results: list[Result] | UnsetType = UNSET
    skip: Skip | UnsetType = UNSET
    crash: Crash | UnsetType = UNSET


class Response(LoadAnswer, frozen=True, kw_only=True):
    """The answer to load or run, in a file of responses."""

    one_of = ("results", "ok", "err", "skip", "crash")
    results: list[Result] | UnsetType = UNSET


def line_of(message: object) -> bytes:
    """Return a message as a line."""
    return msgspec.json.encode(message) + b"\n"


# ---- messages of limited size


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
