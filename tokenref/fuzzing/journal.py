"""The file of a campaign: a header, one line per finished group, one line per finding.

The file only grows. Each line is written at once, and a finding is on disk before the next
question is asked, so nothing that was found is lost when the campaign stops. An incomplete last
line was being written at that moment: it is removed when the campaign resumes, and ignored when
the file is read.

The journals of all shards of a campaign can be merged. Shard i of n contains every n-th group, so
shards are disjoint and complete by construction. What can go wrong is a shard that was not run or
not finished, a shard that was run twice, or journals of different campaigns. Counts are only added
up if nothing is wrong.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from tokenref.answers import without_log
from tokenref.errors import InputError
from tokenref.files import lines_of
from tokenref.fuzzing.findings import Finding
from tokenref.fuzzing.plan import GROUP, Plan, difference
from tokenref.known import unlisted
from tokenref.record import canonical_json
from tokenref.result import without_values

LONGEST_LINE: Final = 64 << 20
"""Maximum length of a line, in bytes; a longer one could fill the memory."""


class Group(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="group"
):
    """A finished group of questions."""

    group: int
    counts: dict[str, dict[str, int]]
    """For each operation, the number of questions by outcome; see `comparing.Fate`."""

    milliseconds: int = 0

    declined: dict[str, dict[str, int]] = {}
    """For each operation, how many questions the program declined, by its reason."""

    incidents: list[str] = []
    """Failures that no single question of the group caused."""


class Bug(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Findings that are likely the same bug, by their ids."""

    first: str
    """The simplest finding."""

    others: list[str]


class Footer(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="footer"
):
    """The campaign ended in order; it may still be resumed."""

    why: str
    bugs: list[Bug] = []
    """The likely bugs so far, for readers of the file; they are computed from the findings."""


Line: TypeAlias = Plan | Group | Finding | Footer
_LINE: Final = msgspec.json.Decoder(Line)


@dataclass
class Journal:
    """The content of a journal."""

    plan: Plan
    groups: dict[int, Group] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)
    """By the sums of their records, so duplicates count once."""

    repeated: list[int] = field(default_factory=list)
    """Groups that occur more than once."""

    length: int = 0
    """Length of the file up to the end of its last complete line, in bytes."""

    def add(self, line: Group | Finding | Footer) -> None:
        """Add a line."""
        if isinstance(line, Group):
            if line.group in self.groups:
                self.repeated.append(line.group)
            self.groups[line.group] = line
        elif isinstance(line, Finding):
            self.findings.pop(line.replaces, None)
            if line.is_kept(self.findings):
                self.findings[line.sum] = line

    @property
    def questions(self) -> int:
        """All questions below this number were asked, if the groups are those of all shards."""
        asked = GROUP * next(group for group in count() if group not in self.groups)
        return asked if self.plan.cases is None else min(asked, self.plan.cases)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return for each operation the number of questions by outcome."""
        return summed(group.counts for group in self.groups.values())

    def declined(self) -> dict[str, dict[str, int]]:
        """Return for each operation the number of declined questions by reason."""
        return summed(group.declined for group in self.groups.values())

    def incidents(self) -> dict[str, list[tuple[int, str]]]:
        """Return the groups in which no single question failed, and what was said, in order.

        Known incidents are left out.
        Those that differ only in numbers and quoted words are together.
        """
        alike: dict[str, list[tuple[int, str]]] = {}
        for number, group in sorted(self.groups.items()):
            for said in unlisted(group.incidents, self.plan.known):
                alike.setdefault(without_values(without_log(said), None), []).append((number, said))
        return alike


def summed(counts: Iterable[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    """Return the sum of the counts of several groups.

    >>> summed([{"encode": {"same": 2}}, {"encode": {"same": 1, "failed": 1}}])
    {'encode': {'same': 3, 'failed': 1}}
    """
    total: dict[str, Counter[str]] = {}
    for each in counts:
        for op, fates in each.items():
            total.setdefault(op, Counter()).update(fates)
    return {op: dict(of_op) for op, of_op in total.items()}


def read_journal(path: Path) -> Journal:
    """Read a journal, line by line. Raises `InputError`."""
    journal: Journal | None = None
    for number, line in lines_of(path, LONGEST_LINE, InputError):
        if not line.endswith(b"\n"):  # it was being written when the campaign stopped
            break
        place = f"{path}, line {number}"
        try:
            read: Line = _LINE.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            if journal is None:
                kinds = {b'"engines"': "results", b'"file"': "records"}
                kind = next((f", not {kinds[key]}" for key in kinds if key in line), "")
                need = f"{path} must be a file that `tokenref fuzz --state` wrote{kind}"
                raise InputError(need) from None
            raise InputError(f"{place}: not a line of a state file: {error}") from None
        if isinstance(read, Plan) != (journal is None):
            raise InputError(f"{place}: the header must be the first line and must not be repeated")
        if isinstance(read, Plan):
            journal = Journal(read)
        else:
            assert journal is not None  # noqa: S101 - the first line is a plan
            _check(read, journal.plan, place)
            journal.add(read)
        journal.length += len(line)
    if journal is None:
        raise InputError(f"{path}: it must begin with a header, but it is empty or truncated")
    return journal


def _check(line: Group | Finding | Footer, plan: Plan, place: str) -> None:
    if isinstance(line, Group) and not plan.shard.has(line.group):
        raise InputError(f"{place}: group {line.group} does not belong to shard {plan.shard}")
    if isinstance(line, Finding) and not {"sum", "id", "op", "in", "profile"} <= line.record.keys():
        raise InputError(f"{place}: the record of a finding must have id, op, profile, in and sum")


class Writer:
    """A journal opened for appending, locked against other writers."""

    def __init__(self, path: Path, journal: Journal) -> None:
        """Open the file, and write the header if it is new. Raises `InputError`."""
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
        self._length = journal.length
        try:
            self._lock()
            try:
                os.ftruncate(self._file, self._length)  # removes an incomplete last line
            except OSError:  # a pipe or a device
                raise InputError(f"{path} cannot be written: it must be a file") from None
            if not self._length:
                self.write(journal.plan)
        except BaseException:
            self.close()
            raise

    def write(self, line: Line) -> None:
        """Append a line completely or not at all. Raises `InputError`."""
        content = canonical_json(msgspec.to_builtins(line)) + b"\n"
        try:
            written = 0
            while written < len(content):  # continue after a partial write
                written += os.pwrite(self._file, content[written:], self._length + written)
            if isinstance(line, Finding | Plan):
                os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._length)
            raise InputError(f"{self._path} cannot be written: {error.strerror}") from None
        self._length += len(content)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _lock(self) -> None:
        """Lock the file against other writers, if the system supports it."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{self._path} is in use by another campaign") from None


