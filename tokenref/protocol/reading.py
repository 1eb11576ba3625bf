"""Read what a program under test wrote, and describe what is wrong with it.

An error contains the line, the place in the line, and an example of a correct message.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar, get_args

import msgspec
from msgspec import UNSET

from tokenref.answers import Answer, Crashed, Ok, Refused, Skipped
from tokenref.protocol.messages import HelloAnswer, LoadAnswer, Result, RunAnswer
from tokenref.record import OPERATIONS, OPS
from tokenref.verdicts import SamplerErrorCode, TokenizerErrorCode

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

_PLACE: Final = re.compile(r" - at `(?:key in )?(\$[^`]*)`")

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
    text = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in start
    )
    return text if length <= _SHOWN else f"{text} ... ({length:,} bytes)"


def read_hello(line: bytes) -> HelloAnswer:
    """Return the answer to hello. Raises `ProtocolError`.

    >>> read_hello(EXAMPLES["hello"].encode()).impl.name
    'my-engine'
    """
    answer = decode(_HELLO, line, "hello")
    for op in answer.ops:
        if op not in OPS:
            reason = f"an operation must be one of {', '.join(OPS)}, got {op!r:.80}"
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

    An answer of the wrong form is a crash of its question. The other answers are used.

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
    """Return the answer in a result, or a crash if its content has the wrong form.

    >>> read_result(Result(k="0", ok={"count": "2"}), "count").message
    'Expected `int`, got `str`, at $.ok.count; it wrote {"count":"2"}'
    """
    if result.ok is not UNSET:
        try:
            msgspec.convert(result.ok, OPERATIONS[op].answer)
        except msgspec.ValidationError as error:
            reason, place = _split(str(error))
            where = place.replace("$", "$.ok", 1) or "$.ok"
            return Crashed(
                f"{reason}, at {where}; it wrote {shown(msgspec.json.encode(result.ok))}"
            )
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
        raise ProtocolError(*_split(str(error)), line, cmd) from None
    except msgspec.DecodeError as error:
        raise ProtocolError(f"it is not JSON: {error}", "", line, cmd) from None
    return message


class _DuplicateError(Exception):
    """An object that has a key twice: readers differ in which one counts."""


def _without_duplicates(pairs: list[tuple[str, object]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _DuplicateError(f"{counts.most_common(1)[0][0]!r:.80}")


def _split(sentence: str) -> tuple[str, str]:
    """Return the reason and the path of an error message of msgspec.

    >>> _split("Expected `int`, got `str` - at `$.a[0]`")
    ('Expected `int`, got `str`', '$.a[0]')
    """
    place = _PLACE.search(sentence)
    return (sentence[: place.start()], place.group(1)) if place else (sentence, "")
