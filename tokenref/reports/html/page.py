"""One static HTML file with all results, to browse and search.

It has a strict content policy, tables that work without scripts, the data, and one script, which
turns the numbers in the tables into links.
"""

import json
import os
import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit
from zlib import compress

import msgspec

from tokenref.catalogue import CANARY, Catalogue
from tokenref.errors import InvalidRunError
from tokenref.judge import FAILURES
from tokenref.operations import ABOUT, FLAGS
from tokenref.readable import readable_answer, readable_json
from tokenref.record import OPERATIONS, Case, op_of
from tokenref.record_files import FixturePath
from tokenref.reports.changes import Change
from tokenref.reports.results import (
    LOOKS,
    CaseLine,
    EngineEntry,
    EngineLine,
    Results,
    judged,
    options_again,
)
from tokenref.reports.terminal import ordered
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
    """Combine files. The shards of an engine become one column, and so do its own records.

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
            if line.id in column.lines and not line.id.startswith(CANARY):
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
    **{status: shown.letter for status, shown in LOOKS.items()},
    "": ".",
}
"""One letter per status; a case without a result is a dot."""

DIFFERENCES: Final = frozenset({*FAILURES, "xfail"})
"""The statuses of cases whose answer differs from the record, or is expected to differ."""

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
        "lesson": ABOUT[op_of(record)].lesson,
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


# ---- tables of counts

_BREAKS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=_)")
"""Where a name may wrap on a narrow screen: `Byte|Order`, `top_|k`."""

_LONG: Final = 25
"""A table with more rows than this is long."""


def table(
    kind: str,
    counts: Mapping[str, Sequence[Counter[str]]],
    engines: Sequence[str],
    about: Mapping[str, str],
) -> str:
    """Return the table. `kind` is "op" or "flag"; `about` explains each row.

    Rows without differences can be hidden. In a long table they are hidden at first.
    """
    head = "".join(f'<th scope="col">{_spaced(name)}</th>' for name in engines)
    rows = [_row(kind, name, row, about.get(name, "")) for name, row in counts.items()]
    title = {"op": "operation", "flag": "flag"}[kind]
    differing = sum(map(_differs, counts.values()))
    checked = " checked" if differing and len(rows) > _LONG else ""
    return (
        f'<label class="only"><input type="checkbox"{checked}> '
        f"only rows with differences ({differing:,} of {len(rows):,})</label>"
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{kind}-title">'
        f'<table class="matrix" data-kind="{kind}">'
        f'<thead><tr><th scope="col">{title}</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(kind: str, name: str, row: Sequence[Counter[str]], about: str) -> str:
    """Return a row. The script turns its cells into links: without it there is no list."""
    cells = "".join(map(_cell, row))
    quiet = "" if _differs(row) else ' class="quiet"'
    parts = _BREAKS.split(visible(name))
    link = _link({kind: name}, "<wbr>".join(map(escape, parts)), escape(visible(about)))
    return f'<tr{quiet}><th scope="row">{link}</th>{cells}</tr>'


def _differs(row: Sequence[Counter[str]]) -> bool:
    return any(map(_differences, row))


def _cell(counts: Counter[str]) -> str:
    if not counts.total():
        return "<td></td>"
    return f'<td class="{look(counts)}" title="{_words(counts)}">{_signs(counts)}</td>'


def _signs(counts: Counter[str]) -> str:
    """Return the content of a cell: a sign and a number, so that it does not depend on colour."""
    if differences := _differences(counts):
        return f"{differences}<small>of {judged(counts):,}</small>"
    return f"✓ {counts['pass']:,}" if judged(counts) else "·"


def _differences(counts: Counter[str]) -> str:
    failed, known = failures(counts), counts["xfail"]
    signs = [f"<b>✗ {failed:,}</b>"] * bool(failed) + [f"≠ {known:,}"] * bool(known)
    return " ".join(signs)


def _words(counts: Counter[str]) -> str:
    return ", ".join(
        f"{counts[status]:,} {look.words}" for status, look in LOOKS.items() if counts[status]
    )


def differences_link(op: str, engine: str, counts: Counter[str]) -> str:
    """Return a link to an engine's differences in an operation."""
    status = "failures" if failures(counts) else "differences"
    said = escape(f"{visible(engine)}, {visible(op)}: {_words(counts)}")
    shown = f'<span aria-hidden="true">{escape(visible(op))} {_differences(counts)}</span>'
    filters = {"engine": engine, "op": op, "status": status}
    return _link(filters, f'{shown}<i class="said">{said}</i>')


