"""A table of counts: a row per operation or flag, a column per engine, and each number a link."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final
from urllib.parse import urlencode

from tokenref.judge import FAILURES
from tokenref.reports.results import LOOKS, judged
from tokenref.visible import visible

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
