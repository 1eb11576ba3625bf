"""A run as a person wants to see it: counts, then the first failures with all that helps."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokenref.judge import Status
from tokenref.record import OPS, op_of
from tokenref.runner import Result, Run

SHOWN_FAILURES: Final = 5

_COLUMNS: Final[Sequence[tuple[Status, str, str]]] = (
    ("pass", "pass", "green"),
    ("fail", "fail", "red"),
    ("wrong_error", "wrong error", "red"),
    ("crash", "crash", "red"),
    ("xpass", "xpass", "red"),
    ("xfail", "known", "yellow"),
    ("unsupported", "unsupported", "dim"),
    ("not_run", "not run", "dim"),
)


def print_runs(
    console: Console, runs: Sequence[Run], unavailable: Sequence[tuple[str, str]]
) -> None:
    """Print the counts of all runs, then what went wrong in each."""
    table = Table(title=None, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("engine")
    table.add_column("operation")
    table.add_column("cases", justify="right")
    shown = [
        column
        for column in _COLUMNS
        if column[0] in {"pass", "fail"} or any(run.count(column[0]) for run in runs)
    ]
    for _, title, _ in shown:
        table.add_column(title, justify="right")
    for run in runs:
        _add_run(table, run, [(status, style) for status, _, style in shown])
    for name, _ in unavailable:
        table.add_row(name, "unavailable", style="dim")
        table.add_section()
    console.print(table)
    for name, reason in unavailable:
        console.print(f"\n{name} is unavailable: {reason}", style="yellow", markup=False)
    for run in runs:
        print_failures(console, run)


def _add_run(table: Table, run: Run, columns: Sequence[tuple[Status, str]]) -> None:
    """Add one row per operation, and one for all of them."""
    first = f"{run.engine} {run.version}"
    ops = [op for op in OPS if any(op_of(result.case) == op for result in run.results)]
    for op in [*ops, ""]:
        results = [result for result in run.results if not op or op_of(result.case) == op]
        if not op and len(ops) == 1:
            continue
        cells = [Text(first), Text(op or "all"), Text(f"{len(results):,}")]
        for status, style in columns:
            count = sum(result.judgement.status == status for result in results)
            cells.append(Text(f"{count:,}" if count else "·", style=style if count else "dim"))
        table.add_row(*cells, style="" if op else "bold")
        first = ""
    table.add_section()


def print_failures(console: Console, run: Run) -> None:
    """Print why a run is invalid, then its first failures, and how to see each again."""
    for sentence in run.trouble:
        console.print(f"\n{run.engine}: the run is invalid: {sentence}", style="red", markup=False)
    if len(run.results) != run.selected:
        console.print(
            f"\n{run.engine}: the run is invalid: "
            f"{run.selected} cases were selected, {len(run.results)} have a result",
            style="red",
            markup=False,
        )
    for sentence in run.stale:
        console.print(f"\nknown difference is stale: {sentence}", style="red", markup=False)
    failures = run.failures
    if not failures:
        return
    console.print(f"\n{run.engine}: {len(failures):,} failures", style="bold red", markup=False)
    for result in failures[:SHOWN_FAILURES]:
        _print_failure(console, run.engine, result)
    if len(failures) > SHOWN_FAILURES:
        console.print(f"  and {len(failures) - SHOWN_FAILURES:,} more", style="dim")


def _print_failure(console: Console, engine: str, result: Result) -> None:
    """Print one failure."""
    case, judgement = result.case, result.judgement
    console.print(Text(f"\n  {case.id}", style="bold"), Text(judgement.status, style="red"))
    for label, content in (
        ("why", case.why),
        ("got", judgement.detail),
        ("see", case.spec),
        ("again", f"tokenref check {engine} --id {case.id}"),
    ):
        console.print(Text(f"    {label:6}", style="dim"), Text(content), sep="", soft_wrap=True)
