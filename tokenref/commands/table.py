"""All commands by name. The module of a command is only imported when the command is used."""

from collections import UserDict
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import click

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "answer": ("exchange", "answer"),
    "audit": ("vocabulary", "audit_command"),
    "check": ("check", "check"),
    "chunks": ("text", "chunks"),
    "compare": ("sampling", "compare"),
    "count": ("text", "count"),
    "decode": ("text", "decode"),
    "doctor": ("first_steps", "doctor"),
    "encode": ("text", "encode"),
    "engines": ("look", "engines"),
    "experiment": ("experiment", "experiment"),
    "explain": ("look", "explain"),
    "export": ("exchange", "export"),
    "fill": ("first_steps", "fill"),
    "fuzz": ("fuzz", "fuzz"),
    "init": ("first_steps", "init"),
    "judge": ("exchange", "judge"),
    "merge": ("fuzz", "merge"),
    "play": ("play", "play"),
    "profiles": ("sampling", "profiles"),
    "promote": ("fuzz", "promote"),
    "report": ("report", "report"),
    "rules": ("look", "rules"),
    "sample": ("sampling", "sample"),
    "show": ("look", "show"),
    "trace": ("look", "trace_command"),
    "train": ("vocabulary", "train_command"),
    "vocabulary": ("vocabulary", "vocabulary"),
}
"""Maps a command to its module in `tokenref.commands` and its function there."""


class CommandTable(UserDict[str, click.Command]):
    """The commands, as click wants them, each imported when it is looked up.

    >>> CommandTable()["encode"].name
    'encode'
    >>> sorted(CommandTable())[:3]
    ['answer', 'audit', 'check']
    """

    data: dict[str, Any]

    def __init__(self) -> None:
        self.data = dict(COMMANDS)

    def __getitem__(self, name: str) -> click.Command:
        """Return a command. Raises `KeyError`."""
        if isinstance(self.data[name], tuple):
            module, function = self.data[name]
            self.data[name] = getattr(import_module(f"tokenref.commands.{module}"), function)
        found: click.Command = self.data[name]
        return found
