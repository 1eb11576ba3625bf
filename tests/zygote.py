"""A program that has tokenref loaded, and runs its commands in children of itself, by request.

A test that runs a command fifty times, to kill it at fifty moments, cannot wait
fifty times until Python has loaded everything. `tests/children.py` speaks to it.
"""

import gc
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import authoring.fixtures
from authoring.__main__ import main as write_data
from tokenref.cli import main

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def become(request: dict[str, Any]) -> None:
    """Be the process that a request asks for."""
    os.chdir(request["folder"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, key in ((1, "out"), (2, "err")):
        file = os.open(request[key], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request["made"]:
        folder = Path(request["made"])
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

        def made(progress: object = None, folder: object = None) -> dict[str, bytes]:
            del progress, folder
            return files

        authoring.fixtures.make_files = made
    if request["limit"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["limit"], request["limit"]))
    if request["kill_at"] is not None:
        _kill_at(request["kill_at"], request["folder"])
    if request["kill_in_write"] is not None:
        _kill_in_write(request["kill_in_write"])
    if request["stay_in"] is not None:
        _stay_in(request["stay_in"], Path(request["stays"]))


def _kill_at(moment: int, folder: str) -> None:
    """Be killed before operation `moment` on files of a folder, counted from 0."""
    left = moment

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in {"open", "os.rename", "os.remove", "os.mkdir", "os.truncate"}:
            return
        name = arguments[0]
        if isinstance(name, str) and os.path.realpath(name).startswith(folder):
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(count)


def _kill_in_write(moment: int) -> None:
    """Be killed in the middle of one of the writes to a journal."""
    left = moment
    write = os.pwrite

    def half(file: int, content: "ReadableBuffer", at: int) -> int:
        nonlocal left
        if not left:
            whole = bytes(memoryview(content))
            write(file, whole[: len(whole) // 2], at)
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return write(file, content, at)

    os.pwrite = half


def _stay_in(function: str, stays: Path) -> None:
    """Stay where a function is called for the first time, and tell it by a file."""

    def look(frame: FrameType, event: str, _: object) -> None:
        name = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"
        if event == "call" and name == function:
            sys.setprofile(None)
            stays.touch()
            while True:  # a signal just before a sleep is handled after it
                time.sleep(0.01)

    sys.setprofile(look)


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def serve() -> list[str]:
    """Answer requests; in a child, return the arguments of the command that it is to run."""
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            _say(os.waitstatus_to_exitcode(status))
            continue
        child = os.fork()
        if not child:
            become(request)
            arguments: list[str] = request["arguments"]
            return arguments
        _say(child)
    os._exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup, under which tests may run, ignores it
    _ = [*main.commands.values()]  # loads all commands
    gc.collect()
    gc.freeze()  # else each child would look through, and so copy, all of this at its end
    command, *rest = arguments = serve()
    if command == "authoring":
        write_data(rest, prog_name="python -m authoring")
    main(arguments, prog_name="tokenref")
