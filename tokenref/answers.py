"""What an engine under test is, and what it can answer.

An engine loads a vocabulary and then answers requests. A request is an operation and the `in` of
a record. The engine's `out` is compared with the record's; the engine never sees the expected
answer.

An engine keeps its state between calls in its session. So no engine needs code for `session`,
the operation that consists of several calls: its calls are made in order on one session.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import UNSET, Meta, UnsetType

from bpe_ref import Vocabulary
from tokenref.floats import LONGEST, Strict
from tokenref.verdicts import ErrorCode

TEXT_OPS: Final = ("pieces", "encode", "count", "special", "decode")
"""The basic operations on text and tokens, which most engines have."""


@dataclass(frozen=True)
class Ok:
    """An answer, in the form of a record's `out`."""

    out: Mapping[str, Any]


@dataclass(frozen=True)
class Malformed(Ok):
    """An answer of a program that has not the form of a record's `out`."""

    why: str
    """What is wrong with it, and the right form."""


@dataclass(frozen=True)
class Refused:
    """The engine refuses the input with one of the error codes of records."""

    code: ErrorCode
    message: str


@dataclass(frozen=True)
class Unsupported:
    """The engine has no such operation, or cannot express the vocabulary."""

    reason: str


@dataclass(frozen=True)
class Crashed:
    """The engine crashed: an undocumented exception, or a panic."""

    message: str
    log: str = ""
    """The last part of its standard error, if it is another program."""


@dataclass(frozen=True)
class TimedOut:
    """The engine did not answer in time and was killed."""

    message: str
    log: str = ""
    seconds: float = 0.0
    """How long it was waited for, apart from loading."""


@dataclass(frozen=True)
class Skipped:
    """The engine does not support this question yet. That is neither a pass nor a failure."""

    reason: str
    issue: str = ""
    """The issue about it, if the engine names one."""


@dataclass(frozen=True)
class NotAsked:
    """The question was not asked because the engine was restarted too often. The run is invalid."""

    reason: str


NoAnswer: TypeAlias = Unsupported | Crashed | TimedOut | Skipped | NotAsked
Answer: TypeAlias = Ok | Refused | NoAnswer


def why_none(answer: NoAnswer) -> str:
    """Return why a question has no answer.

    >>> why_none(Unsupported("has no samplers"))
    'has no samplers'
    """
    return answer.message if isinstance(answer, Crashed | TimedOut) else answer.reason


class Session(Protocol):
    """An engine with a loaded vocabulary."""

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request: an operation, and a record's `in` as plain data."""


@runtime_checkable
class AnswersMany(Protocol):
    """A session that takes many questions at once, because that is faster or the real use."""

    def answer_many(self, op: str, requests: Sequence[Mapping[str, Any]]) -> Sequence[Answer]:
        """Answer requests of one operation, in order: as many answers as requests."""


