"""What the page's list needs, as compact as JSON can be, and inert whatever text is in it."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tokenref.record import Case
from tokenref.reports.html.gathering import Column, Gathered
from tokenref.reports.html.packing import lengths, packed, runs
from tokenref.reports.readable import readable_answer, readable_json
from tokenref.reports.results import DIFFERENCES, CaseLine, options_again
from tokenref.reports.short import visible

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
"""One letter per status: a case of one engine is one character, and a dot if it has no result."""

GONE: Final = "."

COLUMNS: Final = (
    *("group", "slug", "op", "flags", "profile"),
    *("spec", "subject", "why", "question", "answer"),
)
"""What there is to say of a case. Without a record there is only what its id says."""

_LONGEST_ANSWER: Final = 400
_LONGEST_QUESTION: Final = 300
_LONGEST_ANSWERED: Final = 100
"""Characters of a question that nobody answers wrongly: there are thousands of them."""


def page_data(gathered: Gathered, names: Mapping[str, str], pages: str) -> dict[str, object]:
    """Return the data of the page.

    `names` gives the name of a vocabulary by its digest. `pages` is what a
    record's `spec` is put behind to be a link; empty: it is text.
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
    """Return what there is to say of a case, in the order of `COLUMNS`."""
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
    """Texts, each with the number of its first use.

    >>> texts = Numbered()
    >>> [texts["a"], texts["b"], texts["a"], list(texts)]
    [0, 1, 0, ['a', 'b']]
    """

    def __init__(self) -> None:
        """Start without any."""
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
    """Return what there is to say of a result: detail, stage, remark, ulp, known, got, log."""
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
    """Return the answer of a record, as far as a line holds it."""
    content = msgspec.to_builtins(record)
    if content["out"] is None:
        return readable_json(content["verdict"], _LONGEST_ANSWER)
    return readable_json(content["out"], _LONGEST_ANSWER)


def inert_json(value: object) -> str:
    r"""Return JSON that may stand in a script element: it cannot end it, nor start a comment.

    >>> inert_json({"a": "</script><!-- \u2028"})
    '{"a":"\\u003c/script\\u003e\\u003c!-- \\u2028"}'
    """
    plain = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    return plain
