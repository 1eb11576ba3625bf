"""Channels to a program under test: a child process, or a Python function.

A child process has its own process group, so that everything it starts ends with it. On Linux, what
moved to another group is found by its parents and by a mark in its environment. The child is
never started by a shell. Its output is read while its input is written, so neither side can
block the other; its standard error is read as well, and the last part of it is kept.

The death of a child is detected at the end of its output, not by asking for its status. Until
the status is collected, the process id cannot be reused, so killing the process group cannot
hit an unrelated process.
"""

import os
import secrets
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any, Final, Protocol

import msgspec

from tokenref.errors import InputError
from tokenref.protocol.messages import shown


class Channel(Protocol):
    """A running program under test."""

    @property
    def log(self) -> str:
        """The last part of its standard error."""

    def exchange(self, message: bytes, lines: int, seconds: float) -> list[bytes]:
        """Send a message and return at least `lines` lines. Raises `ChannelError`, `LateError`."""

    def bye(self, message: bytes) -> str | None:
        """Send the last message and end the program. Return how it failed, "" if it did not.

        Return None if it had to be killed.
        """

    def end(self) -> None:
        """End the program now."""


@dataclass(frozen=True)
class Patience:
    """Time limits for a program under test, in seconds, and the maximum number of restarts.

    >>> Patience().seconds(64), Patience().seconds(1, draws=100_000)
    (5.2, 7.05)
    >>> print(Patience().sentence().partition(";")[0])
    2 s + 0.05 s per case + 1 s per 50 kB or 20,000 draws
    """

    per_batch: float = 2.0
    per_case: float = 0.05
    """A batch may take `per_batch` seconds plus this for each case."""

    to_start: float = 30.0
    """Seconds for the answer to hello, and for the answer to load."""

    restarts: int = 20
    """The run is aborted after this many restarts."""

    def seconds(self, cases: int, size: int = 0, draws: int = 0) -> float:
        """Return how many seconds a batch of this many cases, bytes and draws may take."""
        more = size // _BYTES_PER_SECOND + draws // _DRAWS_PER_SECOND
        return self.per_batch + self.per_case * cases + more

    def sentence(self) -> str:
        """Return the limits in one line, for the report."""
        return (
            f"{self.per_batch:g} s + {self.per_case:g} s per case + 1 s per 50 kB or 20,000 draws; "
            f"{self.to_start:g} s to start or load; at most {self.restarts} restarts"
        )

    def waiting(self, command: str) -> str:
        """Return a sentence for people who wait for a program."""
        return (
            f"waiting for an answer of {command}; it has {self.to_start:g} seconds to answer hello "
            "(--timeout-to-start)"
        )

    def options(self) -> list[str]:
        """Return the options of the command that set these limits.

        >>> Patience(per_batch=0.5).options()
        ['--timeout', '0.5']
        """
        limits = {
            "--timeout": (self.per_batch, Patience.per_batch),
            "--timeout-per-case": (self.per_case, Patience.per_case),
            "--timeout-to-start": (self.to_start, Patience.to_start),
        }
        changed = [(name, limit) for name, (limit, usual) in limits.items() if limit != usual]
        return [part for name, limit in changed for part in (name, f"{limit:g}")]


_BYTES_PER_SECOND: Final = 50_000
"""How fast a program must be if questions are long; for short ones it makes no difference."""

_DRAWS_PER_SECOND: Final = 20_000
"""How fast a program must draw with its own random numbers, also from a long row."""

LONGEST_LINE: Final = 16 * 2**20
"""Maximum length of an answer, in bytes."""

KEPT_LOG: Final = 64 * 2**10
"""How many of the last bytes of standard error are kept."""

GRACE: Final = 1.0
"""Seconds that a program may take to end by itself after bye."""

_LAST_WORDS: Final = 1.0
"""Seconds to wait for the standard error and the exit status of a program that died.

Both are available immediately, except on a busy machine."""

_CHUNK: Final = 2**16

_KEPT_LINES: Final = 64
"""How many of the last lines are kept once the input is closed."""

_IN_ORDER: Final = "it ended with exit status 0"
_CLOSED: Final = "it closed its standard output"


class StartError(InputError):
    """A program that cannot be started: bad input, so the exit code is 2."""


class ChannelError(Exception):
    """The program cannot answer: it died, or its output cannot be an answer."""


class LateError(Exception):
    """The program did not answer in time."""


