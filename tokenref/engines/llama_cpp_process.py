"""The process in which llama.cpp's samplers run: started, asked, started again."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import IO, Any, Final
from weakref import finalize

COMMAND: Final = (sys.executable, "-P", "-m", "tokenref.engines.llama_cpp_child")
_LOG: Final = 2000
"""Bytes of the engine's standard error that are told of a crash."""


class EndedError(Exception):
    """The engine ended its process: how, and the end of its log."""


class Child:
    """The process, started when it is first asked, and again after it ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115 - open as long as this object
        finalize(self, self._errors.close)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer. Raises `EndedError` if the process ends."""
        process = self._process or self._started()
        try:
            process.stdin.write(json.dumps(request) + "\n")  # type: ignore[union-attr]  # a pipe
            process.stdin.flush()  # type: ignore[union-attr]  # as above
            line = process.stdout.readline()  # type: ignore[union-attr]  # as above
        except BrokenPipeError:
            line = ""
        if not line.endswith("\n"):
            self._process = None
            _end(process)
            raise EndedError(
                f"the engine ended its process, with {process.returncode}", self._log()
            )
        found: dict[str, Any] = json.loads(line)
        return found

    def _started(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ | {"GGML_NO_BACKTRACE": "1"},
        )
        self._process = process
        finalize(self, _end, process)
        return process

    def _log(self) -> str:
        """Return the end of what the processes wrote to standard error."""
        self._errors.seek(-min(_LOG, self._errors.seek(0, os.SEEK_END)), os.SEEK_END)
        return self._errors.read().decode(errors="replace")


def _end(process: subprocess.Popen[str]) -> None:
    """Let a process end: it does so when there is nothing more to read."""
    try:
        process.communicate(timeout=5)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