def open_journal(path: Path, plan: Plan) -> Journal:
    """Return the journal of a plan: the content of the file, or an empty journal.

    Raises `InputError` if the file belongs to another campaign.
    """
    if not path.exists() or path.stat().st_size == 0:
        return Journal(plan)
    journal = read_journal(path)
    other = difference(journal.plan, plan)
    if other is not None:
        raise InputError(f"{path} is the state file of another campaign: {other}")
    return journal


_SHOWN: Final = 20
"""How many missing shards are listed; the others are counted."""


def merged(journals: Mapping[str, Journal]) -> tuple[Journal, list[str]]:
    """Return the shards of one campaign, given by the names of their files, as one journal.

    The second value is what is missing or duplicated: a sentence per shard or range of questions.
    Then the journal is empty. The result does not depend on the order of the shards.
    """
    whole = Journal(next(iter(journals.values())).plan)
    trouble = list(_strangers(journals))
    trouble = trouble or [*_wrong_shards(journals), *_wrong_groups(journals)]
    if not trouble:
        whole.findings = findings_of(journals.values())
        for journal in journals.values():
            whole.groups |= journal.groups
    return whole, trouble


def findings_of(journals: Iterable[Journal]) -> dict[str, Finding]:
    """Return the findings of several journals by the sums of their records."""
    findings: dict[str, Finding] = {}
    for finding in (each for journal in journals for each in journal.findings.values()):
        if finding.is_kept(findings):
            findings[finding.sum] = finding
    return findings


def _strangers(journals: Mapping[str, Journal]) -> Iterator[str]:
    """Yield a sentence for each journal of another campaign than the first."""
    (first_name, first), *others = journals.items()
    for name, journal in others:
        other = difference(first.plan, journal.plan, but=("shard", "again"))
        if other is None and first.plan.shard.count != journal.plan.shard.count:
            other = f"shards must be of {first.plan.shard.count}, got {journal.plan.shard}"
        if other is not None:
            yield f"{name} belongs to another campaign than {first_name}: {other}"


def _wrong_shards(journals: Mapping[str, Journal]) -> Iterator[str]:
    """Yield a sentence for each shard with no journal or several."""
    shards = next(iter(journals.values())).plan.shard.count
    there: dict[int, list[str]] = {}
    for name, journal in journals.items():
        there.setdefault(journal.plan.shard.number, []).append(name)
    missing = (number for number in range(1, shards + 1) if number not in there)
    for number in islice(missing, _SHOWN):  # nearly all of a billion shards may be missing
        yield f"shard {number}/{shards} is missing"
    more = shards - len(there) - _SHOWN
    if more > 0:
        yield f"and {more:,} more shards are missing"
    for number, names in sorted(there.items()):
        if len(names) > 1:
            yield f"shard {number}/{shards} occurs {len(names)} times: {', '.join(names)}"


def _wrong_groups(journals: Mapping[str, Journal]) -> Iterator[str]:
    """Yield a sentence for each range of questions that a journal lacks or repeats.

    A campaign without a number of questions is complete if no group before its last is missing.
    """
    for name, journal in journals.items():
        for group in sorted(set(journal.repeated)):
            yield f"{name}: questions {_range(group, group)} occur twice"
        plan, step = journal.plan, journal.plan.shard.count
        done = _done(journal)
        if plan.groups is not None:
            start = plan.shard.group(0)
            done.append(start + step * max(0, -(-(plan.groups - start) // step)))
        for before, group in pairwise(done):
            if group - before > step:
                gap = f"{_range(before + step, group - step)} of shard {plan.shard}"
                yield f"{name}: questions {gap} are missing"


def _done(journal: Journal) -> list[int]:
    """Return the groups that are done, after the one that would precede the shard's first."""
    shard = journal.plan.shard
    return [shard.group(-1), *sorted(journal.groups)]


def _range(first: int, last: int) -> str:
    return f"{GROUP * first} to {GROUP * (last + 1) - 1}"
