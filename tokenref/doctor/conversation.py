"""One conversation with a program under test. Each mistake in an answer becomes a finding."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from tokenref.answers import Answer, Crashed, NoAnswer
from tokenref.doctor.hints import hint, in_plain_words
from tokenref.protocol.channel import ChannelError, LateError, Patience, Process
from tokenref.protocol.messages import PROTO, HelloAnswer
from tokenref.protocol.reading import (
    EXAMPLES,
    ProtocolError,
    WholeRunError,
    read_hello,
    read_load,
    read_run,
    shown,
)

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


class StopError(Exception):
    """The conversation cannot continue. The finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


_READ_AT_THE_END: Final = 1 << 20
"""How many bytes are read from a program that did not answer, once its input is closed."""


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
        self._said: list[bytes] = []
        self._heard = 0
        """How many lines it has written."""

    def hello(self) -> HelloAnswer:
        """Send hello and return the answer. Raises `StopError`."""
        line = self._ask("hello", [{"cmd": "hello", "proto": PROTO}], self._patience.to_start)[0]
        try:
            return read_hello(line)
        except ProtocolError as error:
            raise StopError(_finding("hello", error, "hello", line)) from None

    def load(self, about: str, kind: str, digest: str, path: Path) -> NoAnswer | None:
        """Send load. Return None if that worked, else an answer. Raises `StopError`."""
        message_id = f"l{next(self._ids)}"
        message = {"cmd": "load", "id": message_id, kind: digest, "path": str(path)}
        line = self._ask(about, [message], self._patience.to_start)[0]
        try:
            return read_load(line, message_id)
        except ProtocolError as error:
            raise StopError(_finding(about, error, "load", line)) from None

    def run(self, message: Mapping[str, Any], questions: Sequence[Mapping[str, Any]]) -> list[Said]:
        """Send questions and a run without questions. Return the answers. Raises `StopError`."""
        op = str(message["op"])
        run_id, fence_id = f"b{next(self._ids)}", f"b{next(self._ids)}"
        # A program that counts, sorts or converts keys does not return these unchanged.
        keys = {f"0{len(questions) - place}": place for place in range(len(questions))}
        cases = [{"k": key, "in": question} for key, question in zip(keys, questions, strict=True)]
        lines = self._ask(
            op,
            [
                {**message, "cmd": "run", "id": run_id, "cases": cases},
                {**message, "cmd": "run", "id": fence_id, "cases": []},
            ],
            self._patience.seconds(len(questions)),
        )
        try:
            answers = read_run(lines[0], run_id, op, keys)
        except ProtocolError as error:
            raise StopError(_finding(op, error, "run", lines[0])) from None
        except WholeRunError as error:
            answers = [Crashed(str(error))] * len(questions)
        try:
            read_run(lines[1], fence_id, op, {})
        except ProtocolError as error:
            finding = _about_fence(_finding(op, error, "run", lines[1]), fence_id)
            raise StopError(finding) from None
        whole = msgspec.json.decode(lines[0])
        results = {result["k"]: result for result in whole.get("results", ())}
        return [
            Said(answer, results.get(key, whole)) for key, answer in zip(keys, answers, strict=True)
        ]

    def bye(self) -> Finding:
        """Say goodbye, and return whether the program ended by itself, as a finding."""
        if self._process.bye(b'{"cmd":"bye"}\n'):
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
        self, about: str, messages: Sequence[Mapping[str, Any]], seconds: float
    ) -> list[bytes]:
        """Send messages and return as many lines. Raises `StopError`."""
        sent = b"".join(msgspec.json.encode(message) + b"\n" for message in messages)
        self._said.append(sent)
        try:
            lines = self._process.exchange(sent, len(messages), seconds)
        except LateError:
            self._process.end()
            raise StopError(self._about_silence(about, str(messages[0]["cmd"]), seconds)) from None
        except ChannelError as error:
            self._process.end()
            raise StopError(self._about_death(about, str(messages[0]["cmd"]), str(error))) from None
        self._heard += len(lines)
        return lines

    def _about_silence(self, about: str, cmd: str, seconds: float) -> Finding:
        """Explain a missing answer, using what the program writes once its input is closed."""
        said = f"it did not answer {cmd} within {seconds:g} seconds"
        late = self._answers_at_the_end()
        if not late.strip():
            advice = (
                "read standard input line by line, and answer each line before reading the next"
            )
            advice += self._last_words()
            return Finding("problem", about, said, right=EXAMPLES[cmd], hint=advice)
        if late.endswith(b"\n") and late.count(b"\n") <= self._heard:
            advice = "it answered what came before, so this question takes too long or never ends"
            advice += self._last_words()
            return Finding("problem", about, said, right=EXAMPLES[cmd], hint=advice)
        if not late.endswith(b"\n") and late.count(b"\n") < len(self._said):
            said, last = f"{said}: the line feed is missing", late
            advice = "end each answer with a line feed, and flush"
        else:
            said, last = f"{said}, but did when its input was closed", late.splitlines()[-1]
            advice = (
                "flush standard output after each answer, and do not wait for the end of the input"
            )
        return Finding("problem", about, said, shown(last), EXAMPLES[cmd], advice)

    def _about_death(self, about: str, cmd: str, reason: str) -> Finding:
        more = "more than one answer" in reason or "a line of more than" in reason
        advice = "catch errors, answer the question with crash, and keep running until bye"
        if more:
            advice = "write exactly one line for each message"
        said = f"{cmd} was not answered: {reason}"
        advice += self._last_words()
        return Finding("problem", about, said, right=EXAMPLES[cmd], hint=advice)

    def _last_words(self) -> str:
        last = self._process.log.rstrip().rpartition("\n")[2][-200:]
        return f"; the last line on its standard error is {last!r}" if last else ""

    def _answers_at_the_end(self) -> bytes:
        """Start the program again, send everything, close its input, and return what it writes."""
        with subprocess.Popen(
            self._arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        ) as child:
            try:
                return _exchange_all(child, b"".join(self._said), self._patience.per_batch)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)


def _exchange_all(child: "subprocess.Popen[bytes]", message: bytes, seconds: float) -> bytes:
    """Write a message of moderate length, close the input, and read until the time limit."""
    assert child.stdin is not None  # noqa: S101 - it is a pipe
    assert child.stdout is not None  # noqa: S101 - as is this
    deadline = time.monotonic() + seconds
    written = bytearray()
    os.set_blocking(child.stdin.fileno(), False)
    with selectors.DefaultSelector() as ready:
        with suppress(OSError):  # the program may not read, so only what a pipe holds is written
            child.stdin.write(message[: 1 << 16])
        child.stdin.close()
        ready.register(child.stdout, selectors.EVENT_READ)
        while len(written) < _READ_AT_THE_END and ready.select(deadline - time.monotonic()):
            chunk = os.read(child.stdout.fileno(), 1 << 16)
            if not chunk or time.monotonic() > deadline:
                break
            written += chunk
    return bytes(written)


def _finding(about: str, error: ProtocolError, cmd: str, line: bytes) -> Finding:
    text = in_plain_words(error.reason, error.place)
    return Finding("problem", about, text, shown(line), EXAMPLES[cmd], hint(line, cmd))


def _about_fence(finding: Finding, message_id: str) -> Finding:
    """Explain a wrong answer to a run without questions: usually an extra line came first."""
    return Finding(
        "problem",
        finding.about,
        f"a run without questions must have an answer of its own: {finding.text}",
        finding.wrote,
        f'{{"id":"{message_id}","results":[]}}',
        finding.hint or "write exactly one line for each message",
    )
