"""Runs shown on a terminal: counts, then the first failures with everything that helps."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokenref.catalogue import Catalogue
from tokenref.corpus import CorpusResult, Tokens
from tokenref.judge import FAILURES, Status
from tokenref.record import Case
from tokenref.reports import visible
from tokenref.reports.readable import readable_json
from tokenref.reports.results import CaseLine, judged
from tokenref.reports.summary import SHOWN_FAILURES, Summary, summaries_of_runs
from tokenref.runner import Run

__all__ = ["SHOWN_FAILURES", "print_runs", "print_summaries", "split_detail"]

_WIDEST_QUESTION: Final = 100

_COLUMNS: Final[Sequence[tuple[Status, str, str]]] = (
    ("pass", "pass", "green"),
    ("fail", "fail", "red"),
    ("wrong_error", "wrong error", "red"),
    ("crash", "crash", "red"),
    ("timeout", "timeout", "red"),
    ("xpass", "xpass", "red"),
    ("xfail", "known", "yellow"),
    ("unsupported", "unsupported", "dim"),
    ("skip", "skip", "dim"),
    ("not_run", "not run", "dim"),
)


def print_runs(
    console: Console,
    runs: Sequence[Run],
    unavailable: Sequence[tuple[str, str]],
    catalogue: Catalogue,
    options: Sequence[str] = (),
) -> None:
    """Print the counts of all runs, then the failures of each.

    `options` are the options that running one case again needs besides its id.
    """
    records = {case.id: case for case in catalogue.cases}
    summaries = summaries_of_runs(runs, records, options)
    names = {entry.digest: entry.name for entry in catalogue.manifest.subjects}
    print_summaries(console, summaries, unavailable, records, names)


def print_summaries(
    console: Console,
    summaries: Sequence[Summary],
    unavailable: Sequence[tuple[str, str]],
    records: Mapping[str, Case],
    names: Mapping[str, str],
) -> None:
    """Print the counts of all engines, then the failures of each.

    `names` maps the digest of a vocabulary to its name.
    """
    table = Table(title=None, header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("engine")
    table.add_column("operation")
    table.add_column("cases", justify="right")
    shown = [
        column
        for column in _COLUMNS
        if column[0] in {"pass", "fail"} or any(each.count(column[0]) for each in summaries)
    ]
    for _, title, _ in shown:
        table.add_column(title, justify="right")
    for summary in summaries:
        _add_engine(table, summary, [(status, style) for status, _, style in shown])
    for name, _ in unavailable:
        table.add_row(Text(visible(name)), "unavailable", style="dim")
        table.add_section()
    console.print(table)
    for name, reason in unavailable:
        line = f"\n{visible(name)} is unavailable: {visible(reason)}"
        console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    _print_not_run(console, summaries)
    for summary in summaries:
        _print_failures(console, summary, records, names)


def _print_not_run(console: Console, summaries: Sequence[Summary]) -> None:
    """Print why cases were not run. A reason that applies to all engines is printed once."""
    engines: dict[tuple[str, int], list[str]] = {}
    for summary in summaries:
        for reason, count in summary.not_run.items():
            engines.setdefault((reason, count), []).append(summary.entry.name)
    for (reason, count), names in engines.items():
        whose = "" if len(names) == len(summaries) else f"{', '.join(map(visible, names))}: "
        line = f"\n{whose}{count:,} cases were not run: {visible(reason)}"
        console.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _add_engine(table: Table, summary: Summary, columns: Sequence[tuple[Status, str]]) -> None:
    """Add one row per operation, and one for the total.

    Operations without any judged case share a row, because an engine may lack dozens.
    """
    rows = {op: summary.counts[op] for op in summary.ops if judged(summary.counts[op])}
    others = [op for op in summary.ops if op not in rows]
    if len(others) == 1 or not rows:
        rows = {op: summary.counts[op] for op in summary.ops}
    elif others:
        rows[f"{len(others)} others"] = _total([summary.counts[op] for op in others])
    if len(rows) > 1:
        rows["all"] = _total(list(summary.counts.values()))
    first = visible(f"{summary.entry.name} {summary.entry.version}")
    for name, counts in rows.items():
        cells = [Text(first), Text(visible(name)), Text(f"{counts.total():,}")]
        for status, style in columns:
            count = counts[status]
            cells.append(Text(f"{count:,}" if count else "·", style=style if count else "dim"))
        table.add_row(*cells, style="bold" if name == "all" else "")
        first = ""
    table.add_section()


def _total(counts: Sequence[Counter[str]]) -> Counter[str]:
    return sum(counts, start=Counter())


def _print_failures(
    console: Console, summary: Summary, records: Mapping[str, Case], names: Mapping[str, str]
) -> None:
    """Print why a run is invalid, then its smallest failures and how to run each again."""
    name = visible(summary.entry.name)
    for sentence in summary.sums.trouble:
        line = f"\n{name}: the run is invalid: {visible(sentence)}"
        console.print(line, style="red", markup=False, highlight=False)
    for sentence in [
        *(f"{name}: {incident}" for incident in summary.sums.incidents),
        *(f"known difference is stale: {stale}" for stale in summary.sums.stale),
    ]:
        line = f"\n{visible(sentence)}"
        console.print(line, style="red", markup=False, highlight=False)
    failed = summary.count(*FAILURES)
    if not failed:
        return
    line = f"\n{name}: {failed:,} failures"
    console.print(line, style="bold red", markup=False, highlight=False)
    for failure in summary.failures:
        call = summary.entry.again or [summary.entry.name]
        again = shlex.join(["tokenref", "check", *call, "--id", failure.id, *summary.options])
        _print_failure(console, failure, records.get(failure.id), names, again)
    if failed > len(summary.failures):
        rest = f"  and {failed - len(summary.failures):,} more; use --json FILE to see all"
        console.print(rest, style="dim")


def _print_failure(
    console: Console, line: CaseLine, case: Case | None, names: Mapping[str, str], again: str
) -> None:
    """Print one failure, with information from its record if that is available."""
    console.print(Text(f"\n  {visible(line.id)}", style="bold"), Text(line.status, style="red"))
    about: list[tuple[str, str]] = []
    if case is not None:
        question = readable_json(msgspec.to_builtins(case.input), _WIDEST_QUESTION)
        about = [
            ("why", case.why),
            ("of", names.get(case.vocab or "", case.profile)),
            ("in", question),
        ]
    for label, content in (
        *about,
        *split_detail(line.detail),
        *([("see", case.spec)] if case is not None else []),
        ("again", again),
    ):
        shown = Text(visible(content))
        console.print(Text(f"    {label:9}", style="dim"), shown, sep="", soft_wrap=True)


def split_detail(detail: str) -> list[tuple[str, str]]:
    """Return a judgement's detail as labelled lines: the place, the expected value, the value got.

    A detail of another form, or one that can be split in several ways, stays in one piece.

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


