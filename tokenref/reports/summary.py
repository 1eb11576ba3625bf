"""The results of a run, engine by engine: counts, and the smallest failures."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final

import msgspec

from tokenref.judge import FAILURES
from tokenref.questions.text import DecodeInput, SpecialInput, TextInput
from tokenref.record import OPS, Case, canonical_json
from tokenref.reports.lines import case_line, engine_line, entry_of
from tokenref.reports.results import CaseLine, EngineEntry, EngineLine, Results, options_again
from tokenref.runner import Run

SHOWN_FAILURES: Final = 5
_KEPT: Final = 1000
"""How many failures are kept before the smallest are selected, to bound memory."""


@dataclass
class Summary:
    """The counts and failures of one engine."""

    entry: EngineEntry
    sums: EngineLine
    options: Sequence[str] = ()
    """The options that running one case again needs besides its engine and id."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """For each operation, the number of cases by status."""

    not_run: Counter[str] = field(default_factory=Counter)
    """Why cases were not run, with counts."""

    failures: list[CaseLine] = field(default_factory=list)
    """The smallest failures, smallest first."""

    def count(self, *statuses: str) -> int:
        """Return the number of cases with one of these statuses."""
        return sum(counts[status] for counts in self.counts.values() for status in statuses)

    @property
    def ops(self) -> list[str]:
        """The operations of the run, in their usual order."""
        return ordered(self.counts)


def ordered(ops: Iterable[str]) -> list[str]:
    """Return operations in their usual order, unknown ones last.

    >>> ordered(["zeal", "count", "encode"])
    ['encode', 'count', 'zeal']
    """
    known = {op: at for at, op in enumerate(OPS)}
    return sorted(ops, key=lambda op: (known.get(op, len(known)), op))


def summaries_of_runs(
    runs: Sequence[Run], records: Mapping[str, Case], options: Sequence[str]
) -> list[Summary]:
    """Return a summary of each run. `options` apply to all of them."""
    found = []
    for run in runs:
        entry = entry_of(run)
        summary = Summary(entry, engine_line(run), options)
        keep = _keeper(summary, records)
        for result in run.results:
            keep(case_line(run, result))
        summary.failures = _smallest(summary.failures, records)
        found.append(summary)
    return found


def summaries_of_files(files: Sequence[Results], records: Mapping[str, Case]) -> list[Summary]:
    """Return a summary of each engine of each file, reading every file once more."""
    found: list[Summary] = []
    for results in files:
        here = {}
        for entry in results.header.engines:
            sums = results.engines[entry.name]
            here[entry.name] = Summary(entry, sums, options_again(results.header))
        keepers = {name: _keeper(summary, records) for name, summary in here.items()}
        for line in results.cases():
            keepers[line.engine](line)
        for summary in here.values():
            summary.failures = _smallest(summary.failures, records)
        found += here.values()
    return found


def _keeper(summary: Summary, records: Mapping[str, Case]) -> Callable[[CaseLine], None]:
    """Return a function that adds one line to a summary."""

    def keep(line: CaseLine) -> None:
        summary.counts[line.op][line.status] += 1
        if line.status == "not_run":
            summary.not_run[line.detail] += 1
        if line.status in FAILURES:
            summary.failures.append(line)
            if len(summary.failures) > _KEPT:
                summary.failures = _smallest(summary.failures, records)

    return keep


def _smallest(lines: Sequence[CaseLine], records: Mapping[str, Case]) -> list[CaseLine]:
    """Return the failures with the shortest questions."""

    def size(line: CaseLine) -> tuple[int, str]:
        record = records.get(line.id)
        return (0 if record is None else length(record), line.id)

    return nsmallest(SHOWN_FAILURES, lines, key=size)


def length(case: Case) -> int:
    """Return the length of a question in characters, bytes or ids, else as JSON."""
    if isinstance(case.input, DecodeInput):
        return len(case.input.ids)
    if isinstance(case.input, TextInput):
        return len(case.input.content())
    if isinstance(case.input, SpecialInput):
        return len(case.input.text)
    return len(canonical_json(msgspec.to_builtins(case.input)))
