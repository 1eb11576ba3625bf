"""Journals of the shards of one campaign, put together; or what is missing, or there twice.

Shards are disjoint and complete by construction: shard i of n has every n-th
group. So what can be wrong is a shard that was not run or not finished, one that
was run twice, and journals that are not of one campaign. Counts are added up only
if nothing is wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Final

from tokenref.fuzzing.findings import Finding
from tokenref.fuzzing.journal import Journal, summed
from tokenref.fuzzing.plan import difference
from tokenref.fuzzing.selection import GROUP

_SHOWN: Final = 20
"""How many shards that are missing are named; the others are counted."""


@dataclass
class Merged:
    """What several journals say together; nothing of it depends on their order."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    """Why the sum would prove nothing: a sentence for each shard or range of questions."""

    questions: int = 0
    """Numbers of the questions that were asked: from 0 to below this, without a gap."""


def merged(journals: Mapping[str, Journal]) -> Merged:
    """Return what the journals of one campaign say together, by the names of their files."""
    named = list(journals.items())
    result = Merged(trouble=list(_strangers(named)))
    if result.trouble:
        return result
    result.trouble += _wrong_shards(named)
    result.trouble += _wrong_groups(named)
    if result.trouble:
        return result
    every = [journal for _, journal in named]
    result.counts = summed(journal.counts() for journal in every)
    for journal in every:
        for finding in journal.findings.values():
            if finding.is_kept(result.findings):
                result.findings[finding.sum] = finding
    result.questions = _asked_without_gap(every)
    return result


def _strangers(named: Sequence[tuple[str, Journal]]) -> Iterator[str]:
    """Yield a sentence for each journal that is of another campaign than the first one."""
    first_name, first = named[0]
    for name, journal in named[1:]:
        other = difference(first.plan, journal.plan, but=("shard", "again"))
        if other is None and first.plan.shard.count != journal.plan.shard.count:
            other = f"shards must be of {first.plan.shard.count}, got {journal.plan.shard}"
        if other is not None:
            yield f"{name} is not of the campaign of {first_name}: {other}"


def _wrong_shards(named: Sequence[tuple[str, Journal]]) -> Iterator[str]:
    """Yield a sentence for each shard that has no journal, or several."""
    count = named[0][1].plan.shard.count
    there: dict[int, list[str]] = {}
    for name, journal in named:
        there.setdefault(journal.plan.shard.number, []).append(name)
    missing = (number for number in range(1, count + 1) if number not in there)
    for number in islice(missing, _SHOWN):  # of a billion shards nearly all are missing
        yield f"shard {number}/{count} is missing"
    more = count - len(there) - _SHOWN
    if more > 0:
        yield f"and {more:,} more shards are missing"
    for number, names in sorted(there.items()):
        if len(names) > 1:
            yield f"shard {number}/{count} is there {len(names)} times: {', '.join(names)}"


def _wrong_groups(named: Sequence[tuple[str, Journal]]) -> Iterator[str]:
    """Yield a sentence for each row of questions that a journal lacks, or has twice."""
    for name, journal in named:
        for group in sorted(set(journal.repeated)):
            yield f"{name}: questions {_range(group, group)} are there twice"
        for first, last in _gaps(journal):
            gap = f"{_range(first, last)} of shard {journal.plan.shard}"
            yield f"{name}: questions {gap} are missing"


def _gaps(journal: Journal) -> Iterator[tuple[int, int]]:
    """Yield the first and the last group of each row that is not done.

    A campaign that only time ends is whole if nothing is missing before its last group.
    """
    plan = journal.plan
    step, first = plan.shard.count, plan.shard.number - 1
    done = sorted(journal.groups)
    end = plan.groups
    if end is None:
        after = done[-1] + step if done else first
    else:
        after = first + step * max(0, -(-(end - first) // step))
    for before, group in pairwise([first - step, *done, after]):
        if group - before > step:
            yield before + step, group - step


def _range(first: int, last: int) -> str:
    return f"{GROUP * first} to {GROUP * (last + 1) - 1}"


def _asked_without_gap(journals: Sequence[Journal]) -> int:
    """Return the first question that no shard asked."""
    plan = journals[0].plan
    if plan.cases is not None:
        return plan.cases
    count = plan.shard.count
    ends = [
        max(journal.groups, default=journal.plan.shard.number - 1 - count) + count
        for journal in journals
    ]
    return GROUP * min(ends)
