"""What an engine under test is, and what it can answer.

An engine loads a vocabulary and then answers requests. A request is an operation and the `in` of
a record. The engine's `out` is compared with the record's; the engine never sees the expected
answer.

An engine keeps its state between calls in its session. So no engine needs code for `session`,
the operation that consists of several calls: its calls are made in order on one session.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from bpe_ref import Vocabulary
from tokenref.record import ErrorCode

TEXT_OPS: Final = ("pieces", "encode", "count", "special", "decode")
"""The operations that ask for a text's tokens, or for a text: what most engines have."""


@dataclass(frozen=True)
class Ok:
    """An answer, in the form of a record's `out`."""

    out: Mapping[str, Any]


@dataclass(frozen=True)
class Refused:
    """The engine refuses the input, for one of the reasons that records know."""

    code: ErrorCode
    message: str


@dataclass(frozen=True)
class Unsupported:
    """The engine has no such operation, or cannot express the vocabulary."""

    reason: str


@dataclass(frozen=True)
class Crashed:
    """The engine broke: an exception that no documentation promises, or a panic."""

    message: str
    log: str = ""
    """The end of what it wrote to standard error, if it is another program."""


@dataclass(frozen=True)
class TimedOut:
    """The engine did not answer in time, and was ended."""

    message: str
    log: str = ""


@dataclass(frozen=True)
class Skipped:
    """The engine says that it cannot answer this one yet. It is no pass, and no failure."""

    reason: str
    issue: str = ""
    """Where that is being worked on, if the engine says so."""


@dataclass(frozen=True)
class NotAsked:
    """The question was not put: the engine had to be restarted too often. The run is invalid."""

    reason: str


Answer: TypeAlias = Ok | Refused | Unsupported | Crashed | TimedOut | Skipped | NotAsked


class Session(Protocol):
    """An engine with a vocabulary loaded."""

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request: an operation, and a record's `in` as plain data."""


@runtime_checkable
class AnswersMany(Protocol):
    """What a session has as well if it is faster, or only itself, with many questions at once."""

    def answer_many(self, op: str, requests: Sequence[Mapping[str, Any]]) -> Sequence[Answer]:
        """Answer requests of one operation, in order: as many answers as requests."""


@dataclass(frozen=True)
class Declared:
    """What an engine says of how it answers one operation."""

    arithmetic: str | None = None
    """The label of the arithmetic by which it sums, `f32.scan`."""

    tie: str | None = None
    """The label of its rule for ties, `lowest-id`."""

    stages: Sequence[str] = ()
    """The stages that its answers have; they are judged as well."""


UNDECLARED: Final = Declared()


@runtime_checkable
class Declares(Protocol):
    """What a session has as well if it says how it answers."""

    def declared(self, op: str) -> Declared:
        """Return what is declared of an operation."""


class Engine(Protocol):
    """A program under test."""

    @property
    def name(self) -> str:
        """The name that reports and known differences use."""

    @property
    def version(self) -> str:
        """The version of the program that is running."""

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        """Load a vocabulary, or return why that is impossible."""


@runtime_checkable
class LoadsTokenizers(Protocol):
    """What an engine has as well if it reads tokenizer.json files."""

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session | Unsupported:
        """Load a tokenizer.json, or say why that cannot be.

        `profile` says whose reading of it is asked for: "hugging-face" or "strict".
        """


@runtime_checkable
class LoadsProfiles(Protocol):
    """What an engine has if it samples."""

    def load_profile(self, profile: str) -> Session | Unsupported:
        """Take up a profile, or say that its rules are not those of the engine.

        A profile is the name of a rule (`tokenref.rules`) or of a real engine.
        """


@runtime_checkable
class LoadsForProfile(Protocol):
    """What an engine has if a vocabulary's records of several profiles are not one to it."""

    def load_for_profile(
        self, vocabulary: Vocabulary, name: str, profile: str
    ) -> Session | Unsupported:
        """Load a vocabulary, to answer questions of a profile."""


@runtime_checkable
class HasIncidents(Protocol):
    """What an engine has that is another program: it may have to be restarted."""

    @property
    def incidents(self) -> Sequence[str]:
        """Failures that no single question caused."""

    @property
    def restarts(self) -> int:
        """How often it was started again."""

    @property
    def again(self) -> Sequence[str]:
        """The arguments of `tokenref check` that mean it."""


def request_text(request: Mapping[str, Any]) -> bytes | str:
    r"""Return the text of a request, or its bytes where it is given so.

    >>> request_text({"text": "ab"}), request_text({"bytes": "ff"})
    ('ab', b'\xff')
    >>> request_text({"recipe": {"unit": "61", "times": 3}})
    b'aaa'
    """
    if "text" in request:
        return str(request["text"])
    if "bytes" in request:
        return bytes.fromhex(request["bytes"])
    recipe = request["recipe"]
    before, unit, after = (
        bytes.fromhex(recipe.get(part, "")) for part in ("before", "unit", "after")
    )
    return before + unit * int(recipe["times"]) + after


def as_text(content: bytes | str) -> str | None:
    r"""Return the content as text, or None where it is not UTF-8.

    >>> as_text(b"ab"), as_text(b"\xff")
    ('ab', None)
    """
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


SESSION: Final = "session"

Ask: TypeAlias = Callable[[str, Mapping[str, Any]], Answer]


def answer_question(session: Session, op: str, request: Mapping[str, Any]) -> Answer:
    """Return a session's answer to one question, which may be several calls.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> from tokenref.engines.reference import ReferenceEngine
    >>> session = ReferenceEngine().load(vocabulary_by_concatenation({b"a": 0}), "one")
    >>> calls = [{"op": "count", "in": {"text": "aa"}}, {"op": "encode", "in": {"text": "b"}}]
    >>> answer_question(session, "session", {"calls": calls})
    Ok(out={'answers': [{'count': 2}, {'code': 'MISSING_BYTE'}]})
    """
    if op == SESSION:
        return answer_calls(session.answer, request)
    return session.answer(op, request)


def answer_calls(ask: Ask, request: Mapping[str, Any]) -> Answer:
    """Return the answers of all calls. A refusal is one of them; what is no answer ends them all.

    Stages are left out: a call is judged by what it gives.

    >>> from tokenref.answers import Unsupported
    >>> calls = [{"op": "a", "in": {}}]
    >>> answer_calls(lambda op, request: Unsupported(f"has no {op}"), {"calls": calls})
    Unsupported(reason='has no a')
    """
    answers: list[dict[str, Any]] = []
    for call in request["calls"]:
        answer = ask(call["op"], call["in"])
        if isinstance(answer, Ok):
            answers.append({key: part for key, part in answer.out.items() if key != "stages"})
        elif isinstance(answer, Refused):
            answers.append({"code": answer.code})
        else:
            return answer
    return Ok({"answers": answers})
