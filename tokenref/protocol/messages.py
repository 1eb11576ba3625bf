"""The messages between tokenref and a program under test, as types, and reading what it wrote.

`docs/protocol.md` is the normative description. tokenref sends a `Request`. A program answers
hello with `HelloAnswer`, load with `LoadAnswer` and run with `RunAnswer`. Ids and keys are opaque;
the program returns them unchanged. What is wrong with a line is described with the line, the place
in the line, and an example of a correct message.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from tokenref.answers import Answer, Crashed, Declared, Malformed, Ok, PartialSums, Refused, Skipped
from tokenref.floats import Strict
from tokenref.questions import OneOf
from tokenref.record import OPERATIONS, OPS, Digest, form_of, reason_and_place
from tokenref.subjects import TokenizerFile, TokenizerSubject
from tokenref.verdicts import SamplerErrorCode, TokenizerErrorCode
from tokenref.visible import visible

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

    @property
    def subject(self) -> str | None:
        """The digest of what the questions are about."""
        return (self.tokenizer or self.vocab) or None


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
    ids_only: bool = False
    """Whether answers to `tokenize` have only ids. No other parts of them are compared."""


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


# ---- reading what a program wrote


CODES: Final[Sequence[str]] = (*get_args(TokenizerErrorCode), *get_args(SamplerErrorCode))
"""All error codes."""

EXAMPLES: Final[Mapping[str, str]] = {
    "hello": '{"proto":1,"impl":{"name":"my-engine","version":"1.0"},'
    '"ops":{"encode":{"profiles":["definition"]}}}',
    "load": '{"id":"l1","ok":{}}',
    "run": '{"id":"b1","results":[{"k":"0","ok":{"ids":[300]}},'
    '{"k":"1","err":{"code":"MISSING_BYTE","msg":"no token is ff"}}]}',
}
"""A correct answer to each message that has one."""

_SHOWN: Final = 200
_LONGEST: Final = 1000
"""How many bytes of a line are shown."""

_Message = TypeVar("_Message")


class ProtocolError(Exception):
    """A program under test wrote something that violates the protocol.

    >>> print(ProtocolError("the id must be 'b1', got 'b2'", "$.id", b'{"id":"b2"}', "load"))
    the id must be 'b1', got 'b2', at $.id; it wrote {"id":"b2"}; expected {"id":"l1","ok":{}}
    """

    def __init__(self, reason: str, place: str = "", line: bytes = b"", cmd: str = "") -> None:
        """Take the reason, the place in the line, the line, and the message that it answers."""
        self.reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}..."
        self.place = place
        """The path of the error in the JSON, such as `$.results[3].k`; empty for the whole line."""

        self.line = line
        self.example = EXAMPLES.get(cmd, "")
        """An example of a correct message."""

        super().__init__(reason)

    def __str__(self) -> str:
        """Return the whole message in one line."""
        at = f", at {self.place}" if self.place else ""
        wrote = f"; it wrote {shown(self.line)}" if self.line else ""
        right = f"; expected {self.example}" if self.example else ""
        return self.reason + at + wrote + right


class WholeRunError(Exception):
    """A program reported a crash of a whole run. One of its questions caused it."""


def shown(line: bytes) -> str:
    r"""Return a line in printable form, truncated if it is long.

    >>> shown(b"\xff\n"), shown(b"a" * 1000)[-30:]
    ('\\xff', 'aaaaaaaaaaaa ... (1,000 bytes)')
    """
    length = len(line) - line.endswith(b"\n")
    start = line[: min(length, _SHOWN)].decode("utf-8", "backslashreplace")
    return visible(start) + (f" ... ({length:,} bytes)" if length > _SHOWN else "")


_ERROR: Final = re.compile(
    r"^([\w.:]*(?:Error|Exception)\b|panic: |terminate called|thread '.*panicked at .*\n"
    r"|.*\bERROR: |.*\bruntime error: ).*",
    re.MULTILINE,
)
"""A line of standard error that names an error, in Python, Node, Go, C++, Rust and sanitizers."""

_SUMMARY: Final = re.compile(r"^SUMMARY: [^\r\n]*", re.MULTILINE)


def last_words(log: str) -> str:
    r"""Return the end of standard error as the end of a sentence.

    It is the last line, without notes of Rust, or a sanitizer's summary, and before it the last one
    that names an error, as Node ends with another line. Both together have at most 200 characters.
    The folders in a summary are left out. A leak has its first frame behind `malloc`.

    >>> last_words("one\ntwo\n")
    "; its last line on standard error: 'two'"
    >>> last_words("a.js:1\n\nTypeError: x is null\n    at f (a.js:1:2)\n\nNode.js v20.1.0\n")
    "; on standard error: 'TypeError: x is null ... Node.js v20.1.0'"
    >>> last_words("==7==ERROR: ASan: overflow\n  #0 f\nSUMMARY: /a/b.c:3 in f\n==7==ABORTING")
    "; on standard error: '==7==ERROR: ASan: overflow ... SUMMARY: …/b.c:3 in f'"
    >>> last_words("ERROR: LSan\n  #0 0x7 in malloc\n  #1 0x8 in f /a.c:3\nSUMMARY: 9 leaked")
    "; on standard error: 'ERROR: LSan ... in f …/a.c:3, SUMMARY: 9 leaked'"
    """
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith("note: ")]
    last = (_SUMMARY.findall(log) or lines or [""])[-1]
    errors = [match.group() for match in _ERROR.finditer(log)]
    if not errors or last in errors[-1]:
        return f"; its last line on standard error: {last[-200:]!r}" if last else ""
    is_summary = last.startswith("SUMMARY: ")
    if "leaked" in last and (frame := re.search(r"^ +#1 0x\w+ (in .+)", log, re.MULTILINE)):
        last = f"{frame[1]}, {last}"
    last = re.sub(r"[^\s(]*/(?=[^\s/])", "…/", last)[:95] if is_summary else last[-40:]
    return f"; on standard error: {f'{errors[-1][: 195 - len(last)]} ... {last}'!r}"


def short_log(log: str, longest: int) -> str:
    r"""Return the end of standard error, and before it the line that names an error, or the start.

    The end is a sanitizer's summary, which is before a dump of the memory.

    >>> short_log("begin" + "-" * 99 + "end", 10), short_log("Error: a\n" + "b" * 30, 16)
    ('(107 characters) begin ... --end', '(39 characters) Error: a ... bbbbbbbb')
    >>> short_log("a.cpp:1\nSUMMARY: overflow\nShadow bytes:" + "fa " * 99, 40)
    '(336 characters) a.cpp:1\nSUMMARY: overflow'
    """
    if len(log) <= longest:
        return log
    start, half = max((each.start() for each in _ERROR.finditer(log)), default=0), longest // 2
    size, summary = len(log), max((each.end() for each in _SUMMARY.finditer(log)), default=0)
    log = log[: summary if summary > start else None]
    is_cut = start < len(log) - longest
    end = f"{log[start : start + half]} ... {log[-half:]}" if is_cut else log[-longest:]
    return f"({size} characters) {end}"


def read_hello(line: bytes) -> HelloAnswer:
    """Return the answer to hello. Raises `ProtocolError`.

    >>> read_hello(EXAMPLES["hello"].encode()).impl.name
    'my-engine'
    """
    answer = decode(_HELLO, line, "hello")
    for op in answer.ops:
        if op not in OPS:
            near = get_close_matches(op[:80], OPS, 1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            listed = "`tokenref show fixtures/README.md` lists them"
            reason = f"unknown operation {op!r:.80}; {meant}{listed}"
            raise ProtocolError(reason, "$.ops", line, "hello")
    return answer


def read_load(line: bytes, message_id: str) -> Skipped | Crashed | None:
    """Return None if loading worked, else the answer to all questions. Raises `ProtocolError`.

    >>> read_load(b'{"id":"l1","skip":{"reason":"has 32-bit ids only"}}', "l1")
    Skipped(reason='has 32-bit ids only', issue='')
    """
    answer = decode(_LOAD, line, "load")
    _check_id(answer.id, message_id, line, "load")
    return load_outcome(answer)


def load_outcome(answer: LoadAnswer) -> Skipped | Crashed | None:
    """Return None if loading worked, else the answer to all questions."""
    if answer.err is not UNSET:
        return Crashed(f"loading was refused: {answer.err.code}: {answer.err.msg}"[:300])
    return said(answer)


def read_run(line: bytes, message_id: str, op: str, keys: Mapping[str, int]) -> list[Answer]:
    """Return the answers to a run, in the order of its keys.

    Raises `ProtocolError`, and `WholeRunError` if a run of several questions crashed.

    An answer of the wrong form is wrong. The other answers are used.

    >>> read_run(b'{"id":"b1","results":[{"k":"x","ok":{"count":2}}]}', "b1", "count", {"x": 0})
    [Ok(out={'count': 2})]
    """
    answer = decode(_RUN, line, "run")
    _check_id(answer.id, message_id, line, "run")
    instead = said(answer)
    if isinstance(instead, Crashed) and len(keys) > 1:
        raise WholeRunError(instead.message)
    if instead is not None:
        return [instead] * len(keys)
    answers: dict[int, Answer] = {}
    for at, result in enumerate([] if answer.results is UNSET else answer.results):
        position = keys.get(result.k, -1)
        if position < 0 or position in answers:
            wrong = "was not asked" if position < 0 else "is answered twice"
            reason = f"the key {result.k!r:.80} {wrong}"
            raise ProtocolError(reason, f"$.results[{at}].k", line, "run")
        answers[position] = read_result(result, op)
    for key, position in keys.items():
        if position not in answers:
            raise ProtocolError(f"the key {key!r:.80} has no answer", "$.results", line, "run")
    return [answers[position] for position in range(len(keys))]


def read_result(result: Result, op: str) -> Answer:
    """Return the answer in a result. An unknown code is a crash.

    >>> read_result(Result(k="0", ok={"count": "2"}), "count").why
    'Expected `int`, got `str`, at $.ok.count; it wrote {"count":"2"}; the form is {"count":N}'
    """
    if result.ok is not UNSET:
        ids_alone = op == "tokenize" and result.ok.keys() == {"ids"}  # the judge says what lacks
        try:
            msgspec.convert(result.ok, OPERATIONS["encode" if ids_alone else op].answer)
        except msgspec.ValidationError as error:
            reason, place = reason_and_place(str(error))
            where = place.replace("$", "$.ok", 1) or "$.ok"
            wrote = shown(msgspec.json.encode(result.ok))
            form = f"the form is {form_of(op)}"
            return Malformed(result.ok, f"{reason}, at {where}; it wrote {wrote}; {form}")
        return Ok(result.ok)
    if result.err is not UNSET:
        code, message = result.err.code, result.err.msg
        if code not in CODES:
            return Crashed(
                f"a code must be one of {', '.join(CODES)}, got {code!r:.80}, at $.err.code"
            )
        return Refused(code, message)  # type: ignore[arg-type]  # it is one of them
    answer = said(result)
    assert answer is not None  # noqa: S101 - one of the four is there
    return answer


def said(answer: LoadAnswer | RunAnswer | Result) -> Skipped | Crashed | None:
    """Return the skip or crash of an answer, if it is one."""
    if answer.skip is not UNSET:
        return Skipped(answer.skip.reason, answer.skip.issue)
    return None if answer.crash is UNSET else Crashed(answer.crash.msg)


def _check_id(got: str, expected: str, line: bytes, cmd: str) -> None:
    if got != expected:
        raise ProtocolError(f"the id must be {expected!r}, got {got!r:.80}", "$.id", line, cmd)


_HELLO: Final = msgspec.json.Decoder(HelloAnswer)
_LOAD: Final = msgspec.json.Decoder(LoadAnswer)
_RUN: Final = msgspec.json.Decoder(RunAnswer)


def decode(decoder: "msgspec.json.Decoder[_Message]", line: bytes, cmd: str) -> _Message:
    """Decode one line. Raises `ProtocolError`."""
    try:
        message = decoder.decode(line)
        json.loads(line, object_pairs_hook=_without_duplicates, parse_int=str, parse_float=str)
    except _DuplicateError as error:
        raise ProtocolError(f"the key {error} comes twice in an object", "", line, cmd) from None
    except RecursionError:
        raise ProtocolError("it is nested too deeply", "", line, cmd) from None
    except UnicodeDecodeError:
        raise ProtocolError("it is not UTF-8", "", line, cmd) from None
    except msgspec.ValidationError as error:
        raise ProtocolError(*reason_and_place(str(error)), line, cmd) from None
    except msgspec.DecodeError as error:
        raise ProtocolError(f"it is not JSON: {error}", "", line, cmd) from None
    return message


class _DuplicateError(Exception):
    """An object that has a key twice: readers differ in which one counts."""


def _without_duplicates(pairs: list[tuple[str, object]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _DuplicateError(f"{counts.most_common(1)[0][0]!r:.80}")
