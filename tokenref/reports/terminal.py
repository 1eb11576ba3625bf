"""A run as a person wants to see it: counts, then the first failures with all that helps."""

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokenref.catalogue import Catalogue
from tokenref.judge import Status
from tokenref.questions.text import DecodeInput, SpecialInput, TextInput
from tokenref.record import OPS, Case, canonical_json, op_of
from tokenref.reports.short import short_json
from tokenref.runner import Result, Run

SHOWN_FAILURES: Final = 5

_WIDEST_QUESTION: Final = 100

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
    console: Console,
    runs: Sequence[Run],
    unavailable: Sequence[tuple[str, str]],
    catalogue: Catalogue,
    options: Sequence[str] = (),
) -> None:
    """Print the counts of all runs, then what went wrong in each.

    `options` are those that asking for one case again needs, beside its id.
    """
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
        line = f"\n{name} is unavailable: {reason}"
        console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    missing = Counter(
        result.judgement.detail
        for run in runs[:1]  # the same for every engine
        for result in run.results
        if result.judgement.status == "not_run"
    )
    for reason, count in missing.items():
        line = f"\n{count:,} cases are not run: {reason}"
        console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    for run in runs:
        print_failures(console, run, catalogue, options)


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


def print_failures(
    console: Console, run: Run, catalogue: Catalogue, options: Sequence[str]
) -> None:
    """Print why a run is invalid, then its smallest failures, and how to see each again."""
    for sentence in run.trouble:
        console.print(f"\n{run.engine}: the run is invalid: {sentence}", style="red", markup=False)
    if len(run.results) != run.selected:
        console.print(
            f"\n{run.engine}: the run is invalid: "
            f"{run.selected:,} cases were selected, {len(run.results):,} have a result",
            style="red",
            markup=False,
        )
    for sentence in run.stale:
        console.print(f"\nknown difference is stale: {sentence}", style="red", markup=False)
    failures = sorted(run.failures, key=lambda result: (_length(result.case), result.case.id))
    if not failures:
        return
    console.print(f"\n{run.engine}: {len(failures):,} failures", style="bold red", markup=False)
    for result in failures[:SHOWN_FAILURES]:
        again = shlex.join(["tokenref", "check", run.engine, "--id", result.case.id, *options])
        _print_failure(console, result, catalogue.entry(result.case.vocab).name, again)
    if len(failures) > SHOWN_FAILURES:
        console.print(f"  and {len(failures) - SHOWN_FAILURES:,} more", style="dim")


def _print_failure(console: Console, result: Result, vocabulary: str, again: str) -> None:
    """Print one failure."""
    case, judgement = result.case, result.judgement
    console.print(Text(f"\n  {case.id}", style="bold"), Text(judgement.status, style="red"))
    question = short_json(msgspec.to_builtins(case.input), _WIDEST_QUESTION)
    for label, content in (
        ("why", case.why),
        ("of", vocabulary),
        ("in", question),
        *split_detail(judgement.detail),
        ("see", case.spec),
        ("again", again),
    ):
        console.print(Text(f"    {label:9}", style="dim"), Text(content), sep="", soft_wrap=True)


def split_detail(detail: str) -> list[tuple[str, str]]:
    """Return a judgement's detail as labelled lines: where, what was expected, what came.

    A detail of another form, or that cannot be split in one way only, stays whole.

    >>> split_detail("count: expected 1, got 2")
    [('at', 'count'), ('expected', '1'), ('got', '2')]
    >>> split_detail("boom")
    [('got', 'boom')]
    """
    where, expects, rest = detail.partition("expected ")
    if not expects or rest.count(", got ") != 1 or (where and not where.endswith(": ")):
        return [("got", detail)]
    expected, _, got = rest.partition(", got ")
    at = [("at", where.removesuffix(": "))] if where else []
    return [*at, ("expected", expected), ("got", got)]


def _length(case: Case) -> int:
    """Return how long the question is: characters, bytes or ids; else as written."""
    if isinstance(case.input, DecodeInput):
        return len(case.input.ids)
    if isinstance(case.input, TextInput):
        return len(case.input.content())
    if isinstance(case.input, SpecialInput):
        return len(case.input.text)
    return len(canonical_json(msgspec.to_builtins(case.input)))