class PartialSums(Strict, frozen=True, kw_only=True):
    """How a kernel adds up a row in 32 bits: partial sums, which are then added in any order.

    Either their `number` is fixed, as with one for each thread, or the `size` of each, as with
    blocks. One after another is a single partial sum.
    """

    number: Annotated[int, Meta(ge=1, le=LONGEST)] | UnsetType = UNSET
    size: Annotated[int, Meta(ge=1, le=LONGEST)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Check that one of the two is there."""
        if (self.number is UNSET) == (self.size is UNSET):
            raise ValueError("partial sums have either a number or a size")

    def additions(self, length: int) -> int:
        """Return through how many additions a number of a row of this length goes at most.

        >>> PartialSums(size=256).additions(1000), PartialSums(number=32).additions(1000)
        (258, 62)
        >>> PartialSums(number=1).additions(1000), PartialSums(size=1).additions(1000)
        (999, 999)
        """
        if self.size is not UNSET:
            size = min(self.size, length)
            number = -(-length // size)
        else:
            assert self.number is not UNSET  # noqa: S101 - one of the two is there
            number = min(self.number, length)
            size = -(-length // number)
        return size - 1 + number - 1


@dataclass(frozen=True)
class Declared:
    """What an engine declares about one operation."""

    arithmetic: str | PartialSums | None = None
    """The label of the arithmetic of its sums, such as `f32.scan`, or how they are added up."""

    tie: str | None = None
    """The label of its rule for ties, such as `lowest-id`."""

    stages: Sequence[str] = ()
    """The stages that its answers contain, which are judged too."""

    fields: Sequence[str] | None = None
    """The fields that its answers contain, if not all: the others are not judged."""

    def for_op(self, op: str, *, ids_only: bool) -> "Declared":
        """Return what is judged: with `ids_only`, only the ids of answers to `tokenize`."""
        return replace(self, fields=("ids",)) if ids_only and op == "tokenize" else self


UNDECLARED: Final = Declared()

NO_SUCH_OP: Final = "does not declare the operation"
"""The beginning of why all questions of an operation are unsupported."""


def has_only_ids(engine: "Engine") -> bool:
    """Return whether an engine's attribute `ids_only` says that it answers `tokenize` with ids."""
    return bool(getattr(engine, "ids_only", False))


@runtime_checkable
class Declares(Protocol):
    """A session that declares how it answers."""

    def declared(self, op: str) -> Declared:
        """Return what is declared about an operation."""


class Engine(Protocol):
    """A program under test."""

    @property
    def name(self) -> str:
        """The name for reports and known differences."""

    @property
    def version(self) -> str:
        """The version of the running program."""

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        """Load a vocabulary, or return why that is impossible."""


@runtime_checkable
class LoadsTokenizers(Protocol):
    """An engine that reads tokenizer.json files."""

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session | Unsupported:
        """Load a tokenizer.json, or return why that is impossible.

        `profile` is the interpretation of the file: "hugging-face" or "strict".
        """


@runtime_checkable
class LoadsProfiles(Protocol):
    """An engine with samplers."""

    def load_profile(self, profile: str) -> Session | Unsupported:
        """Select a profile, or return that the engine does not implement it.

        A profile is the name of a rule (`tokenref.rules`) or of a real engine.
        """


@runtime_checkable
class LoadsForProfile(Protocol):
    """An engine that distinguishes the profiles of records about a vocabulary."""

    def load_for_profile(
        self, vocabulary: Vocabulary, name: str, profile: str
    ) -> Session | Unsupported:
        """Load a vocabulary, to answer questions of a profile."""


@runtime_checkable
class DeclaresOperations(Protocol):
    """An engine that declares what it can answer before anything is loaded."""

    def lacks(self, op: str, profile: str) -> Unsupported | None:
        """Return why questions of an operation cannot be asked, if it was not declared."""


BEFORE_LOG: Final = "\nlog: "
"""What separates the sentence about an incident from the end of standard error."""


def without_log(incident: str) -> str:
    r"""Return the sentence about an incident.

    >>> without_log("it ended\nlog: a leak")
    'it ended'
    """
    return incident.partition(BEFORE_LOG)[0]


@runtime_checkable
class HasIncidents(Protocol):
    """An engine that is another program and may be restarted."""

    @property
    def incidents(self) -> list[str]:
        """Failures that no single question caused."""

    @property
    def restarts(self) -> int:
        """How often it was restarted."""

    @property
    def seconds_lost(self) -> float:
        """How long it was started, loaded, and waited for in vain."""

    @property
    def again(self) -> Sequence[str]:
        """The arguments of `tokenref check` that select it."""

    def forgive(self, restarts: int) -> None:
        """Do not count these restarts towards the limit."""

    def close(self) -> None:
        """End it, and note how it fails then. Another question starts it again."""


def request_text(request: Mapping[str, Any]) -> bytes | str:
    r"""Return the text of a request, or its bytes if it is given as bytes.

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
    r"""Return the content as text, or None if it is not UTF-8.

    >>> as_text(b"ab"), as_text(b"\xff")
    ('ab', None)
    """
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


class TextSession:
    """A session for the basic operations on text. Each engine adds what it has."""

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request."""
        if op not in TEXT_OPS:
            return Unsupported("has no such operation")
        if op == "decode":
            return self.decode(request)
        if op == "special":
            return self.special(request["text"], request)
        content = request_text(request)
        text = as_text(content)
        if op == "pieces":
            return self.pieces(text)
        if text is None:
            found = self.encode_bytes(bytes(content))  # type: ignore[arg-type]  # no text
        else:
            found = self.count(text) if op == "count" else self.encode(text)
        if isinstance(found, Unsupported):
            return found
        if op == "encode":
            return Ok({"ids": found})
        return Ok({"count": found if isinstance(found, int) else len(found)})

    def encode(self, text: str) -> Any:
        """Return the ids of a text, in which special tokens are text, or `Unsupported`."""
        raise NotImplementedError

    def encode_bytes(self, data: bytes) -> Any:
        """Return the ids of bytes that are not UTF-8, or `Unsupported`."""
        return Unsupported("accepts only text")

    def count(self, text: str) -> Any:
        """Return the ids of a text, or their number."""
        return self.encode(text)

    def decode(self, request: Mapping[str, Any]) -> Answer:
        """Answer `decode`."""
        raise NotImplementedError

    def special(self, text: str, request: Mapping[str, Any]) -> Answer:
        """Answer `special`."""
        return Unsupported("has no special tokens")

    def pieces(self, text: str | None) -> Answer:
        """Answer `pieces`, about text, or None if the bytes are not UTF-8."""
        return Unsupported("does not return its pieces")


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
    """Return the answers to all calls. A refusal is an answer; anything else ends the calls.

    Stages are omitted, because only the results of calls are judged.

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


_Returned = TypeVar("_Returned")


def answers_of(
    session: Session, op: str, requests: Sequence[Mapping[str, Any]], *, guard: bool = True
) -> Sequence[Answer]:
    """Return a session's answers, in one call if it takes many. An exception is a crash.

    If one call for many raises, or returns a wrong number of answers, each question is asked
    alone. Without `guard` no exception is caught, for sessions that run no foreign code.
    """
    if isinstance(session, AnswersMany):
        if not guard:
            return session.answer_many(op, requests)
        answers = guarded(lambda: session.answer_many(op, requests))
        if not isinstance(answers, Crashed) and len(answers) == len(requests):
            return answers
    return [guarded(partial(answer_question, session, op, request)) for request in requests]


def guarded(call: Callable[[], _Returned]) -> _Returned | Crashed:
    """Return the result of a call, or `Crashed` if it raises anything but KeyboardInterrupt.

    >>> guarded(lambda: 1 // 0)
    Crashed(message='ZeroDivisionError: integer division or modulo by zero', log='')
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException, and so is exit()
        return Crashed(f"{type(error).__name__}: {error}"[:300])


@contextmanager
def quiet_standard_error() -> Iterator[None]:
    """Keep the standard error of native code out of the report."""
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
