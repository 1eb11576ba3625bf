"""The HTML page: a strict content policy, tables that work without scripts, data, one script."""

import os
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tokenref.catalogue import Catalogue
from tokenref.glossary import FLAGS
from tokenref.record import OPERATIONS
from tokenref.record_files import FixturePath
from tokenref.reports.changes import Change
from tokenref.reports.html.data import Column, Gathered, compressed, gather, page_data
from tokenref.reports.html.matrix import differences_link, failures, table
from tokenref.reports.results import Results, judged
from tokenref.visible import visible

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
    names = {entry.digest: entry.name for entry in catalogue.manifest.subjects}
    data = page_data(gathered, names, pages and f"{pages.removesuffix('/')}/")
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
        "whose": "an engine" if len(gathered.columns) == 1 else "engines",
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
    # Split first, so that inserted texts are never searched for placeholders.
    pieces = text.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)


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
        ("only", dict.fromkeys(f"--{name} {' '.join(values)}" for name, values in chosen)),
        ("shard", sorted({header.shard for header in headers})),
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
    others += [f"stale: {sentence}" for sums in column.sums for sentence in sums.stale]
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