class Process:
    r"""A running program that reads and writes lines.

    >>> cat = Process(["cat"])
    >>> cat.exchange(b"one\ntwo\n", lines=2, seconds=10)
    [b'one', b'two']
    >>> cat.end()
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        """Start the program. Raises `StartError`."""
        if os.name != "posix":
            raise StartError(
                "programs are run on Unix only; elsewhere use `tokenref export` and `judge`"
            )
        self._mark = secrets.token_hex(16)
        try:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env={**os.environ, _MARK: self._mark},
            )
        except (OSError, ValueError) as error:  # a ValueError is a NUL in an argument
            reason, hint = str(error), ""
            if isinstance(error, OSError):
                reason, hint = error.strerror or reason, _about_start(arguments[0])
            raise StartError(f"{arguments[0]!r} cannot be started: {reason}{hint}") from None
        self._input, self._output, self._errors = map(
            _pipe, (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._selector = selectors.DefaultSelector()
        for pipe in (self._output, self._errors):
            self._selector.register(pipe, selectors.EVENT_READ)
        self._lines: list[bytes] = []
        self._partial = bytearray()
        self._log = bytearray()
        self._is_open = True

    @property
    def log(self) -> str:
        """The last part of its standard error."""
        return self._log.decode("utf-8", "replace")

    def exchange(self, message: bytes, lines: int, seconds: float) -> list[bytes]:
        """Write a message of one or more lines, and return at least `lines` lines of output.

        Raises `LateError`, and `ChannelError` if the program died or wrote a line that is too long.
        """
        deadline = time.monotonic() + seconds
        rest = memoryview(message)
        try:
            self._selector.register(self._input, selectors.EVENT_WRITE)
            while len(self._lines) < lines or (rest and len(self._lines) == lines):
                self._refuse_floods()
                for key, _ in self._ready(deadline, seconds):
                    if key.fileobj is self._input:
                        rest = self._write(rest)
                    elif key.fileobj is self._errors:
                        self._read_log()
                    elif not self._read_output():
                        raise ChannelError(self._how_it_ended())
        except LateError as error:
            self._read_output()
            half = shown(bytes(self._partial))
            wrote = f", but wrote {half} without a line feed" if half else ""
            raise LateError(f"{error}{wrote}") from None
        finally:
            self._stop_writing()
        taken, self._lines = self._lines, []
        if self._partial:
            taken.append(bytes(self._partial))
            self._partial.clear()
        return taken

    def bye(self, message: bytes) -> str | None:
        """Say goodbye and end the program. Return how it ended, as `Channel.bye` does."""
        with suppress(ChannelError, LateError):
            self.exchange(message, 0, GRACE)
        _, by_itself = self.rest(GRACE)
        how = self._how_it_ended() if by_itself else None
        self.end()
        return "" if how in {_IN_ORDER, _CLOSED} else how

    def rest(self, seconds: float) -> tuple[bytes, bool]:
        """Close the input. Return the end of the output, and whether it ended within the time."""
        self._input.close()
        deadline, ended = time.monotonic() + seconds, False
        with suppress(LateError):
            while not ended:
                for key, _ in self._ready(deadline, seconds):
                    if key.fileobj is self._errors:
                        self._read_log()
                    else:
                        ended = not self._read_output()
                    del self._lines[:-_KEPT_LINES], self._partial[:-_CHUNK]
        left = b"".join(line + b"\n" for line in self._lines) + self._partial
        self._lines.clear()
        self._partial.clear()
        return left, ended

    def end(self) -> None:
        """End the program and everything it started. Do nothing if it has ended already."""
        if not self._is_open:
            return
        self._is_open = False
        self._kill()
        self._selector.unregister(self._output)
        self._drain_log()
        self._process.wait()
        self._selector.close()
        for pipe in (self._input, self._output, self._errors):
            with suppress(OSError):
                pipe.close()

    def _ready(self, deadline: float, seconds: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait until something can be read or written. Raises `LateError`."""
        ready = self._selector.select(max(0.0, deadline - time.monotonic()))
        if time.monotonic() >= deadline:
            raise LateError(f"it did not answer within {seconds:g} seconds")
        return ready

    def _write(self, rest: memoryview) -> memoryview:
        """Write a part of a message, or nothing if the program no longer reads."""
        try:
            rest = rest[os.write(self._input.fileno(), rest[:_CHUNK]) :]
        except BlockingIOError:
            return rest
        except BrokenPipeError:
            rest = rest[:0]
        if not rest:
            self._stop_writing()
        return rest

    def _stop_writing(self) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(self._input)

    def _read_output(self) -> bool:
        """Read the available output. Return whether there may be more."""
        chunk = _read(self._output)
        if not chunk:
            return chunk is None
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._lines.append(bytes(self._partial) + line)
            self._partial.clear()
        self._partial += rest
        return True

    def _refuse_floods(self) -> None:
        """Raise `ChannelError` for a line that is too long."""
        if len(self._partial) > LONGEST_LINE:
            raise ChannelError(
                f"it wrote a line of more than {LONGEST_LINE:,} bytes: "
                f"{shown(bytes(self._partial[:1000]))}"
            )

    def _read_log(self) -> bool:
        """Read standard error and keep its last part. Return whether there may be more."""
        chunk = _read(self._errors)
        if chunk == b"":
            with suppress(KeyError, ValueError):
                self._selector.unregister(self._errors)
            return False
        self._log += chunk or b""
        del self._log[:-KEPT_LOG]
        return True

    def _drain_log(self) -> None:
        """Read the rest of standard error after the program has ended."""
        deadline = time.monotonic() + _LAST_WORDS
        while self._errors in self._selector.get_map() and time.monotonic() < deadline:
            with suppress(LateError):
                if any(key.fileobj is self._errors for key, _ in self._ready(deadline, 0)):
                    self._read_log()

    def _how_it_ended(self) -> str:
        """Return how the program ended, without collecting its status."""
        if hasattr(os, "waitid"):  # macOS has had it since Python 3.13
            deadline = time.monotonic() + _LAST_WORDS
            options = os.WEXITED | os.WNOWAIT | os.WNOHANG
            while time.monotonic() < deadline:
                status = os.waitid(os.P_PID, self._process.pid, options)
                if status is not None:
                    cut = f" after {shown(bytes(self._partial))}" if self._partial else ""
                    if status.si_code == os.CLD_EXITED:
                        return f"it ended with exit status {status.si_status}{cut}"
                    return f"it was ended by {_signal_name(status.si_status)}{cut}"
                time.sleep(0.001)
        return _CLOSED

    def _kill(self) -> None:
        started = _started_by(self._process.pid, self._mark)
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            with suppress(OSError):
                self._process.kill()
        for _ in range(_ROUNDS):
            for pid in started:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if not started:
                return
            started = _started_by(self._process.pid, self._mark)


