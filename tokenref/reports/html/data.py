"""The data of the HTML report: results files combined, and what the script of the page reads."""

import json
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from zlib import compress

import msgspec

from tokenref.errors import InvalidRunError
from tokenref.lessons import lesson
from tokenref.readable import readable_answer, readable_json
from tokenref.record import Case, op_of
from tokenref.reports.changes import Change
from tokenref.reports.results import (
    DIFFERENCES,
    LOOKS,
    CaseLine,
    EngineEntry,
    EngineLine,
    Results,
    options_again,
)
from tokenref.reports.summary import ordered
from tokenref.visible import visible

MOST_LINES: Final = 500_000
"""Maximum number of case lines in a page, because a browser loads all of them."""


@dataclass
class Column:
    """One engine of one results file."""

    entry: EngineEntry
    results: list[Results]
    """The files with its results: more than one if it was run in shards."""

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
        """The engine's totals in its files."""
        return [results.engines[self.entry.name] for results in self.results]


@dataclass(frozen=True)
class Gathered:
    """Everything that the report shows."""

    columns: list[Column]
    records: Mapping[str, Case]
    """The available records by id; some ids may have none."""

    ids: list[str]
    """The cases of all columns, in the order of the records."""

    def counts_by_op(self) -> dict[str, list[Counter[str]]]:
        """Return for each operation the number of cases by status with each engine."""
        counts = self._counts(lambda line: [line.op])
        return {op: counts[op] for op in ordered(counts)}

    def counts_by_flag(self) -> dict[str, list[Counter[str]]]:
        """Return for each flag of the records the number of cases by status with each engine."""
        flags = {name: record.flags for name, record in self.records.items()}
        return dict(sorted(self._counts(lambda line: flags.get(line.id, [])).items()))

    def _counts(self, groups: Callable[[CaseLine], Iterable[str]]) -> dict[str, list[Counter[str]]]:
        counts: dict[str, list[Counter[str]]] = defaultdict(
            lambda: [Counter() for _ in self.columns]
        )
        for at, column in enumerate(self.columns):
            for line in column.lines.values():
                for group in groups(line):
                    counts[group][at][line.status] += 1
        return counts


def gather(
    files: Sequence[Results], records: Mapping[str, Case], changes: Sequence[Change] = ()
) -> Gathered:
    """Combine files. The shards of an engine become one column.

    Raises `InvalidRunError` if two files have a result of the same engine for the same case, and if
    there are more results than a browser can load.
    """
    total = sum(results.footer.cases for results in files)
    if total > MOST_LINES:
        raise InvalidRunError(
            f"an HTML report can have at most {MOST_LINES:,} results, got {total:,}: select fewer"
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
                raise InvalidRunError(
                    f"{results.path}: {column.label} has a result for {line.id} in another file"
                )
            column.lines[line.id] = line
    for change in changes:
        for (name, _), column in columns.items():
            found = column.lines.get(change.id)
            if name == change.engine and change.now == (found and found.status):
                column.was[change.id] = change.was or ""
    seen = {name for column in columns.values() for name in [*column.lines, *column.was]}
    ids = [case_id for case_id in records if case_id in seen]
    return Gathered(list(columns.values()), records, ids + sorted(seen.difference(records)))


LETTERS: Final[Mapping[str, str]] = {
    **{status: look.letter for status, look in LOOKS.items()},
    "": ".",
}
"""One letter per status; a case without a result is a dot."""

_LONGEST_ANSWER: Final = 400
_LONGEST_QUESTION: Final = 300
_LONGEST_ANSWERED: Final = 100
"""Maximum length of questions without wrong answers, of which there are thousands."""


def page_data(gathered: Gathered, names: Mapping[str, str], pages: str) -> dict[str, object]:
    """Return the data of the page.

    `names` maps the digest of a vocabulary to its name. `pages` is the prefix that makes a
    record's `spec` a link; without it the `spec` is shown as text.
    """
    return {
        "pages": pages,
        "cases": [_case(case_id, gathered, names) for case_id in gathered.ids],
        "engines": [_engine(column, gathered.ids) for column in gathered.columns],
    }


def _case(case_id: str, gathered: Gathered, names: Mapping[str, str]) -> dict[str, object]:
    """Return the information about a case. Without a record only the id is known."""
    lines = [c.lines[case_id] for c in gathered.columns if case_id in c.lines]
    op = lines[0].op if lines else case_id.split("/")[1]
    case: dict[str, object] = {"id": visible(case_id), "op": visible(op)}
    record = gathered.records.get(case_id)
    if record is None:
        return case
    content = msgspec.to_builtins(record)
    differs = any(line.status in DIFFERENCES or line.remark for line in lines)
    longest = _LONGEST_QUESTION if differs else _LONGEST_ANSWERED
    case |= {
        "flags": [*map(visible, record.flags)],
        "profile": visible(record.profile),
        "spec": visible(record.spec),
        "lesson": lesson(op_of(record)),
        "subject": visible(names.get(record.vocab or "", "")),
        "why": visible(record.why),
        "question": readable_json(content["in"], longest),
    }
    if differs:
        expected = content["verdict"] if content["out"] is None else content["out"]
        case["answer"] = readable_json(expected, _LONGEST_ANSWER)
    return case


def _engine(column: Column, ids: Sequence[str]) -> dict[str, object]:
    """Return one engine's results. `was` maps indices of cases to statuses."""
    entry = column.entry
    lines = [column.lines.get(case_id) for case_id in ids]
    was = {
        at: LETTERS.get(column.was[case_id], ".")
        for at, case_id in enumerate(ids)
        if case_id in column.was
    }
    return {
        "name": visible(column.label),
        "again": [visible(part) for part in (entry.command, *(entry.again or [entry.name]))],
        "options": [visible(part) for part in options_again(column.results[0].header)],
        "statuses": "".join(LETTERS.get(line.status if line else "", "f") for line in lines),
        "details": [_said(line) if line else {} for line in lines],
        "known": {
            visible(known.title): [visible(known.reason), visible(known.link)]
            for results in column.results
            for known in results.header.differences
            if known.engine == entry.name
        },
        "was": was,
    }


def _said(line: CaseLine) -> dict[str, str]:
    """Return the parts of a result that are not empty."""
    parts = {
        "detail": line.detail,
        "stage": line.stage,
        "remark": line.remark,
        "ulp": "" if line.ulp is None else str(line.ulp),
        "known": line.known,
        "got": readable_answer(line.got, _LONGEST_ANSWER),
        "log": line.log,
    }
    return {name: visible(text) for name, text in parts.items() if text}


def compressed(value: object) -> str:
    """Return a value as JSON, compressed, in base64, which is safe inside a script element.

    >>> from base64 import b64decode
    >>> from zlib import decompress
    >>> decompress(b64decode(compressed({"a": "</script>"})))
    b'{"a": "</script>"}'
    """
    return b64encode(compress(json.dumps(value).encode(), 9)).decode()
