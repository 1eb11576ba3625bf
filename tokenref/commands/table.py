"""All commands by name. The module of a command is only imported when the command is used."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "answer": ("exchange", "answer"),
        "audit": ("vocabulary", "audit_command"),
        "check": ("check", "check"),
        "chunks": ("text", "chunks"),
        "count": ("text", "count"),
        "decode": ("text", "decode"),
        "doctor": ("first_steps", "doctor"),
        "encode": ("text", "encode"),
        "engines": ("look", "engines"),
        "export": ("exchange", "export"),
        "fill": ("fill", "fill"),
        "fuzz": ("fuzz", "fuzz"),
        "init": ("first_steps", "init"),
        "judge": ("exchange", "judge"),
        "merge": ("fuzz", "merge"),
        "profiles": ("sampling", "profiles"),
        "promote": ("fuzz", "promote"),
        "report": ("report", "report"),
        "rules": ("rules", "rules"),
        "sample": ("sampling", "sample"),
        "show": ("look", "show"),
        "trace": ("look", "trace_command"),
        "train": ("vocabulary", "train_command"),
        "vocabulary": ("vocabulary", "vocabulary"),
    }
)
"""Maps a command to its module in `tokenref.commands` and its function there."""


MOVED: Final[Mapping[tuple[str, ...], str]] = MappingProxyType(
    {
        ("attest",): "attest",
        ("fill", "--check"): "fixtures --check",
        ("fill", "--folder"): "fixtures --folder",
        ("mutants",): "mutants",
        ("profiles", "--check"): "profiles --check",
        ("profiles", "--page"): "profiles --page",
    }
)
"""What authors of the project do, and its command in `python -m authoring`."""


class CommandTable(MutableMapping[str, click.Command]):
    """The commands, as click wants them, each imported when it is looked up.

    >>> CommandTable()["encode"].name
    'encode'
    >>> sorted(CommandTable())[:3]
    ['answer', 'audit', 'check']
    """

    def __init__(self) -> None:
        """Import nothing."""
        self._there: dict[str, click.Command | None] = dict.fromkeys(COMMANDS)

    def __getitem__(self, name: str) -> click.Command:
        """Return a command. Raises `KeyError`."""
        found = self._there[name]
        if found is None:
            module, function = COMMANDS[name]
            command: click.Command = getattr(import_module(f"tokenref.commands.{module}"), function)
            found = self._there[name] = command
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        """Add or replace a command."""
        self._there[name] = command

    def __delitem__(self, name: str) -> None:
        """Take a command away. Raises `KeyError`."""
        del self._there[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._there)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._there)
