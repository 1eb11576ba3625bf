"""What changed between two runs, and what can be said about several runs together."""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tokenref.answers import without_log
from tokenref.catalogue import Selection
from tokenref.judge import FAILURES
from tokenref.record import OWN_DRAW_OPS
from tokenref.reports.results import NO_ANSWER, UNJUDGED, Results, command_again, options_again

Kind: TypeAlias = Literal[
    "new failure",
    "new case fails",
    "unexpected pass",
    "lost answer",
    "another answer",
    "newly passing",
    "appeared",
    "disappeared",
    "other",
]

WORSE: Final[frozenset[Kind]] = frozenset(
    {"new failure", "new case fails", "unexpected pass", "lost answer"}
)
"""The kinds of changes that make a comparison fail."""


@dataclass(frozen=True)
class Change:
    """A case whose status or wrong answer changed. None means no result."""

    engine: str
    id: str
    was: str | None
    now: str | None
    detail: str = ""
    cause: str = ""
    """A sentence about the likely cause of a failure, or the known difference that covers it."""

    again: str = ""
    """The command that asks the case again."""

    answers: tuple[str, str] = ("", "")
    """The wrong answers before and now, as JSON, if both are wrong."""

    @property
    def kind(self) -> Kind:
        """The kind of change. An answer, even a wrong one, is lost if there is none now.

        A known difference that passes fails a run, but is no new failure of the engine.

        >>> Change("e", "bpe/count/a", "pass", "crash").kind
        'new failure'
        >>> Change("e", "bpe/count/a", "pass", "unsupported").kind
        'lost answer'
        """
        if self.now is None:
            return "disappeared"
        if self.now == self.was:
            return "another answer"
        if self.now == "xpass" and self.was not in FAILURES:
            return "unexpected pass"
        if self.now in FAILURES - {"xpass"} and self.was not in FAILURES - {"xpass"}:
            return "new failure" if self.was else "new case fails"
        if self.was is None:
            return "appeared"
        if self.was not in UNJUDGED and self.now in UNJUDGED:
            return "lost answer"
        if self.was not in NO_ANSWER and self.now in NO_ANSWER:
            return "lost answer"
        return "newly passing" if self.now == "pass" else "other"


def changes(old: Results, new: Sequence[Results], records: Container[str] = ()) -> Iterator[Change]:
    """Yield the changes, engine by engine. Engines are compared by name, whatever their version.

    A wrong answer that is another one now is a change, except for an engine's own random draws.

    Engines that are missing from the new results are left out; see `notes`. If only a part of the
    records was selected, cases that still have a record, in `records`, have not disappeared.
    """
    names = {entry.name for results in new for entry in results.header.engines}
    before: dict[str, dict[str, str]] = {name: {} for name in names}
    wrong: dict[tuple[str, str], str] = {}
    for line in old.cases():
        if line.engine in before:
            before[line.engine][line.id] = line.status
            if line.got and line.op not in OWN_DRAW_OPS:
                wrong[line.engine, line.id] = line.got
    gone = {name: set(cases) for name, cases in before.items()}
    for results in new:
        entries = {entry.name: entry for entry in results.header.engines}
        options = options_again(results.header)
        for line in results.cases():
            was = before[line.engine].get(line.id)
            gone[line.engine].discard(line.id)
            answers = wrong.get((line.engine, line.id), line.got), line.got
            is_other = line.got and answers[0] != line.got
            if was != line.status or is_other:
                cause = results.engines[line.engine].causes.get(line.cause, line.cause)
                cause = cause or (f"the listed {line.known!r}" if line.known else "")
                again = command_again(entries[line.engine], line.id, options)
                now, detail = line.status, line.detail
                yield Change(line.engine, line.id, was, now, detail, cause, again, answers)
    whole = {name for results in new if not selecting(results) for name in results.engines}
    for name, ids in gone.items():
        for case_id in sorted(ids):
            if name in whole or case_id not in records:
                yield Change(name, case_id, before[name][case_id], None)


def selecting(results: Results) -> list[str]:
    """Return the options that selected a part of the records."""
    return [name for name in results.header.selection if name in Selection().named()]


ONLY_IDS: Final = "of answers to tokenize, only the ids were compared, no tokens, offsets or masks"


def warnings(files: Sequence[Results]) -> list[str]:
    """Return why runs ended before any engine was run, and of which engines only ids were compared.

    They are at the top of every report.
    """
    found = [results.header.trouble for results in files]
    lines = [line for results in files for line in results.engines.values()]
    names = ", ".join(dict.fromkeys(line.engine for line in lines if line.only_ids))
    about = [f"{names}: {ONLY_IDS}"] if names else []
    return [*(f"the run is invalid: {trouble}" for trouble in found if trouble), *about]


def contradictions(files: Sequence[Results]) -> list[str]:
    """Return a sentence for each engine of which two files say different things about cases."""
    seen: dict[tuple[str, str, str], tuple[str, Results]] = {}
    found: dict[tuple[str, ...], list[str]] = {}
    runs = Counter((entry.name, entry.version) for each in files for entry in each.header.engines)
    for results in files:
        versions = {entry.name: entry.version for entry in results.header.engines}
        if all(runs[pair] == 1 for pair in versions.items()):
            continue
        for line in results.cases():
            key = (line.engine, versions[line.engine], line.id)
            status, first = seen.setdefault(key, (line.status, results))
            if status != line.status:
                example = f"{line.id}: {status} and {line.status}"
                pair = (str(first.path), str(results.path))
                found.setdefault((*key[:2], *pair), []).append(example)
    return [
        f"{one} and {other} contradict each other about {name} {version}: "
        f"{len(examples):,} case{' has' if len(examples) == 1 else 's have'} another status, "
        f"for example {examples[0]}"
        for (name, version, one, other), examples in found.items()
    ]


def notes(old: Results, new: Sequence[Results]) -> list[tuple[str, int]]:
    """Return sentences about the comparison, each with the exit code that it calls for.

    It is 3 if the runs cannot be compared, and 1 if an engine is missing now, or for failures of an
    engine that belong to no case, if the old run has none. They contain numbers, so another wording
    may be the same failure.
    """
    found: list[tuple[str, int]] = []
    for results in new:
        for name, line in results.engines.items():
            found += [(f"{name}: the run is invalid: {trouble}", 3) for trouble in line.trouble]
            before = [*map(without_log, old.engines[name].incidents if name in old.engines else ())]
            more = [each for each in map(without_log, line.incidents) if each not in before]
            found += [(f"{name}: {incident}", int(not before)) for incident in more]
    if parts := sorted({name for results in new for name in selecting(results)}):
        chosen = f"only a part of the records was selected (--{', --'.join(parts)})"
        found.append((f"{chosen}: the others of {old.path} are not compared", 0))
    was = {entry.name for entry in old.header.engines}
    now = {entry.name for results in new for entry in results.header.engines}
    if not old.footer.complete:
        found.append((f"{old.path} is from an invalid run, so it says nothing about changes", 3))
    if was and now and not was & now:
        found.append(("the runs have no engine in common, so they cannot be compared", 3))
    lost = "so all its answers are lost"
    found += [(f"{name} is only in {old.path}, {lost}", 1) for name in sorted(was - now)]
    found += [(f"{name} is not in {old.path}", 0) for name in sorted(now - was)]
    fixtures = {results.header.fixtures or results.header.records for results in [old, *new]}
    if len(fixtures) > 1:
        versions = [results.header.fixtures_version for results in (old, *new)]
        of_which = f": fixtures {' and '.join(versions)}" if all(versions) else ""
        found.append((f"the runs are over different records{of_which}", 0))
    return found
