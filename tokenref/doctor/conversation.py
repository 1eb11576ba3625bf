"""One conversation with a program under test. Each mistake in an answer becomes a finding.

`tokenref.protocol.messages` says what is wrong with a line. This module knows the common mistakes
of authors behind it, and what to do about each.
"""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from tokenref.answers import Answer, Crashed, NoAnswer, as_text
from tokenref.protocol.channel import ChannelError, LateError, Patience, Process
from tokenref.protocol.messages import (
    CODES,
    EXAMPLES,
    PROTO,
    HelloAnswer,
    ProtocolError,
    WholeRunError,
    last_words,
    read_hello,
    read_load,
    read_run,
    shown,
)
from tokenref.record import KINDS, OPS

_HEX: Final = re.compile("(0x)?[0-9A-Fa-f]{2,}")


# ---- hints


def hint(line: bytes, cmd: str) -> str:
    r"""Return advice about a wrong answer to a message, or an empty string.

    >>> hint(b"loading model...", "hello")
    'standard output is for answers only: print other messages to standard error'
    >>> hint(b"{'proto': 1}", "hello")
    'this is how Python prints a dict: use json.dumps'
    >>> hint(b'{"id":"b1","results":{"0":{"ok":{}}}}', "run")
    'results must be a list, and each result must have its key as "k"'
    """
    text = line.decode("utf-8", "replace").strip("\r\n ")
    if "\ufffd" in text and as_text(line) is None:
        return "write UTF-8, or ASCII with escapes such as \\u00e9"
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _about_text(text)
    if not isinstance(value, dict):
        return "an answer must be one JSON object, in braces"
    if "cmd" in value:
        return "this is the message itself: answer it, do not echo it"
    if cmd == "hello":
        return _about_hello(value)
    if cmd == "run":
        return _about_run(value)
    return ""


def hint_on_answer(out: Any) -> str:
    """Return advice about the content of an answer that has the wrong form.

    >>> hint_on_answer({"probs": {"f32": [0.5, 0.25]}})
    'floats are given as bits, never in decimal: {"f32":"3f000000"} is [0.5]'
    >>> hint_on_answer({"bytes": "FF"})
    'hexadecimal digits must be lower case without a prefix: ff'
    """
    if isinstance(out, list):
        return 'the value of ok must be an object such as {"ids":[...]}, not a list'
    for name in ("ids", "keep", "token", "count", "tokens"):
        given = _leaves(out.get(name)) if isinstance(out, dict) else []
        if any(isinstance(value, str) for value in given):
            return f'{name} must be numbers: 300, not "300"'
        if any(isinstance(value, float) for value in given):
            return f"{name} must be integers: 300, not 300.0"
    if any(isinstance(value, float) for value in _leaves(out)):
        return 'floats are given as bits, never in decimal: {"f32":"3f000000"} is [0.5]'
    for value in _leaves(out):
        if isinstance(value, str) and _HEX.fullmatch(value):
            clean = value.removeprefix("0x").lower()
            if clean != value:
                return f"hexadecimal digits must be lower case without a prefix: {clean:.40}"
    return ""


def in_plain_words(reason: str, place: str) -> str:
    """Return what is wrong with a line, and where, as one sentence.

    >>> in_plain_words("Expected `str`, got `int`", "$.results[0].k")
    'results[0].k must be a string, got an integer'
    >>> in_plain_words("Object missing required field `ops`", "")
    'the answer has no "ops", which is required'
    >>> in_plain_words("the id must be 'b1', got 'b2'", "$.id")
    "the id must be 'b1', got 'b2' (at id)"
    """
    where = place.removeprefix("$").removeprefix(".")
    subject = where or "the answer"
    found = re.fullmatch(r"Expected `(\w+)`, got `(\w+)`", reason)
    if found and all(kind in KINDS for kind in found.groups()):
        return f"{subject} must be {KINDS[found[1]]}, got {KINDS[found[2]]}"
    if found := re.fullmatch(r"Object missing required field `(.*)`", reason):
        return f'{subject} has no "{found[1]}", which is required'
    if found := re.fullmatch(r"Object contains unknown field `(.*)`", reason):
        return f'{subject} has the unknown field "{found[1]}"'
    plain = reason.replace("it is not JSON: JSON is malformed: ", "the line is not valid JSON: ")
    return f"{plain} (at {where})" if where else plain


