"""An engine driven by messages: asked in batches, restarted after a crash, with time limits.

After each batch comes a run without questions. If a program writes more than its one answer, the
extra line is read as the answer to that run, so it is detected at once and not one batch later.

A batch that fails is asked again one question at a time. If one of 64 questions is at fault, that
takes two restarts; bisection would take seven.
"""

import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias

from bpe_ref import Vocabulary
from tokenref.answers import (
    BEFORE_LOG,
    NO_SUCH_OP,
    UNDECLARED,
    Answer,
    Crashed,
    Declared,
    Engine,
    HasIncidents,
    NotAsked,
    TimedOut,
    Unsupported,
)
from tokenref.catalogue import LARGEST_BATCH
from tokenref.errors import InputError
from tokenref.protocol.channel import Channel, ChannelError, LateError, Patience, StartError
from tokenref.protocol.messages import (
    PROTO,
    HelloAnswer,
    Loading,
    ProtocolError,
    WholeRunError,
    last_words,
    line_of,
    loading_of,
    message_slices,
    read_hello,
    read_load,
    read_run,
    short_log,
)
from tokenref.subjects import TokenizerFile

_LOG_OF_A_CRASH: Final = 1000
"""How much standard error, in characters, is attached to a crash that the program reports."""

WHILE_LOADING: Final = "while it was loading, "
NOT_RESTARTED: Final = "it could not be restarted: "
"""How sentences about failures at the start begin."""

_FAILURES: Final = (ChannelError, LateError, ProtocolError)


Requests: TypeAlias = Sequence[Mapping[str, Any]]


