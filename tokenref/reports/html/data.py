"""The data of the HTML report: gathered from results files, in compact JSON that is safe to embed.

Texts are packed: a text that occurs more than once is stored once, and repeats are counted. The
script of the page unpacks them.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Final, TypeAlias

import msgspec

from tokenref.record import Case
from tokenref.reports import visible
from tokenref.reports.changes import Change
from tokenref.reports.readable import readable_answer, readable_json
from tokenref.reports.results import (
    DIFFERENCES,
    CaseLine,
    EngineEntry,
    EngineLine,
    Results,
    ResultsError,
    options_again,
)
from tokenref.reports.summary import ordered

MOST_LINES: Final = 300_000
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

    def counts(self) -> Counter[str]:
        """Return the number of cases by status."""
        return Counter(line.status for line in self.lines.values())


@dataclass(frozen=True)
class Gathered:
    """Everything that the report shows."""

    columns: list[Column]
    records: Mapping[str, Case]
    """The available records by id; some ids may have none."""

    ids: list[str]
    """The cases of all columns, in the order of the records."""


def gather(
    files: Sequence[Results], records: Mapping[str, Case], changes: Sequence[Change] = ()
) -> Gathered:
    """Combine files. The shards of an engine become one column.

    `changes` are the cases whose status changed.

    Raises `ResultsError` if two files have a result of the same engine for the same case, and if
    there are more results than a browser can load.
    """
    total = sum(results.footer.cases for results in files)
    if total > MOST_LINES:
        raise ResultsError(
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
    """Return for each operation the number of cases by status with each engine."""
    counts: dict[str, list[Counter[str]]] = defaultdict(
        lambda: [Counter() for _ in gathered.columns]
    )
    for at, column in enumerate(gathered.columns):
        for line in column.lines.values():
            counts[line.op][at][line.status] += 1
    return {op: counts[op] for op in ordered(counts)}


def counts_by_flag(gathered: Gathered) -> dict[str, list[Counter[str]]]:
    """Return for each flag of the records the number of cases by status with each engine."""
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


LETTERS: Final[Mapping[str, str]] = {
    "pass": "p",
    "fail": "f",
    "wrong_error": "w",
    "crash": "c",
    "timeout": "t",
    "xpass": "X",
    "xfail": "x",
    "unsupported": "u",
    "skip": "s",
    "not_run": "n",
}
"""One letter per status; a case without a result is a dot."""

GONE: Final = "."

COLUMNS: Final = (
    *("group", "slug", "op", "flags", "profile"),
    *("spec", "subject", "why", "question", "answer"),
)
"""The information about a case. Without a record only the id is known."""

_LONGEST_ANSWER: Final = 400
_LONGEST_QUESTION: Final = 300
_LONGEST_ANSWERED: Final = 100
"""Maximum length of questions without wrong answers, of which there are thousands."""


def page_data(gathered: Gathered, names: Mapping[str, str], pages: str) -> dict[str, object]:
    """Return the data of the page.

    `names` maps the digest of a vocabulary to its name. `pages` is the prefix that makes a
    record's `spec` a link; without it the `spec` is shown as text.
    """
    differing = {
        line.id
        for column in gathered.columns
        for line in column.lines.values()
        if line.status in DIFFERENCES or line.remark
    }
    texts = Numbered()
    columns: dict[str, list[str]] = {name: [] for name in COLUMNS}
    for case_id in gathered.ids:
        cells = _row(case_id, gathered, names, differs=case_id in differing)
        for column, cell in zip(columns.values(), cells, strict=True):
            column.append(cell)
    shared, cells_of = packed(columns)
    return {
        "pages": pages,
        "shared": shared,
        "columns": cells_of,
        "engines": [_engine(column, gathered.ids, texts) for column in gathered.columns],
        "texts": list(texts),
    }


def _row(case_id: str, gathered: Gathered, names: Mapping[str, str], *, differs: bool) -> list[str]:
    """Return the information about a case, in the order of `COLUMNS`."""
    record = gathered.records.get(case_id)
    lines = (c.lines[case_id] for c in gathered.columns if case_id in c.lines)
    op = next((line.op for line in lines), case_id.split("/")[1])
    group, _, slug = case_id.rpartition("/")
    row = [visible(group), visible(slug), visible(op)]
    if record is None:
        return row + [""] * (len(COLUMNS) - len(row))
    question = msgspec.to_builtins(record)["in"]
    return [
        *row,
        "\n".join(map(visible, record.flags)),
        visible(record.profile),
        visible(record.spec),
        visible(names.get(record.vocab or "", "")),
        visible(record.why),
        readable_json(question, _LONGEST_QUESTION if differs else _LONGEST_ANSWERED),
        _expected(record) if differs else "",
    ]


class Numbered:
    """Texts, numbered in the order of their first use.

    >>> texts = Numbered()
    >>> [texts["a"], texts["b"], texts["a"], list(texts)]
    [0, 1, 0, ['a', 'b']]
    """

    def __init__(self) -> None:
        """Start empty."""
        self._numbers: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        """Return the number of a text."""
        return self._numbers.setdefault(text, len(self._numbers))

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - an iterator of texts
        """Return the texts in the order of their numbers."""
        return iter(self._numbers)


def _engine(column: Column, ids: Sequence[str], texts: Numbered) -> dict[str, object]:
    """Return one engine's results."""
    statuses: list[str] = []
    places: dict[tuple[int, ...], list[int]] = defaultdict(list)
    was: dict[int, str] = {}
    for at, case_id in enumerate(ids):
        line = column.lines.get(case_id)
        statuses.append(GONE if line is None else LETTERS.get(line.status, "f"))
        if line is not None and (said := _said(line)):
            places[tuple(texts[text] for text in said)].append(at)
        if case_id in column.was:
            was[at] = LETTERS.get(column.was[case_id], GONE)
    entry = column.entry
    found: dict[str, object] = {
        "name": visible(column.label),
        "again": [visible(part) for part in entry.again or [entry.name]],
        "options": [visible(part) for part in options_again(column.results[0].header)],
        "statuses": lengths("".join(statuses)),
        "details": [[said, runs(at)] for said, at in places.items()],
        "known": {
            visible(known.title): [visible(known.reason), visible(known.link)]
            for results in column.results
            for known in results.header.differences
            if known.engine == entry.name
        },
    }
    if was:
        found["was"] = was
    return found