_STYLES: Final = {"same": "green", "unsupported": "dim"}


def print_corpus(console: Console, results: Sequence[CorpusResult]) -> None:
    """Print one row per engine, then the first difference of each."""
    table = Table(header_style="bold", show_edge=False, pad_edge=False)
    table.add_column("engine")
    table.add_column("encoding")
    for title in ("tokens", "MB/s", "reference MB/s"):
        table.add_column(title, justify="right")
    for result in results:
        table.add_row(
            Text(visible(f"{result.engine} {result.version}")),
            Text(result.status, style=_STYLES.get(result.status, "red")),
            f"{result.tokens:,}" if result.tokens else "·",
            _speed(result.bytes_per_second),
            _speed(result.reference_bytes_per_second),
        )
    console.print(table)
    for result in results:
        name = visible(result.engine)
        if result.detail:
            line = f"\n{name}: {visible(result.detail)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        if result.difference is None:
            continue
        found = result.difference
        console.print(
            f"\n{name}: first differs at line {found.line:,}, byte {found.byte:,}",
            style="bold red",
            markup=False,
            highlight=False,
        )
        for label, content in (
            ("expected", _tokens(found.expected)),
            ("got", _tokens(found.got)),
            (
                "smallest",
                repr(found.smallest) if found.smallest else "no short part differs by itself",
            ),
        ):
            console.print(
                Text(f"    {label:9}", style="dim"), Text(content), sep="", soft_wrap=True
            )


def _speed(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e6:.2f}" if bytes_per_second else "·"


def _tokens(tokens: Tokens) -> str:
    if not tokens:
        return "the end"
    return ", ".join(f"{token} {content!r}" for token, content in tokens)
