"""Start engines given as a command line or as the name of a Python function."""

import shlex
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tokenref.answers import Engine
from tokenref.errors import InvalidRunError
from tokenref.protocol.channel import (
    ChannelError,
    Function,
    LateError,
    Patience,
    Process,
    StartError,
)
from tokenref.protocol.engine import ProtocolEngine
from tokenref.protocol.messages import ProtocolError


class GreetingError(InvalidRunError):
    """A program that was started but did not answer hello correctly."""


def open_program(command: str, patience: Patience | None = None) -> ProtocolEngine:
    """Start a program. The command is split like a shell command, but no shell is used.

    Raises `StartError` if the program cannot be started, and `GreetingError` if it does not answer
    hello correctly.

    >>> open_program("'true")
    Traceback (most recent call last):
    tokenref.protocol.channel.StartError: the command "'true" cannot be split: No closing quotation
    """
    return _greeted(partial(Process, arguments_of(command)), patience, ["--cmd", command])


def arguments_of(command: str) -> list[str]:
    """Return the program and arguments of a command. Raises `StartError` if it is invalid."""
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise StartError(f"the command {command!r} cannot be split: {error}") from None
    if not arguments:
        raise StartError(f"the command must name a program, got {command!r}")
    return arguments


def open_function(name: str, patience: Patience | None = None) -> Engine:
    """Return the engine that a Python function creates, given as `py:module:function`.

    The function takes no arguments. It returns an engine (see `tokenref.answers`), or a function
    that receives each message as a dict and returns the answer as a dict. Modules are also
    searched in the current folder. Raises `StartError`, `GreetingError`.
    """
    parts = name.split(":")
    if len(parts) != 3 or not all(parts):
        raise StartError(f"a Python engine must be named py:module:function, got {name!r}")
    make = _find(name, parts[1], parts[2])
    try:
        made = make()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it may raise anything
        raise StartError(f"{name}: it raised {type(error).__name__}: {error}") from None
    if hasattr(made, "load") and hasattr(made, "name"):
        engine: Engine = made
        return engine
    if not callable(made):
        raise StartError(
            f"{name}: it must return an engine, or a function from message to answer, "
            f"got {type(made).__name__}"
        )
    first = [made]
    return _greeted(lambda: Function(first.pop() if first else make()), patience, [name])


def imported(module: str, name: str) -> Any:
    """Return what a module has under a name. Modules are also searched in the current folder."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return getattr(import_module(module), name)


def _find(name: str, module: str, function: str) -> Callable[[], Any]:
    try:
        found = imported(module, function)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything
        raise StartError(f"{name} cannot be imported: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise StartError(f"{name} must be a function, got {type(found).__name__}")
    make: Callable[[], Any] = found
    return make


def _greeted(
    start: Callable[[], Any], patience: Patience | None, again: list[str]
) -> ProtocolEngine:
    try:
        return ProtocolEngine(start, patience, again)
    except (ChannelError, LateError, ProtocolError) as error:
        doctor = f"; to see why, run: tokenref doctor {shlex.join(again)}"
        more = doctor if again[0] == "--cmd" else ""
        said = "a wrong" if isinstance(error, ProtocolError) else "no"
        raise GreetingError(f"{' '.join(again)}: {said} answer to hello: {error}{more}") from None
