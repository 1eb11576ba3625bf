"""Commands in processes of their own, quickly, that may be killed and starved of room."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.small_fixtures import small_fixtures

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Ended:
    """How a command ended: an exit code, or minus the signal that ended it."""

    code: int
    out: str
    err: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Children:
    """What runs `tokenref` with arguments, or `authoring`. The first run waits for the imports."""

    def __init__(self, folder: Path) -> None:
        """Start the program that has everything loaded; what commands print goes to a folder."""
        self._folder = folder
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def exchange(self, folder: Path) -> None:
        """Write small fixtures to a folder, the requests about them, and the right responses."""
        small_fixtures(folder / "fixtures")
        assert self.run(folder, "export", "--fixtures", "fixtures", "--folder", ".").code == 0
        responses = str(folder / "responses.jsonl")
        assert self.run(folder, "answer", "reference", "requests.jsonl", out=responses).code == 0

    def run(
        self,
        folder: Path,
        *arguments: object,
        limit: int | None = None,
        kill_at: int | None = None,
        kill_in_write: int | None = None,
        made: Path | None = None,
        out: str | None = None,
        after: float = 0,
        once: Callable[[], bool] | None = None,
        stay_in: str | None = None,
        signal_number: int | None = None,
    ) -> Ended:
        """Run a command in a folder, and wait for its end.

        limit: the most bytes that a file may have, as on a disk that is full.
        kill_at: kill it before the operation with this number on files of the folder.
        kill_in_write: kill it in the middle of this one of its writes to a journal.
        made: what `authoring fixtures` would make, which takes minutes otherwise.
        signal_number: what it is sent, after this number of seconds, or
            once: when this is so, or
            stay_in: when it calls this function, `package.module.name`, where it stays.
        """
        printed = {name: self._folder / name for name in ("out", "err")}
        stays = self._folder / "stays"
        for path in (*printed.values(), stays):
            path.unlink(missing_ok=True)
        child = int(
            self._ask(
                {
                    "folder": str(folder.resolve()),
                    "arguments": [str(argument) for argument in arguments],
                    "limit": limit,
                    "kill_at": kill_at,
                    "kill_in_write": kill_in_write,
                    "made": str(made) if made else None,
                    "stay_in": stay_in,
                    "stays": str(stays),
                    "out": out or str(printed["out"]),
                    "err": str(printed["err"]),
                }
            )
        )
        if signal_number is not None:
            time.sleep(after)
            _wait_until(once or (stays.exists if stay_in else lambda: True))
            os.kill(child, signal_number)  # it has not been waited for, so it is this child's
        code = int(self._ask({"wait": child}))
        texts = {
            name: path.read_text(encoding="utf-8") if path.exists() else ""
            for name, path in printed.items()
        }
        return Ended(code, texts["out"], texts["err"])

    def close(self) -> None:
        """End it."""
        with self._zygote:
            pass

    def _ask(self, request: dict[str, Any]) -> str:
        assert self._zygote.stdin
        assert self._zygote.stdout
        self._zygote.stdin.write(json.dumps(request) + "\n")
        self._zygote.stdin.flush()
        return self._zygote.stdout.readline()


def _wait_until(reached: Callable[[], bool]) -> None:
    """Wait for a state, and not for a time; the limit is for a command that never reaches it."""
    deadline = time.monotonic() + 300
    while not reached():
        assert time.monotonic() < deadline, "the command does not come so far"
        time.sleep(0.01)