def look(counts: Counter[str]) -> str:
    """Return the class of a cell.

    >>> look(Counter({"pass": 5, "fail": 1})), look(Counter({"pass": 5})), look(Counter())
    ('bad', 'good', 'none')
    """
    if failed := failures(counts):
        return "bad much" if 4 * failed > judged(counts) else "bad"
    if counts["xfail"]:
        return "known"
    return "good" if counts["pass"] else "none"


def failures(counts: Counter[str]) -> int:
    """Return the number of cases that make the run fail.

    >>> failures(Counter({"pass": 5, "fail": 1, "xpass": 1}))
    2
    """
    return sum(counts[status] for status in FAILURES)


def _link(filters: Mapping[str, str], content: str, title: str = "") -> str:
    """Return a link that filters the list. `content` and `title` are already escaped."""
    target = escape(urlencode({key: visible(value) for key, value in filters.items()}))
    hint = f' title="{title}"' if title else ""
    return f'<a href="#{target}"{hint}>{content}</a>'


def _spaced(name: str) -> str:
    """Return an engine's name and version, the version on its own line."""
    front, _, behind = visible(name).rpartition(" ")
    return f"{escape(front)}<small>{escape(behind)}</small>" if front else escape(behind)


# ---- the page

_RESOURCES: Final = files("tokenref.reports.html")

_SCRIPTS: Final = ("unpack", "matrix", "page")

_BAR: Final = 1000
"""Length of a bar, in units."""

_WORST: Final = 4
"""How many operations an engine's card lists."""


def html_report(
    results: Sequence[Results],
    catalogue: Catalogue,
    *,
    notes: Sequence[str] = (),
    pages: str = "",
    changes: Sequence[Change] | None = None,
) -> bytes:
    """Return the page.

    `catalogue` contains the records. `notes` are sentences for the top of the page, `pages` is the
    address of the folder that contains `docs/`, for links to what records cite. With `changes` the
    list starts with those. Raises `InvalidRunError` for more results than a browser can load, and
    `ValueError` for an invalid address.
    """
    if not is_address(pages):
        raise ValueError(
            f"the address of the pages must be a path or an http(s) address, got {pages!r}"
        )
    gathered = gather(results, catalogue.records, changes or ())
    data = page_data(gathered, catalogue.names, pages and f"{pages.removesuffix('/')}/")
    data["compared"] = changes is not None
    unavailable = {
        f"{name} is unavailable: {reason}": None
        for each in results
        for name, reason in each.header.unavailable.items()
    }
    return render(gathered, data, [*notes, *unavailable]).encode("utf-8")


def render(gathered: Gathered, data: dict[str, object], notes: Sequence[str]) -> str:
    """Return the text of the page. `data` is the content of its list."""
    style = _RESOURCES.joinpath("page.css").read_text(encoding="utf-8")
    script = "".join(
        _RESOURCES.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS
    )
    labels = [column.label for column in gathered.columns]
    flags = {name: f"{flag.description} {flag.effect}" for name, flag in FLAGS.items()}
    by_op, by_flag = gathered.counts_by_op(), gathered.counts_by_flag()
    parts = {
        "policy": (
            "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
            f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
        ),
        "style": style,
        "script": script,
        "data": compressed(data),
        "title": escape(_title(gathered)),
        "notes": "".join(f'<p class="note">{escape(visible(note))}</p>' for note in notes),
        "about": escape(visible(_about(gathered))),
        "cards": "".join(
            _card(column, {op: row[at] for op, row in by_op.items()})
            for at, column in enumerate(gathered.columns)
        ),
        "whose": "an engine answers" if len(gathered.columns) == 1 else "engines answer",
        "list": _list_of_differences(str(data["pages"])),
        "ops-open": _open_if_short(by_op),
        "flags-open": _open_if_short(by_flag),
        "ops": table(
            "op",
            by_op,
            labels,
            {op: f"Asks {OPERATIONS[op].about}." for op in by_op if op in OPERATIONS},
        ),
        "flags": table("flag", by_flag, labels, flags),
    }
    text = _RESOURCES.joinpath("page.html").read_text(encoding="utf-8")
    # One pass, so that inserted texts are never searched for placeholders.
    return re.sub(r"\{\{([a-z-]+)\}\}", lambda found: parts[found[1]], text)


_FEW_ROWS: Final = 12
"""A table with more rows is folded, so that the cases are not far below the engines."""


def _open_if_short(rows: Sized) -> str:
    """Return the attribute that unfolds a table."""
    return " open" if len(rows) <= _FEW_ROWS else ""


def _list_of_differences(pages: str) -> str:
    """Return a link to the list of known differences, if it is known where the pages are."""
    name = "list of known differences"
    if not pages:
        return name
    return f'<a href="{escape(pages)}docs/differences.md" rel="noopener noreferrer">{name}</a>'


