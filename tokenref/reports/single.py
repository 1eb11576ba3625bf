"""One golden record, laid out for reading."""

from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from sampling_ref import STEPS
from tokenref.record import Case, op_of
from tokenref.reports.readable import readable_json
from tokenref.reports.short import visible
from tokenref.rules import rule_of

_WIDEST: Final = 400


def print_case(console: Console, case: Case, vocabulary: str) -> None:
    """Print a record with its reason, question and answer, numbers in decimal."""
    content = msgspec.to_builtins(case)
    console.print(Text(case.id, style="bold"))
    for label, value in (
        ("why", case.why),
        ("asks", op_of(case)),
        ("of", f"{vocabulary} ({case.vocab})" if case.vocab else vocabulary),
        ("in", readable_json(content["in"], _WIDEST)),
        ("out", readable_json(content["out"], _WIDEST) if content["out"] is not None else "none"),
        ("verdict", readable_json(content["verdict"], _WIDEST)),
        ("flags", ", ".join(case.flags) or "none"),
        (
            "rules",
            f"{case.profile}: {rule_of(op_of(case), case.profile)}"
            if op_of(case) in STEPS
            else case.profile,
        ),
        ("see", case.spec),
    ):
        shown = Text(visible(value))
        console.print(Text(f"  {label:8}", style="dim"), shown, sep="", soft_wrap=True)
