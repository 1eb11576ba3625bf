"""The messages between tokenref and a program under test, as types.

`docs/protocol.md` is the normative description. tokenref sends a `Request`. A program answers
hello with `HelloAnswer`, load with `LoadAnswer` and run with `RunAnswer`. Ids and keys are opaque;
the program returns them unchanged.
"""

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tokenref.answers import Declared, PartialSums
from tokenref.floats import Strict
from tokenref.questions import OneOf
from tokenref.record import Digest

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