def _about_start(program: str) -> str:
    """Return the end of a sentence: what to change so that a program can be started."""
    path = Path(program)
    with suppress(OSError, ValueError):
        if path.is_dir():
            return ": it is a folder"
        if path.is_file():
            return _about_file(path, program)
        if path.name == program:
            return f"; no program on the PATH is called {program}"
        if not path.parent.is_dir():
            return f"; the folder {path.parent} is missing"
        programs = [each.name for each in path.parent.iterdir() if os.access(each, os.X_OK)]
        near = get_close_matches(path.name, programs, 1)
        return f"; its folder has {near[0]}" if near else "; is it built, and is this its folder?"
    return ""


def _about_file(path: Path, program: str) -> str:
    """Return the end of a sentence about a file that exists."""
    if path.name == program:
        return f"; for the file in this folder, write ./{program}"
    if not os.access(path, os.X_OK):
        return (
            f"; the file is not executable: chmod +x {program}, or name its interpreter before it"
        )
    with path.open("rb") as file:
        first = file.readline(200).decode("utf-8", "replace").rstrip()
    if first.startswith("#!"):
        return f"; its first line names an interpreter that is missing: {first}"
    return "; it is neither a program for this machine nor a script that begins with #!"


_MARK: Final = "TOKENREF_STARTED"
"""The environment variable by which what a program started is found, in whatever session."""

_ROUNDS: Final = 5
"""How often processes are looked for that were started while the others were ended."""


def _started_by(root: int, mark: str) -> set[int]:
    """Return the processes that a program started, directly or not; none where there is no /proc.

    They are its children and theirs, and those that have its mark in their environment.
    """
    wanted = f"{_MARK}={mark}".encode()
    parents: dict[int, int] = {}
    found = set[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state == b"Z":  # it has ended
                continue
            parents[int(folder.name)] = int(parent)
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
    found.add(root)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root, os.getpid()}


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    """Return a pipe of a child, set to non-blocking."""
    assert pipe is not None  # noqa: S101 - requested when the child was started
    os.set_blocking(pipe.fileno(), False)
    return pipe


def _read(pipe: IO[bytes]) -> bytes | None:
    """Return the available bytes, None if there are none yet, and b"" at the end."""
    try:
        return os.read(pipe.fileno(), _CHUNK)
    except BlockingIOError:
        return None


def _signal_name(number: int) -> str:
    """Return a signal's name.

    >>> _signal_name(11), _signal_name(999)
    ('SIGSEGV', 'signal 999')
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Function:
    """A Python function that receives each message as a dict and returns the answer as a dict.

    An exception is a crash of that run. There is no time limit; use a program if you need one.

    >>> echo = Function(lambda message: {"id": message["id"], "results": []})
    >>> echo.exchange(b'{"cmd":"run","id":"b1","cases":[]}', lines=1, seconds=0)
    [b'{"id":"b1","results":[]}']
    """

    log = ""
    """A function has no standard error of its own."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], Any]) -> None:
        self._answer = answer

    def exchange(self, message: bytes, lines: int, seconds: float) -> list[bytes]:
        """Call the function with each message, and return its answers as lines."""
        return [self._call(msgspec.json.decode(line)) for line in message.splitlines()][:lines]

    def bye(self, message: bytes) -> str | None:
        """Do nothing: there is nothing to end."""
        return ""

    def end(self) -> None:
        """Do nothing: there is nothing to end."""

    def _call(self, message: Mapping[str, Any]) -> bytes:
        try:
            return msgspec.json.encode(self._answer(message))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException
            sentence = f"{type(error).__name__}: {error}"[:300]
        if "id" not in message:
            raise ChannelError(f"it raised {sentence}")
        return msgspec.json.encode({"id": message["id"], "crash": {"msg": sentence}})