def _said(line: CaseLine) -> list[str]:
    """Return the parts of a result: detail, stage, remark, ulp, known, got, log."""
    said = [
        visible(line.detail),
        visible(line.stage),
        visible(line.remark),
        "" if line.ulp is None else str(line.ulp),
        visible(line.known),
        visible(readable_answer(line.got, _LONGEST_ANSWER)),
        visible(line.log),
    ]
    while said and not said[-1]:
        said.pop()
    return said


def _expected(record: Case) -> str:
    """Return the answer of a record, truncated to one line."""
    content = msgspec.to_builtins(record)
    if content["out"] is None:
        return readable_json(content["verdict"], _LONGEST_ANSWER)
    return readable_json(content["out"], _LONGEST_ANSWER)


def inert_json(value: object) -> str:
    r"""Return JSON that is safe inside a script element: it cannot end it or start a comment.

    >>> inert_json({"a": "</script><!-- \u2028"})
    '{"a":"\\u003c/script\\u003e\\u003c!-- \\u2028"}'
    """
    plain = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    return plain


Cell: TypeAlias = str | int | list[str | int]
"""A text, the number of a shared text, or the parts of a text. A negative number says how often
the previous cell is repeated."""

_SEAMS: Final = re.compile(r"(?<=[.:;,]) | (?=\()")
"""Where sentences are split: reasons share clauses far more often than whole sentences."""


def packed(columns: Mapping[str, Sequence[str]]) -> tuple[list[str], dict[str, list[Cell]]]:
    """Return the shared texts, and the columns. Parts of a text are joined with spaces.

    The script of the page does the reverse. The most frequent texts have the shortest numbers.

    >>> packed({"a": ["once", "It is so.", "It is so.", "It is so."], "b": ["It is so. Yes."]})
    (['It is so.'], {'a': ['once', 0, -2], 'b': [[0, 'Yes.']]})
    """
    counts: Counter[str] = Counter()
    for column in columns.values():
        for text, _ in groupby(column):
            counts.update(_SEAMS.split(text))
    shared = [text for text, times in counts.most_common() if times > 1 and len(text) > 1]
    numbers = {text: number for number, text in enumerate(shared)}
    return shared, {name: _cells(column, numbers) for name, column in columns.items()}


def _cells(column: Iterable[str], numbers: Mapping[str, int]) -> list[Cell]:
    cells: list[Cell] = []
    for text, group in groupby(column):
        cells.append(_cell(_SEAMS.split(text), numbers))
        if more := sum(1 for _ in group) - 1:
            cells.append(-more)
    return cells


def _cell(parts: Sequence[str], numbers: Mapping[str, int]) -> Cell:
    """Return the parts of a text; adjacent parts that are not shared are joined."""
    cell: list[str | int] = []
    for is_shared, group in groupby(parts, numbers.__contains__):
        if is_shared:
            cell += [numbers[part] for part in group]
        else:
            cell.append(" ".join(group))
    return cell[0] if len(cell) == 1 else cell


def runs(places: Sequence[int]) -> list[int]:
    """Return ascending indices as pairs: how many are skipped, how many follow.

    Thousands of cases are unsupported for the same reason, most of them adjacent.

    >>> runs([0, 1, 2, 7, 9])
    [0, 3, 4, 1, 1, 1]
    """
    found: list[int] = []
    end = 0
    for place in places:
        if found and place == end:
            found[-1] += 1
        else:
            found += [place - end, 1]
        end = place + 1
    return found


def lengths(letters: str) -> str:
    """Return the run-length encoding of letters.

    >>> lengths("pppfuu")
    'p3fu2'
    """
    counted = ((letter, sum(1 for _ in group)) for letter, group in groupby(letters))
    return "".join(chain.from_iterable((each, str(n) if n > 1 else "") for each, n in counted))
