"""An engine that is spoken to in messages: asked in batches, restarted, and never waited for long.

After each batch comes a run without questions. Whatever a program writes beyond
its one answer then stands before the answer to that, and is found at once, not
one batch later.

A batch that fails is asked again one question at a time. For one guilty question
of 64 that takes two restarts, where halving takes seven.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from bpe_ref import Vocabulary
from tokenref.answers import (
    UNDECLARED,
    Answer,
    Crashed,
    Declared,
    NotAsked,
    TimedOut,
    Unsupported,
)
from tokenref.protocol.batches import Loading, load_tokenizer, load_vocabulary, parts
from tokenref.protocol.channel import Channel, ChannelError, LateError, Patience, StartError
from tokenref.protocol.messages import PROTO, HelloAnswer
from tokenref.protocol.reading import (
    ProtocolError,
    WholeRunError,
    read_hello,
    read_load,
    read_run,
)

LARGEST_BATCH: Final = 64

_LOG_OF_A_CRASH: Final = 1000
"""Characters of standard error that go with a crash that the program itself reports."""

_LAST_LINE: Final = 200
"""Characters of the last line of standard error that are part of the sentence."""

_FAILURES: Final = (ChannelError, LateError, ProtocolError)


class ProtocolEngine:
    """A program under test, started, and greeted. Close it.

    `start` starts it anew; `again` are the arguments of `tokenref check` that mean it.
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
        """What went wrong that is no one question's fault."""

        self.restarts = 0
        self._start = start
        self._channel: Channel | None = None
        self._ids = count()
        self._keys = count()
        self._loaded: str | None = None
        self._unloadable: dict[str, Answer] = {}
        self._lost: NotAsked | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.hello = self._greet()

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self.hello.impl.name

    @property
    def version(self) -> str:
        """The version that it says it is."""
        return self.hello.impl.version

    def load(self, vocabulary: Vocabulary, name: str) -> "ProtocolSession":
        """Load a vocabulary, to answer by the definition."""
        return self.load_for_profile(vocabulary, name, "definition")

    def load_for_profile(
        self, vocabulary: Vocabulary, name: str, profile: str
    ) -> "ProtocolSession":
        """Load a vocabulary, as soon as there is a question about it."""
        return ProtocolSession(self, load_vocabulary(vocabulary, name), profile)

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> "ProtocolSession":
        """Load a tokenizer.json, as soon as there is a question about it."""
        return ProtocolSession(self, load_tokenizer(content, name), profile)

    def load_profile(self, profile: str) -> "ProtocolSession":
        """Load nothing: samplers need nothing."""
        return ProtocolSession(self, None, profile)

    def ask(
        self,
        loading: Loading | None,
        op: str,
        profile: str,
        requests: Sequence[Mapping[str, Any]],
    ) -> list[Answer]:
        """Put questions, in batches, and return as many answers, in order."""
        ability = self.hello.ops.get(op)
        if ability is None:
            return [Unsupported(f"does not declare the operation {op}")] * len(requests)
        if profile not in ability.profiles:
            return [Unsupported(f"does not declare the profile {profile}")] * len(requests)
        most = min(LARGEST_BATCH, self.hello.limits.batch)
        answers: list[Answer] = []
        for part in parts(requests, most):
            answers += self._ask_batch(loading, op, profile, requests[part])
        return answers

    def close(self) -> None:
        """Say goodbye, and end the program, whether it listens or not."""
        channel, self._channel = self._channel, None
        try:
            if channel is not None:
                channel.bye(_line({"cmd": "bye"}))
        finally:
            if channel is not None:
                channel.end()
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _ask_batch(
        self,
        loading: Loading | None,
        op: str,
        profile: str,
        requests: Sequence[Mapping[str, Any]],
    ) -> list[Answer]:
        """Put questions in one message; if that fails, one by one."""
        together = self._try(loading, op, profile, requests)
        if isinstance(together, list):
            return together
        if len(requests) == 1:
            return [together]
        answers: list[Answer] = []
        guilty = 0
        for request in requests:
            alone = self._try(loading, op, profile, [request])
            guilty += not isinstance(alone, list)
            answers += alone if isinstance(alone, list) else [alone]
        if not guilty and self._lost is None:
            self.incidents.append(
                f"{len(requests)} questions ({op}) in one run failed, and none of them alone: "
                f"{together.message}"
            )
        return answers

    def _try(
        self,
        loading: Loading | None,
        op: str,
        profile: str,
        requests: Sequence[Mapping[str, Any]],
    ) -> list[Answer] | Crashed | TimedOut:
        """Put questions in one message, once. What fails ends the program."""
        try:
            instead = self._prepare(loading)
        except _FAILURES as error:  # loading fails: it will not be tried again
            assert loading is not None  # noqa: S101 - nothing else raises
            failure = self._fail(error, "while it was loading, ")
            instead = self._unloadable[loading.digest] = failure
        if self._lost is not None:
            return [self._lost] * len(requests)
        if instead is not None:
            return [instead] * len(requests)
        try:
            answers = self._exchange(loading, op, profile, requests)
        except WholeRunError as error:
            return Crashed(str(error))  # it is still there, and in step
        except _FAILURES as error:
            return self._fail(error)
        log = "" if self._channel is None else self._channel.log[-_LOG_OF_A_CRASH:]
        return [
            replace(answer, log=log) if isinstance(answer, Crashed) else answer
            for answer in answers
        ]

    def _exchange(
        self,
        loading: Loading | None,
        op: str,
        profile: str,
        requests: Sequence[Mapping[str, Any]],
    ) -> list[Answer]:
        """Put questions, and one run without any, and read both answers."""
        assert self._channel is not None  # noqa: S101 - it was prepared
        run_id, fence_id = f"b{next(self._ids)}", f"b{next(self._ids)}"
        keys = {str(next(self._keys)): position for position in range(len(requests))}
        message: dict[str, Any] = {"cmd": "run", "id": run_id, "op": op, "profile": profile}
        if loading is not None:
            message[loading.kind] = loading.digest
        questions = [{"k": key, "in": request} for key, request in zip(keys, requests, strict=True)]
        lines = self._channel.exchange(
            _line(message | {"cases": questions}) + _line(message | {"id": fence_id, "cases": []}),
            lines=2,
            seconds=self.patience.seconds(len(requests)),
        )
        try:
            answers = read_run(lines[0], run_id, op, keys)
        except WholeRunError:
            _read_fence(lines, fence_id, op)
            raise
        _read_fence(lines, fence_id, op)
        return answers

    def _prepare(self, loading: Loading | None) -> Answer | None:
        """See to it that the program runs, and has loaded that; else return what stands for it."""
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
        lines = self._channel.exchange(_line(message), 1, self.patience.to_start)
        instead = read_load(lines[0], message_id)
        _refuse_more(lines, 1, "load")
        if instead is None:
            self._loaded = loading.digest
        else:
            self._unloadable[loading.digest] = instead
        return instead

    def _greet(self) -> HelloAnswer:
        """Start the program, and ask it what it is."""
        self._channel = self._start()
        try:
            lines = self._channel.exchange(
                _line({"cmd": "hello", "proto": PROTO}), 1, self.patience.to_start
            )
            hello = read_hello(lines[0])
            _refuse_more(lines, 1, "hello")
        except BaseException as error:
            self._channel.end()
            log, self._channel = self._channel.log, None
            if isinstance(error, ChannelError | LateError):
                raise type(error)(f"{error}{_last_line(log)}") from None
            raise
        return hello

    def _restart(self) -> bool:
        """Start the program again; tell whether that went well. If not, it is given up."""
        try:
            hello = self._greet()
        except (*_FAILURES, StartError) as error:
            self._give_up(f"it could not be restarted: {error}")
            return False
        if hello != self.hello:
            self._give_up("after a restart it gave another answer to hello")
            return False
        return True

    def _fail(self, error: Exception, when: str = "") -> Crashed | TimedOut:
        """End the program; return what became of what it was asked."""
        assert self._channel is not None  # noqa: S101 - it was spoken to
        self._channel.end()
        log, self._channel, self._loaded = self._channel.log, None, None
        self.restarts += 1
        if self.restarts > self.patience.restarts:
            self._give_up(f"it was restarted {self.patience.restarts} times, and failed again")
        kind = TimedOut if isinstance(error, LateError) else Crashed
        return kind(f"{when}{error}{_last_line(log)}", log)

    def _give_up(self, reason: str) -> None:
        if self._channel is not None:
            self._channel.end()
            self._channel = None
        self._lost = NotAsked(reason)

    def _file(self, loading: Loading) -> Path:
        """Return the file that a vocabulary is loaded from, written once."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tokenref-")
        path = Path(self._folder.name) / f"{loading.digest.removeprefix('sha256:')}.json"
        if not path.exists():
            path.write_bytes(loading.content())
        return path


@dataclass(frozen=True, eq=False)
class ProtocolSession:
    """A program under test, with what its questions are about."""

    engine: ProtocolEngine
    loading: Loading | None
    profile: str

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Put one question."""
        return self.answer_many(op, [request])[0]

    def answer_many(self, op: str, requests: Sequence[Mapping[str, Any]]) -> list[Answer]:
        """Put questions."""
        return self.engine.ask(self.loading, op, self.profile, requests)

    def declared(self, op: str) -> Declared:
        """Return what hello said of an operation."""
        ability = self.engine.hello.ops.get(op)
        return UNDECLARED if ability is None else ability.declared()


def _read_fence(lines: Sequence[bytes], fence_id: str, op: str) -> None:
    """Raise `ProtocolError` unless the second of two lines answers the run without questions."""
    try:
        read_run(lines[1], fence_id, op, {})
    except ProtocolError as error:
        raise ProtocolError(
            "beyond its answer it wrote a line that is not the answer to the next run "
            f"(of id {fence_id!r}, without questions): {error.reason}",
            error.place,
            lines[1],
        ) from None
    _refuse_more(lines, 2, "run")


def _refuse_more(lines: Sequence[bytes], expected: int, cmd: str) -> None:
    if len(lines) > expected:
        raise ProtocolError(f"it wrote more than the answer to {cmd}", "", lines[expected])


def _line(message: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def _last_line(log: str) -> str:
    r"""Return the last line of standard error as the end of a sentence.

    >>> _last_line("one\ntwo\n")
    "; its last line on standard error: 'two'"
    """
    last = log.rstrip().rpartition("\n")[2][-_LAST_LINE:]
    return f"; its last line on standard error: {last!r}" if last else ""
