"""The failures of results files as a new list of known differences, without the reasons."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from tokenref.answers import without_log
from tokenref.catalogue import Selection
from tokenref.diagnosis.facts import DIFFERS
from tokenref.judge import FAILURES
from tokenref.known import Known, is_own
from tokenref.reports.results import CaseLine, Results, distinct
from tokenref.result import fault_of, without_values
from tokenref.visible import visible

_NOT_SEEN: Final = frozenset({"", "not_run", "unsupported"})
"""The statuses of cases that say nothing about a difference."""

UNEXPLAINED: Final = "TODO: why?"
"""The reason of an entry that nobody has explained yet."""


def known_list(
    files: Sequence[Results], known: Sequence[Known] = (), records: Iterable[str] = ()
) -> tuple[bytes, list[Known], list[Known], int]:
    """Return the failures as a list of known differences, the old entries in it, and how many new.

    The list begins with the entries of an older one, `known`, without what does not differ any
    more. Cases without a result still differ if their ids are in `records`, and after a run of a
    part also others. So does a pattern whose cases were not answered. The second list has the
    entries of which no case was run. There is a new entry for each engine, likely cause (else
    operation) and status of other failures. Its reason is `UNEXPLAINED`, which is too short: the
    list is refused until somebody has written reasons. So has each fault that is an incident.
    Failures of operations whose answers differ have none: another run fails others.
    """
    groups: dict[tuple[str, str, str], list[CaseLine]] = {}
    says: dict[str, str] = {}
    kept, not_run = list(known), list(known)
    for results in files:
        says |= {
            name: said for sums in results.engines.values() for name, said in sums.causes.items()
        }
        statuses = {entry.name: dict.fromkeys(records, "") for entry in results.header.engines}
        for line in results.cases():
            statuses[line.engine][line.id] = line.status
            if line.status in FAILURES - {"xpass"}:
                title = line.cause or f"{line.op}, no known cause"
                if DIFFERS not in title:  # otherwise the next run fails others
                    groups.setdefault((line.engine, title, line.status), []).append(line)
        is_part = bool({*Selection().named(), "records"} & results.header.selection.keys())
        for entry in results.header.engines:
            of_engine = statuses[entry.name]
            run = [name for name, status in of_engine.items() if status not in _NOT_SEEN]
            not_run = [
                each
                for each in not_run
                if not each.is_about(entry.name, entry.version)
                or not any(each.covers(entry.name, name) for name in run)
            ]
            kept = [
                _without_passing(each, of_engine, is_part=is_part)
                if each.is_about(entry.name, entry.version)
                else each
                for each in kept
            ]
    kept = [each for each in kept if each.cases]
    not_run = [each for each in not_run if each in kept and each.status != "incident"]
    parts = [_entry(each) for each in kept]
    for (engine, title, status), lines in sorted(groups.items(), key=lambda each: len(each[1])):
        first = lines[0]
        new = Known(
            title=title if status in {"fail", title.partition(":")[0]} else f"{title} ({status})",
            engine=engine,
            cases=[line.id for line in lines],
            status=status,  # type: ignore[arg-type]  # one of FAILURES except for xpass
            reason=UNEXPLAINED,
        )
        parts.append(
            f"# {visible(says.get(title, f'{title}: {len(lines):,}'))}.\n"
            f"# For example {visible(first.id)}: {visible(first.detail)}\n{_entry(new)}"
        )
    faults = _faults(files)
    for (engine, pattern), (happened, said) in faults.items():
        new = Known(
            title=f"{happened}, now and then",
            engine=engine,
            cases=[pattern],
            status="incident",
            reason=UNEXPLAINED,
        )
        parts.append(f"# For example: {visible(without_log(said))}\n{_entry(new)}")
    count = len(groups) + len(faults)
    return "\n".join(parts or ["known = []\n"]).encode(), kept, not_run, count


def _faults(files: Sequence[Results]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return what happened and an incident of each fault, by the engine and a pattern for all."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for results in files:
        for name, sums in results.engines.items():
            for said in sums.incidents:
                happened, words = fault_of(said)
                if happened:
                    found.setdefault((name, _pattern_of(happened, words)), (happened, said))
    return found


def _pattern_of(*parts: str) -> str:
    """Return a pattern for all incidents of one fault.

    >>> _pattern_of("it ended", "; on standard error: 'no GPU 1'")
    '*it ended*; on standard error: ?no GPU **'
    """
    said = "*".join(without_values(part, None) for part in parts if part)
    return f"*{re.sub('[][?]', '?', said).replace('error: ', 'error: ?')}*"


def _without_passing(entry: Known, statuses: Mapping[str, str], *, is_part: bool) -> Known:
    """Return an entry whose patterns match only cases that differ as it says, or may do so.

    A pattern that matches others, too, is replaced by the ids of those that differ. One that
    matches nothing says nothing if only a part was run, or if it is about the user's own records.
    """
    if entry.status == "incident":
        return entry
    cases: list[str] = []
    for glob in entry.cases:
        found = {name: status for name, status in statuses.items() if fnmatchcase(name, glob)}
        differ = [name for name, status in found.items() if status in {"xfail", "not_run", ""}]
        may_differ = not found and (is_part or is_own(glob))
        keeps = may_differ or not {"xfail", *_NOT_SEEN}.isdisjoint(found.values())
        cases += differ if FAILURES & {*found.values()} else [glob] * keeps
    return msgspec.structs.replace(entry, cases=distinct(cases))


def _entry(entry: Known) -> str:
    """Return an entry of a list of known differences."""
    lines = ["[[known]]"]
    for key, value in msgspec.to_builtins(entry).items():
        if isinstance(value, str):
            lines.append(f"{key} = {_toml(value)}")
        else:
            lines += [f"{key} = [", *(f"    {_toml(each)}," for each in value), "]"]
    return "\n".join([*lines, ""])


def _toml(text: str) -> str:
    """Return a text without lone surrogates as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
