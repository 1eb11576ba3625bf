"""The results of a run, engine by engine: counts, and the smallest failures."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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

    _failures: list[CaseLine] = field(default_factory=list)

    def add(self, line: CaseLine) -> None:
        """Add the result of one case."""
        self.counts[line.op][line.status] += 1
        if line.status == "not_run":
            self.not_run[line.detail] += 1
        if line.status in FAILURES:
            self._failures.append(line)
            if len(self._failures) > _KEPT:
                self._failures = self.failures

    @property
    def failures(self) -> list[CaseLine]:
        """The failures with the shortest questions, shortest first."""

        def size(line: CaseLine) -> tuple[int, str]:
            record = self.records.get(line.id)
            return (0 if record is None else length(record), line.id)

        return nsmallest(SHOWN_FAILURES, self._failures, key=size)

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


def length(case: Case) -> int:
    """Return the length of a question in characters, bytes or ids, else as JSON."""
    match case.input:
        case DecodeInput(ids=ids):
            return len(ids)
        case TextInput() as given:
            return len(given.content())
        case SpecialInput(text=text):
            return len(text)
    return len(canonical_json(msgspec.to_builtins(case.input)))
