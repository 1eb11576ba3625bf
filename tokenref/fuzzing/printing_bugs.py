"""What a campaign found, once more and short: each likely bug, and how many findings are alike."""

from collections.abc import Collection, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from tokenref.fuzzing.disagreements import disagreement
from tokenref.fuzzing.likely_bugs import LikelyBug
from tokenref.fuzzing.plan import Plan
from tokenref.fuzzing.printing import print_finding
from tokenref.reports.short import visible

_SHOWN: Final = 3
"""Ids and profiles that are named; the others are counted."""


def print_bugs(
    console: Console, bugs: Sequence[LikelyBug], plan: Plan, shown: Collection[str] = ()
) -> None:
    """Print the simplest finding of each bug in full, unless its sum is among `shown`; then a list.

    Nothing at all if there are no bugs.
    """
    for bug in bugs:
        if bug.first.sum not in shown:
            print_finding(console, bug.first, plan)
    if not bugs:
        return
    console.print(Text(f"\n{_counted(len(bugs), 'likely bug')}, the simplest question of each:"))
    for bug in bugs:
        for place, line in enumerate(_lines(bug)):
            console.print(Text("    " * bool(place) + "  " + visible(line)), soft_wrap=True)


def sentence_of(bugs: int, findings: int) -> str:
    """Return how much was found.

    >>> sentence_of(1, 1), sentence_of(2, 1007)
    ('1 likely bug (1 finding)', '2 likely bugs (1,007 findings)')
    """
    return f"{_counted(bugs, 'likely bug')} ({_counted(findings, 'finding')})"


def _counted(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def _lines(bug: LikelyBug) -> list[str]:
    first = bug.first
    status, *where = disagreement(first)
    often = " now and then" if first.now_and_then else ""
    how = f"{status}{often}{' at' if len(where) > 1 else ':'} {where[-1]}"
    lines = [f"{first.record['id']}  {how}"]
    if bug.others:
        ids = [str(finding.record["id"]) for finding in bug.others]
        lines.append(f"{_counted(len(ids), 'more finding')} like it: {_some(ids)}")
    if len(bug.profiles) > 1:
        lines.append(f"under {len(bug.profiles):,} profiles: {_some(bug.profiles)}")
    return lines


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
