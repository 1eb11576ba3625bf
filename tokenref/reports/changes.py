"""Cases whose status differs between two runs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rich.console import Console
from rich.text import Text

from tokenref.judge import FAILURES
from tokenref.reports.results import Results
from tokenref.reports.terminal import count_cell, counts_table, print_line
from tokenref.visible import visible

Kind: TypeAlias = Literal["new failure", "newly passing", "appeared", "disappeared", "other"]

_KINDS: Final[Sequence[tuple[Kind, str]]] = (
    ("new failure", "red"),
    ("newly passing", "green"),
    ("appeared", ""),
    ("disappeared", "yellow"),
    ("other", ""),
)

_SHOWN: Final = 20


@dataclass(frozen=True)
class Change:
    """A case whose status changed. None means no result."""

    engine: str
    id: str
    was: str | None
    now: str | None
    detail: str = ""

    @property
    def kind(self) -> Kind:
        """The kind of change.

        >>> Change("e", "bpe/count/a", "pass", "crash").kind
        'new failure'
        """
        if self.now is None:
            return "disappeared"
        if self.now in FAILURES and self.was not in FAILURES:
            return "new failure"
        if self.was is None:
            return "appeared"
        return "newly passing" if self.now == "pass" else "other"


def changes(old: Results, new: Sequence[Results]) -> Iterator[Change]:
    """Yield the changes, engine by engine. Engines are compared by name, whatever their version.

    Engines that are missing from the new results are left out; see `notes`.
    """
    names = {entry.name for results in new for entry in results.header.engines}
    before: dict[str, dict[str, str]] = {name: {} for name in names}
    for line in old.cases():
        if line.engine in before:
            before[line.engine][line.id] = line.status
    gone = {name: set(cases) for name, cases in before.items()}
    for results in new:
        for line in results.cases():
            was = before[line.engine].get(line.id)
            gone[line.engine].discard(line.id)
            if was != line.status:
                yield Change(line.engine, line.id, was, line.status, line.detail)
    for name, ids in gone.items():
        for case_id in sorted(ids):
            yield Change(name, case_id, before[name][case_id], None)


def notes(old: Results, new: Sequence[Results]) -> list[str]:
    """Return sentences about what limits the comparison, or makes a run invalid."""
    found = [
        f"{name}: the run is invalid: {trouble}"
        for results in new
        for name, line in results.engines.items()
        for trouble in line.trouble
    ]
    if not old.footer.complete:
        found.append(f"{old.path} is from an invalid run")
    before = {entry.name for entry in old.header.engines}
    after = {entry.name for results in new for entry in results.header.engines}
    found += [f"{name} is only in {old.path}" for name in sorted(before - after)]
    found += [f"{name} is not in {old.path}" for name in sorted(after - before)]
    fixtures = {results.header.fixtures or results.header.records for results in [old, *new]}
    if len(fixtures) > 1:
        found.append("the runs are over different records")
    return found


def print_changes(console: Console, found: Sequence[Change]) -> None:
    """Print the number of changes of each kind, then the cases, new failures first."""
    if not found:
        console.print("nothing changed", style="green")
        return
    counts = Counter((change.engine, change.kind) for change in found)
    table = counts_table(["engine"], [kind for kind, _ in _KINDS])
    for engine in dict.fromkeys(change.engine for change in found):
        cells = [count_cell(counts[engine, kind], style) for kind, style in _KINDS]
        table.add_row(Text(visible(engine)), *cells)
    console.print(table)
    for kind, style in _KINDS:
        of_kind = [change for change in found if change.kind == kind]
        if of_kind:
            console.print(f"\n{kind}: {len(of_kind):,}", style=f"bold {style}", highlight=False)
        for change in of_kind[:_SHOWN]:
            states = f"{change.was or 'none'} → {change.now or 'none'}"
            print_line(console, f"  {change.engine}  {change.id}  {states}")
            if change.kind == "new failure" and change.detail:
                print_line(console, f"      {change.detail}")
        if len(of_kind) > _SHOWN:
            console.print(f"  and {len(of_kind) - _SHOWN:,} more", style="dim")
