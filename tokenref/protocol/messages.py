"""The messages between tokenref and a program under test, as types.

`docs/protocol.md` is the normative description. What tokenref sends is a
`Request`; a program answers hello with `HelloAnswer`, load with `LoadAnswer`
and run with `RunAnswer`. Ids and keys are opaque: a program gives them back.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tokenref.answers import Declared
from tokenref.floats import Strict
from tokenref.record import Digest

PROTO: Final = 1
"""The version of the protocol."""

Text: TypeAlias = Annotated[str, Meta(max_length=10_000)]
"""A message for people, or a name."""


class About(Struct, frozen=True, kw_only=True):
    """What an exported file of requests says of itself; a program needs none of it."""

    fixtures: Digest
    """Digest of the manifest that the questions are from."""

    cases: Annotated[int, Meta(ge=0)]
    """How many questions there are in the file."""

    seed: int
    """What the order was made from."""


class HelloRequest(Strict, frozen=True, kw_only=True, tag_field="cmd", tag="hello"):
    """Asks what the program is, and what it can do."""

    proto: Literal[1]
    about: About | UnsetType = UNSET


class LoadRequest(Strict, frozen=True, kw_only=True, tag_field="cmd", tag="load"):
    """Load a vocabulary, or a whole tokenizer. What was loaded before is not used again."""

    id: str
    path: str
    """The file: a vocabulary as the fixtures have them, or a tokenizer.json."""

    vocab: Digest | UnsetType = UNSET
    tokenizer: Digest | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one."""
        if (self.vocab is UNSET) == (self.tokenizer is UNSET):
            raise ValueError("must have exactly one of `vocab` and `tokenizer`")


class Question(Strict, frozen=True, kw_only=True):
    """One question: its key, and a record's `in`."""

    k: str
    input: dict[str, Any] = msgspec.field(name="in")


class RunRequest(Strict, frozen=True, kw_only=True, tag_field="cmd", tag="run"):
    """Answer questions of one operation, by the rules of one profile. There may be none."""

    id: str
    op: str
    profile: str
    cases: list[Question]
    vocab: Digest | UnsetType = UNSET
    tokenizer: Digest | UnsetType = UNSET


class ByeRequest(Strict, frozen=True, kw_only=True, tag_field="cmd", tag="bye"):
    """That was all. There is no answer; the program ends."""


Request: TypeAlias = HelloRequest | LoadRequest | RunRequest | ByeRequest


class Implementation(Struct, frozen=True, kw_only=True):
    """Who answers. Other fields are allowed, and not looked at."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    version: Annotated[str, Meta(min_length=1, max_length=100)]
    language: Text = ""
    commit: Text = ""
    issues: Text = ""


class Ability(Strict, frozen=True, kw_only=True):
    """What an engine says of one operation."""

    profiles: Annotated[list[str], Meta(min_length=1)]
    """By whose rules it can answer; records of other profiles are not sent."""

    stages: list[str] = []  # noqa: RUF012 - msgspec copies it
    """The stages that its answers have, which are then judged."""

    accum: str | UnsetType = UNSET
    """The arithmetic by which it sums: of several right answers, only that one's is right."""

    tie: str | UnsetType = UNSET
    """Its rule for ties: of several right answers, only that one's is right."""

    def declared(self) -> Declared:
        """Return what judging takes from it."""
        return Declared(self.accum or None, self.tie or None, self.stages)


class Limits(Strict, frozen=True, kw_only=True):
    """What an engine can take."""

    batch: Annotated[int, Meta(ge=1)] = 64
    """The most questions in one run."""


class HelloAnswer(Strict, frozen=True, kw_only=True):
    """What the engine is, and what it can do. Operations that are not named are not sent."""

    proto: Literal[1]
    impl: Implementation
    ops: dict[str, Ability]
    limits: Limits = Limits()


class Err(Strict, frozen=True, kw_only=True):
    """The question has no answer: the reason, a code of `fixtures/README.md`."""

    code: str
    msg: Text = ""


class Skip(Strict, frozen=True, kw_only=True):
    """The engine cannot answer that yet."""

    reason: Text
    issue: Text = ""


class Crash(Strict, frozen=True, kw_only=True):
    """The engine broke, and the program around it noticed: a panic, an exception."""

    msg: Text


class LoadAnswer(Strict, frozen=True, kw_only=True):
    """What became of loading. Exactly one of ok, err, skip, crash."""

    id: str
    ok: dict[str, Any] | UnsetType = UNSET
    err: Err | UnsetType = UNSET
    skip: Skip | UnsetType = UNSET
    crash: Crash | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one."""
        _exactly_one(self.ok, self.err, self.skip, self.crash)


class Result(Strict, frozen=True, kw_only=True):
    """The answer to one question, by its key. Exactly one of ok, err, skip, crash."""

    k: str
    ok: dict[str, Any] | UnsetType = UNSET
    """In the form of a record's `out`."""

    err: Err | UnsetType = UNSET
    skip: Skip | UnsetType = UNSET
    crash: Crash | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one."""
        _exactly_one(self.ok, self.err, self.skip, self.crash)


class RunAnswer(Strict, frozen=True, kw_only=True):
    """The answers to a run, in any order; or why there are none: a skip, a crash."""

    id: str
    results: list[Result] | UnsetType = UNSET
    skip: Skip | UnsetType = UNSET
    crash: Crash | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one."""
        if (self.results, self.skip, self.crash).count(UNSET) != 2:
            raise ValueError("must have exactly one of `results`, `skip` and `crash`")


def _exactly_one(*given: object) -> None:
    if given.count(UNSET) != 3:
        raise ValueError("must have exactly one of `ok`, `err`, `skip` and `crash`")


def schema() -> dict[str, Any]:
    """Return the JSON schema of a line: any of the messages.

    >>> sorted(schema())
    ['$defs', '$schema', 'anyOf']
    """
    kinds = [*get_args(Request), HelloAnswer, LoadAnswer, RunAnswer]
    references, definitions = msgspec.json.schema_components(kinds)
    for name, fields in _ONE_OF.items():
        definitions[name]["oneOf"] = [{"required": [field]} for field in fields]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": list(references),
        "$defs": definitions,
    }


_ONE_OF: Final = {
    "LoadRequest": ("vocab", "tokenizer"),
    "LoadAnswer": ("ok", "err", "skip", "crash"),
    "Result": ("ok", "err", "skip", "crash"),
    "RunAnswer": ("results", "skip", "crash"),
}
"""Of which fields exactly one is there, which types alone do not say."""
