"""A process for an engine that may end it: a failed assertion, say, cannot be caught."""

import json
import os
import select
import subprocess
from tempfile import TemporaryFile
from typing import IO, Any, Final, cast
from weakref import finalize

from tokenref.engines.json_files import CrashError

_LOG: Final = 2000
"""How many bytes of the engine's standard error are read after a crash."""


class ProcessEndedError(CrashError):
    """The engine ended its process. The arguments are a message and the end of its log."""

    def __str__(self) -> str:
        """Return the message with the last line of the log."""
        message, log = self.args
        told = [line for line in log.splitlines() if line.strip() and not line.startswith("note:")]
        return f"{message}: {told[-1] if told else 'no message'}"


class TimedOutError(CrashError):
    """The engine did not return in time, and was killed."""


class Child:
    """A program that answers each line of JSON with another.

    It is started when it is first asked and after it ended, and ends with this object. `variables`
    are added to its environment.
    """

    def __init__(
        self, *command: str, seconds: float | None = None, variables: dict[str, str]
    ) -> None:
        self.is_running = False
        self.seconds = seconds
        """How long an answer may take."""

        self._command, self._variables = command, variables
        self._process: subprocess.Popen[bytes]
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115 - open as long as this object
        finalize(self, self._errors.close)

    def ask(self, question: Any) -> Any:
        """Return the answer to a question. Raises `ProcessEndedError`, `TimedOutError`."""
        if not self.is_running:
            self._start()
        process = self._process
        questions, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        try:
            questions.write(json.dumps(question).encode() + b"\n")
            questions.flush()
            if self.seconds and not select.select([answers], [], [], self.seconds)[0]:
                self._end()
                raise TimedOutError(f"the engine did not return in {self.seconds:g} seconds")
            return json.loads(answers.readline())
        except (BrokenPipeError, ValueError):
            self._end()
            message = f"the engine ended its process with exit status {process.returncode}"
            raise ProcessEndedError(message, self._log()) from None

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | self._variables,
        )
        self.is_running = True
        finalize(self, _end, self._process)

    def _end(self) -> None:
        self.is_running = False
        _end(self._process)

    def _log(self) -> str:
        """Return the end of what the processes wrote to standard error."""
        self._errors.seek(-min(_LOG, self._errors.seek(0, os.SEEK_END)), os.SEEK_END)
        return self._errors.read().decode(errors="replace")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()
