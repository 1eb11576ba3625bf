"""Gather results files and records into what the HTML report shows."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tokenref.record import Case
from tokenref.reports.changes import Change
from tokenref.reports.reading import Results, ResultsError
from tokenref.reports.results import CaseLine, EngineEntry, EngineLine
from tokenref.reports.summary import ordered

MOST_LINES: Final = 300_000
"""Case lines that a report for people may have: a browser holds them all."""


@dataclass
class Column:
    """One engine of one results file."""

    entry: EngineEntry
    results: list[Results]
    """The files that it stands in: more than one if it was run in shards."""

    lines: dict[str, CaseLine] = field(default_factory=dict)
    """By the id of the case."""

    was: dict[str, str] = field(default_factory=dict)
    """The earlier status of the cases whose status changed, if an earlier file was given."""

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.entry.name} {self.entry.version}".strip()

    @property
    def sums(self) -> list[EngineLine]:
        """The sums that its files have of it."""
        return [results.engines[self.entry.name] for results in self.results]

    def counts(self) -> Counter[str]:
        """Return how many cases ended how."""
        return Counter(line.status for line in self.lines.values())


@dataclass(frozen=True)
class Gathered:
    """Everything that the report shows."""

    columns: list[Column]
    records: Mapping[str, Case]
    """The records that are here, by id; some ids may have none."""

    ids: list[str]
    """The cases of all columns, in the order of the records."""


def gather(
    files: Sequence[Results], records: Mapping[str, Case], changes: Sequence[Change] = ()
) -> Gathered:
    """Put files together. An engine's shards become one column.

    `changes` are the cases whose status was another one before.

    Raises `ResultsError` where two files have a result of one engine for one case, and where
    there is more than a browser can hold.
    """
    total = sum(results.footer.cases for results in files)
    if total > MOST_LINES:
        raise ResultsError(
            f"an HTML report holds at most {MOST_LINES:,} results, got {total:,}: select fewer"
        )
    columns: dict[tuple[str, str], Column] = {}
    for results in files:
        here: dict[str, Column] = {}
        for entry in results.header.engines:
            column = columns.setdefault((entry.name, entry.version), Column(entry, []))
            column.results.append(results)
            here[entry.name] = column
        for line in results.cases():
            column = here[line.engine]
            if line.id in column.lines:
                raise ResultsError(
                    f"{results.path}: {column.label} has a result for {line.id} in another file"
                )
            column.lines[line.id] = line
    for change in changes:
        for (name, _), column in columns.items():
            found = column.lines.get(change.id)
            if name == change.engine and change.now == (found and found.status):
                column.was[change.id] = change.was or ""
    seen = {
        case_id
        for column in columns.values()
        for ids in (column.lines, column.was)
        for case_id in ids
    }
    ids = [case_id for case_id in records if case_id in seen]
    ids += sorted(seen.difference(records))
    return Gathered(list(columns.values()), records, ids)


def counts_by_op(gathered: Gathered) -> dict[str, list[Counter[str]]]:
    """Return, for each operation, how many cases ended how with each engine."""
    counts: dict[str, list[Counter[str]]] = defaultdict(
        lambda: [Counter() for _ in gathered.columns]
    )
    for at, column in enumerate(gathered.columns):
        for line in column.lines.values():
            counts[line.op][at][line.status] += 1
    return {op: counts[op] for op in ordered(counts)}


def counts_by_flag(gathered: Gathered) -> dict[str, list[Counter[str]]]:
    """Return, for each flag of the records, how many cases ended how with each engine."""
    counts: dict[str, list[Counter[str]]] = defaultdict(
        lambda: [Counter() for _ in gathered.columns]
    )
    for case_id in gathered.ids:
        record = gathered.records.get(case_id)
        for flag in record.flags if record is not None else ():
            for at, column in enumerate(gathered.columns):
                if (line := column.lines.get(case_id)) is not None:
                    counts[flag][at][line.status] += 1
    return dict(sorted(counts.items()))
