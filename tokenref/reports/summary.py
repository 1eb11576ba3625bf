"""The results of a run, engine by engine: counts, and the smallest failures."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final

from tokenref.diagnosis import length
from tokenref.judge import FAILURES
from tokenref.record import OPS, Case
from tokenref.reports.lines import case_line, engine_line, entry_of
from tokenref.reports.results import CaseLine, EngineEntry, EngineLine, Results, options_again
from tokenref.runner import Run

SHOWN_FAILURES: Final = 5
_KEPT: Final = 1000
"""How many failures are kept before the smallest are selected, to bound memory."""


@dataclass
class Summary:
    """The counts and the smallest failures of one engine."""

    entry: EngineEntry
    sums: EngineLine
    records: Mapping[str, Case]
    """The available records by id."""

    options: Sequence[str] = ()
    """The options that running one case again needs besides its engine and id."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """For each operation, the number of cases by status."""

    not_run: Counter[str] = field(default_factory=Counter)
    """Why cases were not run, with counts."""

    skipped: Counter[str] = field(default_factory=Counter)
    """Why the engine skipped cases, with counts."""

    by_cause: Counter[str] = field(default_factory=Counter)
    """The number of failures by their likely cause."""

    _failures: dict[str, list[CaseLine]] = field(default_factory=lambda: defaultdict(list))
    """The failures by their likely cause."""

    def add(self, line: CaseLine) -> None:
        """Add the result of one case."""
        self.counts[line.op][line.status] += 1
        if line.status == "not_run":
            self.not_run[line.detail] += 1
        if line.status == "skip":
            self.skipped[line.detail] += 1
        if line.status in FAILURES:
            self.by_cause[line.cause] += 1
            alike = self._failures[line.cause]
            alike.append(line)
            if len(alike) > _KEPT:
                alike[:] = self.failures(line.cause)

    def failures(self, cause: str = "") -> list[CaseLine]:
        """Return the failures with a likely cause that have the shortest questions."""

        def size(line: CaseLine) -> tuple[int, str]:
            record = self.records.get(line.id)
            return (0 if record is None else length(record), line.id)

        return nsmallest(SHOWN_FAILURES, self._failures[cause], key=size)

    def count(self, *statuses: str) -> int:
        """Return the number of cases with one of these statuses."""
        return sum(counts[status] for counts in self.counts.values() for status in statuses)


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
        summary = Summary(entry_of(run), engine_line(run), records, options)
        for result in run.results:
            summary.add(case_line(run, result))
        found.append(summary)
    return found


def summaries_of_files(files: Sequence[Results], records: Mapping[str, Case]) -> list[Summary]:
    """Return a summary of each engine of each file, reading every file once more."""
    found: list[Summary] = []
    for results in files:
        options = options_again(results.header)
        here = {
            entry.name: Summary(entry, results.engines[entry.name], records, options)
            for entry in results.header.engines
        }
        for line in results.cases():
            here[line.engine].add(line)
        found += here.values()
    return found