class ProtocolEngine:
    """A program under test that was started and has answered hello. It must be closed.

    `start` starts the program. `again` are the arguments of `tokenref check` that select it.
    """

    def __init__(
        self,
        start: Callable[[], Channel],
        patience: Patience | None = None,
        again: Sequence[str] = (),
    ) -> None:
        """Start the program. Raises `StartError`, `ChannelError`, `LateError`, `ProtocolError`."""
        self.patience = patience or Patience()
        self.again = list(again)
        self.incidents: list[str] = []
        """Failures that no single question caused."""

        self._fails_after_bye = False
        self.restarts = 0
        self.seconds_lost = 0.0
        self._forgiven = 0
        self.when_late: Callable[[str], None] | None = None
        """Called with a sentence when the program is late for the first time."""

        self._start = start
        self._channel: Channel | None = None
        self._ids = count()
        self._keys = count()
        self._loaded: str | None = None
        self._unloadable: dict[str, Answer] = {}
        self._lost: NotAsked | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.hello = self._greet()
        self.ids_only = self.hello.impl.ids_only

    @property
    def name(self) -> str:
        """The name from its answer to hello."""
        return self.hello.impl.name

    @property
    def version(self) -> str:
        """The version from its answer to hello."""
        return self.hello.impl.version

    def load(self, vocabulary: Vocabulary, name: str) -> "ProtocolSession":
        """Load a vocabulary, to answer questions of the profile "definition"."""
        return self.load_for_profile(vocabulary, name, "definition")

    def load_for_profile(
        self, vocabulary: Vocabulary, name: str, profile: str
    ) -> "ProtocolSession":
        """Load a vocabulary when the first question about it is asked."""
        return ProtocolSession(self, loading_of(vocabulary, name), profile)

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> "ProtocolSession":
        """Load a tokenizer.json when the first question about it is asked."""
        return ProtocolSession(self, loading_of(TokenizerFile(name, content), name), profile)

    def load_profile(self, profile: str) -> "ProtocolSession":
        """Load nothing: samplers need no file."""
        return ProtocolSession(self, None, profile)

    def lacks(self, op: str, profile: str) -> Unsupported | None:
        """Return why questions of an operation cannot be asked, if it was not declared."""
        ability = self.hello.ops.get(op)
        if ability is None:
            return Unsupported(f"{NO_SUCH_OP} {op}")
        if profile not in ability.profiles:
            return Unsupported(f"does not declare the profile {profile}")
        return None

    def ask(self, session: "ProtocolSession", op: str, requests: Requests) -> list[Answer]:
        """Ask questions in batches, and return their answers in order."""
        lacking = self.lacks(op, session.profile)
        if lacking is not None:
            return [lacking] * len(requests)
        most = min(LARGEST_BATCH, self.hello.limits.batch)
        answers: list[Answer] = []
        for part in message_slices(requests, most):
            answers += self._ask_batch(session, op, requests[part])
        return answers

    def forgive(self, restarts: int) -> None:
        """Do not count these restarts towards the limit."""
        self._forgiven += restarts

    def close(self) -> None:
        """Say goodbye, and end the program whether it responds or not.

        Another question starts it again. If the program fails now, that is an incident, once.
        """
        channel, self._channel, self._loaded = self._channel, None, None
        try:
            if channel is not None:
                how = channel.bye(line_of({"cmd": "bye"}))
                if how and not self._fails_after_bye:
                    self._fails_after_bye = True
                    self.incidents.append(
                        f"after bye, {how}{last_words(channel.log)}{log_of_incident(channel.log)}"
                    )
        finally:
            if channel is not None:
                channel.end()
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _ask_batch(self, session: "ProtocolSession", op: str, requests: Requests) -> list[Answer]:
        """Ask questions in one message. If that fails, ask them one by one."""
        together = self._try(session, op, requests)
        if isinstance(together, list):
            return together
        if len(requests) == 1:
            return [together]
        answers: list[Answer] = []
        guilty = 0
        for request in requests:
            alone = self._try(session, op, [request])
            guilty += not isinstance(alone, list)
            answers += alone if isinstance(alone, list) else [alone]
        if not guilty and self._lost is None:
            how = f" in a batch of {len(requests)} ({op}), of which no question failed alone"
            self.incidents.append(incident_of(together.message, how, together.log))
        return answers

    def _try(
        self, session: "ProtocolSession", op: str, requests: Requests
    ) -> list[Answer] | Crashed | TimedOut:
        """Ask questions in one message, once. A failure ends the program."""
        loading, start = session.loading, time.monotonic()
        try:
            instead = self._prepare(loading)
        except _FAILURES as error:
            assert loading is not None  # noqa: S101 - nothing else raises
            failure = self._fail(error, WHILE_LOADING)
            instead = self._loaded_again(loading, failure)
        asked = time.monotonic()
        self.seconds_lost += asked - start
        if self._lost is not None:
            return [self._lost] * len(requests)
        if instead is not None:
            return [instead] * len(requests)
        try:
            answers = self._exchange(session, op, requests)
        except WholeRunError as error:
            return Crashed(str(error))  # it is still running and in sync
        except _FAILURES as error:
            failure, waited = self._fail(error), time.monotonic() - asked
            self.seconds_lost += waited
            return replace(failure, seconds=waited) if isinstance(failure, TimedOut) else failure
        log = "" if self._channel is None else self._channel.log[-_LOG_OF_A_CRASH:]
        return [
            replace(answer, log=log) if isinstance(answer, Crashed) else answer
            for answer in answers
        ]

    def _loaded_again(self, loading: Loading, failure: Crashed | TimedOut) -> Answer | None:
        """Load again what crashed, perhaps by chance. If it fails, it will not be tried again."""
        try:
            if isinstance(failure, Crashed):
                self.forgive(1)
                instead = self._prepare(loading)
                how = " once, at a vocabulary that was loaded when asked again"
                if self._lost is None:
                    self.incidents.append(incident_of(failure.message, how, failure.log))
                return instead
        except _FAILURES as error:
            self._fail(error, WHILE_LOADING)
        self._unloadable[loading.digest] = failure
        return failure

    def _exchange(self, session: "ProtocolSession", op: str, requests: Requests) -> list[Answer]:
        """Send the questions and a run without questions, and read both answers."""
        assert self._channel is not None  # noqa: S101 - it was prepared
        run_id, fence_id = f"b{next(self._ids)}", f"b{next(self._ids)}"
        keys = {str(next(self._keys)): position for position in range(len(requests))}
        message: dict[str, Any] = {"cmd": "run", "op": op, "profile": session.profile}
        if session.loading is not None:
            message[session.loading.kind] = session.loading.digest
        questions = [{"k": key, "in": request} for key, request in zip(keys, requests, strict=True)]
        asked = line_of({**message, "id": run_id, "cases": questions})
        lines = self._channel.exchange(
            asked + line_of({**message, "id": fence_id, "cases": []}),
            lines=2,
            seconds=self.patience.seconds(
                len(requests), len(asked), sum(each.get("draws", 0) for each in requests)
            ),
        )
        try:
            answers = read_run(lines[0], run_id, op, keys)
        except WholeRunError:
            _read_fence(lines, fence_id, op)
            raise
        _read_fence(lines, fence_id, op)
        return answers

    def _prepare(self, loading: Loading | None) -> Answer | None:
        """Ensure that the program runs and has loaded the subject.

        Return an answer if it cannot.
        """
        if self._lost is not None:
            return self._lost
        if loading is not None and loading.digest in self._unloadable:
            return self._unloadable[loading.digest]
        if self._channel is None and not self._restart():
            return self._lost
        if loading is None or loading.digest == self._loaded:
            return None
        assert self._channel is not None  # noqa: S101 - it was just started
        self._loaded = None
        message_id = f"l{next(self._ids)}"
        message = {"cmd": "load", "id": message_id, loading.kind: loading.digest}
        message["path"] = str(self._file(loading))
        lines = self._channel.exchange(line_of(message), 1, self.patience.to_start)
        instead = read_load(lines[0], message_id)
        _refuse_more(lines, 1, "load")
        if instead is None:
            self._loaded = loading.digest
        else:
            self._unloadable[loading.digest] = instead
        return instead

    def _greet(self) -> HelloAnswer:
        """Start the program and return its answer to hello."""
        self._channel = self._start()
        try:
            lines = self._channel.exchange(
                line_of({"cmd": "hello", "proto": PROTO}), 1, self.patience.to_start
            )
            hello = read_hello(lines[0])
            _refuse_more(lines, 1, "hello")
        except BaseException as error:
            self._channel.end()
            log, self._channel = self._channel.log, None
            if isinstance(error, ChannelError | LateError):
                raise type(error)(f"{error}{last_words(log)}") from None
            raise
        return hello

    def _restart(self) -> bool:
        """Start the program again. Return whether that worked; if not, give up."""
        most = self.patience.restarts
        if self.restarts - self._forgiven > most:
            option = " (--restarts)" if "--cmd" in self.again else ""
            self._give_up(f"it failed again after {most} restarts{option}")
            return False
        try:
            hello = self._greet()
        except (*_FAILURES, StartError) as error:
            self._give_up(f"{NOT_RESTARTED}{error}")
            return False
        if hello != self.hello:
            self._give_up("after a restart it answered hello differently")
            return False
        return True

    def _fail(self, error: Exception, when: str = "") -> Crashed | TimedOut:
        """End the program, and return the failure as an answer."""
        assert self._channel is not None  # noqa: S101 - it was spoken to
        self._channel.end()
        log, self._channel, self._loaded = self._channel.log, None, None
        self.restarts += 1
        if self.when_late is not None and isinstance(error, LateError):
            most = self.patience.restarts
            self.when_late(f"{error}; it is ended and started again, at most {most} times")
            self.when_late = None
        kind = TimedOut if isinstance(error, LateError) else Crashed
        option = ""
        if kind is TimedOut and "--cmd" in self.again:
            option = " (--timeout-to-start)" if when else " (--timeout)"
        return kind(f"{when}{error}{option}{last_words(log)}", log)

    def _give_up(self, reason: str) -> None:
        if self._channel is not None:
            self._channel.end()
            self._channel = None
        self._lost = NotAsked(reason)

    def _file(self, loading: Loading) -> Path:
        """Return the file to load, which is written only once."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tokenref-")
        path = Path(self._folder.name) / f"{loading.digest.removeprefix('sha256:')}.json"
        if not path.exists():
            try:
                path.write_bytes(loading.content())
            except OSError as error:
                raise InputError(f"{path} cannot be written: {error.strerror}") from None
        return path


def incident_of(message: str, how: str, log: str) -> str:
    """Return a failure of no single question: what happened, how, the last words, and the log.

    >>> incident_of("it was ended by SIGABRT; on standard error: 'a'", " once, at b", "")
    "it was ended by SIGABRT once, at b; on standard error: 'a'"
    """
    happened, *words = re.split("(?=; (?:its last line )?on standard error: )", message, maxsplit=1)
    return f"{happened}{how}{''.join(words)}{log_of_incident(log)}"


def log_of_incident(log: str) -> str:
    """Return the end of standard error as the last part of an incident."""
    return f"{BEFORE_LOG}{short_log(log, 1900)}" if log else ""


def incidents_of(engine: Engine) -> list[str]:
    """End an engine that is another program. Return its failures that no single question caused."""
    if not isinstance(engine, HasIncidents):
        return []
    engine.close()
    return list(engine.incidents)


@dataclass(frozen=True, eq=False)
class ProtocolSession:
    """A program under test with the subject of its questions."""

    engine: ProtocolEngine
    loading: Loading | None
    profile: str

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Ask one question."""
        return self.answer_many(op, [request])[0]

    def answer_many(self, op: str, requests: Requests) -> list[Answer]:
        """Ask questions."""
        return self.engine.ask(self, op, requests)

    def declared(self, op: str) -> Declared:
        """Return what the program declared about an operation in hello."""
        ability = self.engine.hello.ops.get(op)
        return UNDECLARED if ability is None else ability.declared()


def _read_fence(lines: Sequence[bytes], fence_id: str, op: str) -> None:
    """Raise `ProtocolError` unless the second of two lines answers the run without questions."""
    try:
        read_run(lines[1], fence_id, op, {})
    except ProtocolError as error:
        raise ProtocolError(
            "after its answer it wrote a line that is not the answer to the next run "
            f"(of id {fence_id!r}, without questions): {error.reason}",
            error.place,
            lines[1],
        ) from None
    _refuse_more(lines, 2, "run")


def _refuse_more(lines: Sequence[bytes], expected: int, cmd: str) -> None:
    if len(lines) > expected:
        raise ProtocolError(f"it wrote more than the answer to {cmd}", "", lines[expected])
