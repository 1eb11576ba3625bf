"""The mutant gate as a person wants to see it: a line per mutant, then what matters."""

from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from authoring.mutants.gate import Fate, GateReport

_ORDER: Final[Mapping[Fate, str]] = {
    "survived": "bold red",
    "not run": "red",
    "too crude": "yellow",
    "killed": "green",
}

_WIDE: Final = 110
"""Columns from which on an example of each mutant's killers is shown: its name comes first."""


def print_gate(console: Console, report: GateReport) -> None:
    """Print every mutant, the description of each that was not killed, and the sums."""
    table = Table(header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("mutant", no_wrap=True)
    table.add_column("fate", no_wrap=True)
    table.add_column("killed by", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    wide = console.width >= _WIDE
    if wide:
        table.add_column("for example", no_wrap=True, overflow="ellipsis")
    trials = sorted(report.trials, key=lambda trial: list(_ORDER).index(trial.fate))
    for trial in trials:
        example = trial.killers[0].id.removeprefix("bpe/") if trial.killers else ""
        table.add_row(
            Text(trial.mutant.name),
            Text(trial.fate, style=_ORDER[trial.fate]),
            f"{len(trial.killers):,}",
            f"{trial.share:.1%}",
            *([Text(example)] if wide else []),
        )
    console.print(table)
    for trial in trials:
        if trial.fate != "killed":
            line = f"\n{trial.mutant.name} ({trial.fate}): {trial.mutant.description}"
            console.print(line, markup=False, highlight=False)
    console.print()
    for sentence in report.trouble:
        console.print(f"trouble: {sentence}", style="red", markup=False, highlight=False)
    for sentence in report.not_run:
        console.print(f"left out: {sentence}", markup=False, highlight=False)
    if report.idle_flags:
        idle = ", ".join(report.idle_flags)
        console.print(f"flags that kill nothing: {idle}", markup=False, highlight=False)
    if len(report.with_fate("killed")) < report.required:
        console.print(
            f"at least {report.required:,} mutants must be killed without being too crude",
            style="red",
            highlight=False,
        )
    console.print(summary(report), style="bold", markup=False, highlight=False)


def summary(report: GateReport) -> str:
    """Return the sums in one sentence.

    >>> summary(GateReport([], asked=0, flags=[], required=0))
    '0 mutants: 0 killed, 0 too crude to count, 0 survived; 0 cases, 0 of them kill nothing'
    """
    return (
        f"{len(report.trials):,} mutants: {len(report.with_fate('killed')):,} killed, "
        f"{len(report.with_fate('too crude')):,} too crude to count, "
        f"{len(report.with_fate('survived')):,} survived; "
        f"{report.asked:,} cases, {report.idle_cases:,} of them kill nothing"
    )