def near(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for a mistyped name, or an empty string.

    >>> near("defintion", ["definition", "tiktoken"])
    '; did you mean "definition"?'
    """
    found = get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.6)
    found = found or get_close_matches(name, known, n=1, cutoff=0.6)
    return f'; did you mean "{found[0]}"?' if found else ""


def _about_text(text: str) -> str:
    if not text:
        return "an empty line is not an answer: write exactly one line for each message"
    if text.startswith("\ufeff"):
        return "the line starts with a byte order mark: write UTF-8 without it"
    if re.search(r"\b(NaN|-?Infinity)\b", text) and text.startswith("{"):
        return 'JSON has no NaN and no Infinity: floats are given as bits, {"f32":"7fc00000"}'
    if re.match(r"\{\s*'", text):
        return "this is how Python prints a dict: use json.dumps"
    if text.startswith("{") and text.count("{") > text.count("}"):
        return "an answer must be one line: write the JSON without line breaks"
    if text.startswith("{") and re.search(r"\}\s*\{", text):
        return "this is more than one answer: end each with a line feed"
    if not text.startswith("{"):
        return "standard output is for answers only: print other messages to standard error"
    return ""


def _about_hello(value: Mapping[str, Any]) -> str:
    ops = value.get("ops")
    if isinstance(ops, list):
        return 'ops must be an object: "ops":{"encode":{"profiles":["definition"]}}'
    if not isinstance(ops, dict):
        return ""
    for op, ability in ops.items():
        if op not in OPS:
            return f'unknown operation "{op:.40}"' + near(op, OPS)
        if isinstance(ability, list):
            return (
                f'each operation must have an object: "{op}":{{"profiles":{json.dumps(ability)}}}'
            )
        profiles = ability.get("profiles") if isinstance(ability, dict) else None
        if isinstance(profiles, str):
            return f'profiles must be a list: "profiles":["{profiles:.40}"]'
    if isinstance(value.get("impl"), str):
        return '"impl" must be an object: {"name":"my-engine","version":"1.0"}'
    return ""


def _about_run(value: Mapping[str, Any]) -> str:
    results = value.get("results")
    if isinstance(results, dict):
        return 'results must be a list, and each result must have its key as "k"'
    if not isinstance(results, list):
        return ""
    for result in results:
        if not isinstance(result, dict):
            return (
                'a result must be an object with the key "k" of its question: {"k":"0","ok":{...}}'
            )
        said = _about_result(result)
        if said:
            return said
    return ""


def _about_result(result: Mapping[str, Any]) -> str:
    if "k" not in result:
        return 'each result needs the key "k" of its question: their order does not matter'
    if not isinstance(result["k"], str):
        return "keys are strings, whatever they look like: return them unchanged"
    if "ok" in result and not isinstance(result["ok"], dict):
        return hint_on_answer(result["ok"]) or 'the value of ok must be an object: {"ids":[...]}'
    given = [name for name in ("ok", "err", "skip", "crash") if name in result]
    if len(given) != 1:
        return "each result must have exactly one of ok, err, skip and crash" + (
            ": omit the others, do not set them to null" if given else ""
        )
    refusal = result.get("err")
    if isinstance(refusal, str):
        return f'err must be an object: {{"code":{json.dumps(refusal)[:60]},"msg":"..."}}'
    return ""


def hint_on_code(code: str) -> str:
    """Return advice about an unknown error code.

    >>> hint_on_code("missing_byte").partition("; ")[2]
    'did you mean "MISSING_BYTE"?'
    """
    return "the codes are listed in `tokenref show fixtures/README.md#verdicts`" + near(
        code.upper(), CODES
    )


def _leaves(value: Any) -> Sequence[Any]:
    """Return the scalars in a value, in order."""
    if isinstance(value, dict):
        return [leaf for entry in value.values() for leaf in _leaves(entry)]
    if isinstance(value, list):
        return [leaf for entry in value for leaf in _leaves(entry)]
    return [value]


# ---- the conversation

Kind: TypeAlias = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that is correct, worth knowing, or wrong."""

    kind: Kind
    about: str
    """The part of the conversation: start, hello, load, an operation, canary, bye."""

    text: str
    wrote: str = ""
    """The wrong line, in printable form."""

    right: str = ""
    """A correct answer."""

    hint: str = ""
    """What to do about it."""

    asked: str = ""
    """The question, with floats in decimal."""

    is_answer: bool = False
    """Whether an answer is wrong, and not how it is given."""


class StopError(Exception):
    """The conversation cannot continue. The finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


@dataclass(frozen=True)
class Said:
    """The answer to one question: as understood, and as it was written."""

    answer: Answer
    result: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """The result in printable form."""
        return shown(msgspec.json.encode(self.result))


class Conversation:
    """A program under test that receives one message at a time."""

    def __init__(self, arguments: Sequence[str], patience: Patience) -> None:
        """Start the program. Raises `StartError`."""
        self._arguments = arguments
        self._patience = patience
        self._process = Process(arguments)
        self._ids = count()
        self._heard = 0
        """How many lines it has written."""

    def hello(self) -> HelloAnswer:
        """Send hello and return the answer. Raises `StopError`."""
        message = {"cmd": "hello", "proto": PROTO}
        line = self._ask("hello", [message], self._patience.to_start, EXAMPLES["hello"])[0]
        try:
            return read_hello(line)
        except ProtocolError as error:
            raise StopError(_finding("hello", error, "hello", line, EXAMPLES["hello"])) from None

    def load(self, about: str, kind: str, digest: str, path: Path) -> NoAnswer | None:
        """Send load. Return None if that worked, else an answer. Raises `StopError`."""
        message_id = f"l{next(self._ids)}"
        message = {"cmd": "load", "id": message_id, kind: digest, "path": str(path)}
        line = self._ask(about, [message], self._patience.to_start, EXAMPLES["load"])[0]
        try:
            return read_load(line, message_id)
        except ProtocolError as error:
            raise StopError(_finding(about, error, "load", line, EXAMPLES["load"])) from None

    def run(
        self,
        message: Mapping[str, Any],
        questions: Sequence[Mapping[str, Any]],
        first: Mapping[str, Any] | None,
    ) -> list[Said]:
        """Send questions and a run without questions. Return the answers. Raises `StopError`.

        `first` is a right answer to the first question, to be shown; None if there is none.
        """
        op = str(message["op"])
        run_id, fence_id = f"b{next(self._ids)}", f"b{next(self._ids)}"
        # A program that counts, sorts or converts keys does not return these unchanged.
        keys = {f"0{len(questions) - place}": place for place in range(len(questions))}
        cases = [{"k": key, "in": question} for key, question in zip(keys, questions, strict=True)]
        example = {"id": run_id, "results": [{"k": cases[0]["k"], **(first or {})}]}
        right = shown(msgspec.json.encode(example)) if first else ""
        lines = self._ask(
            op,
            [
                {**message, "cmd": "run", "id": run_id, "cases": cases},
                {**message, "cmd": "run", "id": fence_id, "cases": []},
            ],
            self._patience.seconds(len(questions)),
            right,
        )
        try:
            answers = read_run(lines[0], run_id, op, keys)
        except ProtocolError as error:
            raise StopError(_finding(op, error, "run", lines[0], right)) from None
        except WholeRunError as error:
            answers = [Crashed(str(error))] * len(questions)
        try:
            read_run(lines[1], fence_id, op, {})
        except ProtocolError as error:
            # Usually an extra line came first.
            found = _finding(op, error, "run", lines[1], f'{{"id":"{fence_id}","results":[]}}')
            said = f"a run without questions must have an answer of its own: {found.text}"
            advice = found.hint or "write exactly one line for each message"
            raise StopError(replace(found, text=said, hint=advice)) from None
        whole = msgspec.json.decode(lines[0])
        results = {result["k"]: result for result in whole.get("results", ())}
        return [
            Said(answer, results.get(key, whole)) for key, answer in zip(keys, answers, strict=True)
        ]

    def bye(self) -> Finding:
        """Say goodbye, and return whether the program ended by itself, as a finding."""
        how = self._process.bye(b'{"cmd":"bye"}\n')
        if how:
            advice = f"exit with 0 after bye{last_words(self._process.log)}"
            return Finding("problem", "bye", how, hint=advice)
        if how is not None:
            return Finding("ok", "bye", "it ended by itself")
        return Finding(
            "note",
            "bye",
            "it did not exit within a second and was killed",
            hint="exit after bye, and at the end of standard input",
        )

    def end(self) -> None:
        """End the program now."""
        self._process.end()

    def _ask(
        self, about: str, messages: Sequence[Mapping[str, Any]], seconds: float, right: str
    ) -> list[bytes]:
        """Send messages and return as many lines. Raises `StopError`.

        `right` is a right answer to the first message, to be shown.
        """
        cmd = str(messages[0]["cmd"])
        sent = b"".join(msgspec.json.encode(message) + b"\n" for message in messages)
        try:
            lines = self._process.exchange(sent, len(messages), seconds)
        except LateError:
            found = self._about_silence(about, cmd, seconds, right)
            self._process.end()
            raise StopError(found) from None
        except ChannelError as error:
            self._process.end()
            raise StopError(self._about_death(about, cmd, str(error), right)) from None
        self._heard += len(lines)
        return lines

    def _about_silence(self, about: str, cmd: str, seconds: float, right: str) -> Finding:
        """Explain a missing answer, using what the program writes once its input is closed."""
        said, last = f"it did not answer {cmd} within {seconds:g} seconds", b""
        words = last_words(self._process.log)
        late, _ = self._process.rest(self._patience.per_batch)
        if not late.strip() and self._heard:
            advice = "it answered what came before, so this question takes too long or never ends"
            advice += words
        elif not late.strip():
            advice = (
                "read standard input line by line, and answer each line before reading the next"
            )
            advice += words
        elif b"\n" not in late:
            said, last = f"{said}: the line feed is missing", late
            advice = "end each answer with a line feed, and flush"
        else:
            said, last = f"{said}, but did when its input was closed", late.splitlines()[-1]
            advice = (
                "flush standard output after each answer, and do not wait for the end of the input"
            )
        return Finding("problem", about, said, shown(last), right, advice)

    def _about_death(self, about: str, cmd: str, reason: str, right: str) -> Finding:
        advice = "catch errors, answer the question with crash, and keep running until bye"
        if cmd == "hello":
            advice = "it must answer each line until bye"
            if not self._process.log.strip():
                asked = shlex.quote(json.dumps({"cmd": cmd, "proto": PROTO}))
                by_hand = f"echo {asked} | {shlex.join(self._arguments)}"
                advice += f"; to see why it ends, run {by_hand}"
        if "more than one answer" in reason or "a line of more than" in reason:
            advice = "write exactly one line for each message"
        said = f"{cmd} was not answered: {reason}"
        advice += last_words(self._process.log)
        return Finding("problem", about, said, right=right, hint=advice)


def _finding(about: str, error: ProtocolError, cmd: str, line: bytes, right: str) -> Finding:
    text = in_plain_words(error.reason, error.place)
    return Finding("problem", about, text, shown(line), right, hint(line, cmd))
