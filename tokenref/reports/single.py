"""One golden record, laid out for reading."""

import json
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from tokenref.manifest import VocabularyEntry
from tokenref.record import Case, op_of

_WIDEST: Final = 400


def print_case(console: Console, case: Case, vocabulary: VocabularyEntry) -> None:
    """Print a record with its reason, question and answer."""
    content = msgspec.to_builtins(case)
    console.print(Text(case.id, style="bold"))
    for label, value in (
        ("why", case.why),
        ("asks", op_of(case)),
        ("of", f"{vocabulary.name} ({vocabulary.digest})"),
        ("in", _short(content["in"])),
        ("out", _short(content["out"]) if content["out"] is not None else "a refusal"),
        ("verdict", _short(content["verdict"])),
        ("flags", ", ".join(case.flags) or "none"),
        ("rules", case.profile),
        ("see", case.spec),
    ):
        console.print(Text(f"  {label:8}", style="dim"), Text(value), sep="", soft_wrap=True)


def _short(value: object) -> str:
    """Show a value as JSON, long ones cut."""
    shown = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return shown if len(shown) <= _WIDEST else f"{shown[:_WIDEST]} ... ({len(shown)} characters)"