def _hash(content: str) -> str:
    """Return the policy's source expression that allows exactly this content."""
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _title(gathered: Gathered) -> str:
    engines, cases = len(gathered.columns), len(gathered.ids)
    what = visible(gathered.columns[0].label) if engines == 1 else f"{engines} engines"
    return f"{what} on {cases:,} golden record{'s' * (cases != 1)}"


def _about(gathered: Gathered) -> str:
    headers = [results.header for column in gathered.columns for results in column.results]
    chosen = [option for header in headers for option in header.selection.items()]
    parts: list[str] = []
    for what, found in (
        ("Judged by tokenref", sorted({header.tokenref for header in headers})),
        ("fixtures", sorted({f"{h.fixtures_version} {h.fixtures[:19]}".strip() for h in headers})),
        ("only", dict.fromkeys(" ".join((f"--{name}", *values)) for name, values in chosen)),
    ):
        shown = ", ".join(filter(None, found))
        if shown or not parts:
            parts.append(f"{what} {shown}".strip())
    return "; ".join(parts) + "."


def _card(column: Column, by_op: Mapping[str, Counter[str]]) -> str:
    """Return an engine's result in a few words, a bar, and the operations that differ most."""
    counts = sum(by_op.values(), Counter[str]())
    failed, known, asked = failures(counts), counts["xfail"], judged(counts)
    trouble = [sentence for sums in column.sums for sentence in sums.trouble]
    others = [sentence for sums in column.sums for sentence in sums.incidents]
    others += [
        f"a known difference did not occur: {each}" for sums in column.sums for each in sums.stale
    ]
    if trouble:
        state, sentence = "bad", "✗ the run is invalid"
    elif failed:
        state, sentence = "bad", f"✗ {failed:,} failure{'s' * (failed != 1)}"
    elif others:
        state, sentence = "bad", "✗ fails, but no single case does"
    elif not asked:
        state, sentence = "none", "· no cases were run"
    elif known:
        state, sentence = "known", f"≠ {known:,} known difference{'s' * (known != 1)}"
    else:
        state, sentence = "good", "✓ all cases pass"
    rest = [f"{counts['pass']:,} of {asked:,} pass"]
    if failed and known:
        rest.append(f"{known:,} differ as known")
    if unjudged := counts.total() - asked:
        rest.append(f"{unjudged:,} not run")
    worst = sorted(by_op, key=lambda op: (-failures(by_op[op]), -by_op[op]["xfail"]))[:_WORST]
    where = "".join(
        differences_link(op, column.label, by_op[op])
        for op in worst
        if failures(by_op[op]) or by_op[op]["xfail"]
    )
    more = f'<p class="where">{where}</p>' if where else ""
    others += [f"{sentence}." for sums in column.sums for sentence in sums.causes.values()]
    for each in [*trouble, *others]:
        more += f'<p class="bad">{escape(visible(each))}</p>'
    name = escape(visible(column.entry.name))
    version = escape(visible(column.entry.version))
    return (
        f'<li class="card {state}"><h3>{name} <small>{version}</small></h3>'
        f"<p><b>{sentence}</b></p>{_bar(counts)}<p>{'; '.join(rest)}</p>{more}</li>"
    )


def _bar(counts: Counter[str]) -> str:
    """Return a bar of shares, which the text next to it repeats."""
    total = counts.total() or 1
    shares = (
        ("bad", failures(counts)),
        ("known", counts["xfail"]),
        ("good", counts["pass"]),
        ("none", counts.total() - judged(counts)),
    )
    rects, at = [], 0
    for look, count in shares:
        if count:
            width = max(8, count * _BAR // total)
            rects.append(f'<rect class="{look}" x="{at}" width="{width}" height="8"/>')
            at += width
    return (
        f'<svg class="bar" viewBox="0 0 {max(at, 1)} 8" preserveAspectRatio="none" '
        f'aria-hidden="true">{"".join(rects)}</svg>'
    )


def is_address(pages: str) -> bool:
    """Return whether links may use this address: a path, http or https.

    >>> is_address("../"), is_address("javascript:alert(1)")
    (True, False)
    """
    return urlsplit(pages).scheme in {"", "http", "https"}


def pages_beside(html: Path, fixtures: FixturePath) -> str:
    """Return the path from a report to the folder above `docs/`, or an empty string."""
    if not isinstance(fixtures, Path):
        return ""
    root = fixtures.resolve().parent
    if not (root / "docs" / "bpe.md").is_file():
        return ""
    return Path(os.path.relpath(root, html.resolve().parent)).as_posix() + "/"
