"""The pages that are written from what real engines answer, and whether they are up to date."""

import json
import re
import tempfile
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from authoring.attestation.engines import SAMPLERS, AttestationError
from authoring.attestation.records_page import records_page
from authoring.attestation.unconfirmed import unconfirmed_page
from tokenref.catalogue import CANARY, Catalogue
from tokenref.floats import TYPES, type_of
from tokenref.known import Known
from tokenref.record import Case
from tokenref.record_files import manifest_digest
from tokenref.reports.html.page import html_report
from tokenref.reports.results import UNJUDGED, dump_report, read_results
from tokenref.runner import Run

SHARED: Final = ("README.md", "docs/gpu.md")
"""Pages that people write, too."""

REPORT: Final = "docs/report.html"


def pages(
    runs: Sequence[Run], catalogue: Catalogue, known: Sequence[Known], there: Callable[[str], str]
) -> dict[str, bytes]:
    """Return the content of every page that is written from the runs, by its path.

    Canaries, whose answers are wrong, are counted on none of them.

    `there` gives the text of a page that is written by people, too, by its path. Raises
    `AttestationError` for one without a place for its table.
    """
    runs = [without_canaries(run) for run in runs]
    return {
        "README.md": with_tables(there("README.md"), runs, catalogue).encode(),
        "docs/differences.md": differences_page(known, runs).encode(),
        "docs/records.md": records_page(catalogue.cases).encode(),
        "docs/unconfirmed.md": unconfirmed_page(runs, catalogue, known).encode(),
        "docs/gpu.md": with_processor(there("docs/gpu.md"), runs).encode(),
        REPORT: report_page(runs, catalogue, known),
    }


def without_canaries(run: Run) -> Run:
    """Return a run with its records only."""
    results = [result for result in run.results if not result.case.id.startswith(CANARY)]
    return replace(run, results=results, selected=len(results))


def says_the_same(path: str, page: bytes, other: bytes) -> bool:
    """Return whether a page that is there says what it would say if it were written now.

    >>> says_the_same("README.md", b"3 agree", b"2 agree")
    False
    """
    if page == other:
        return True
    return path == REPORT and without_answers(page) == without_answers(other)


_HEAD = """\
# Where real engines differ

This page lists all known differences between real engines and the golden records, from
`tokenref/known.toml`. The list is strict: if a listed record passes, the run fails, so an
entry cannot outlive its difference. Written by `python -m authoring attest`.

The list for your own engine [has the same rules](ci.md#list-what-your-engine-does-differently).
"""


def differences_page(known: Sequence[Known], runs: Sequence[Run]) -> str:
    """Return the page."""
    lines = [_HEAD]
    for run in runs:
        entries = [entry for entry in known if entry.engine == run.engine]
        if not entries:
            lines += [f"## {run.engine} {run.version}", "", "No differences are known.", ""]
        # Of several entries that match a record the first one counts.
        ids: dict[str, list[str]] = {entry.title: [] for entry in entries}
        for result in run.results:
            if result.judgement.status == "xfail":
                case_id = result.case.id
                title = next(e.title for e in entries if e.covers(run.engine, case_id))
                ids[title].append(case_id)
        for entry in entries:
            found = ids[entry.title]
            example = f", for example `{found[0]}`" if found else ""
            records = f"{len(found):,} record{'s' * (len(found) != 1)}"
            lines += [
                f"## {run.engine} {run.version}: {entry.title}",
                "",
                entry.reason,
                "",
                f"{records} ({entry.status}){example}. See <{entry.link}>.",
                "",
            ]
    return "\n".join(lines).rstrip() + "\n"


PAGES: Final = "../"
"""Where the pages that records cite are, seen from `docs/`."""

_DATA: Final = re.compile(
    rb'(?<=<script type="application/json" id="data">)(.*?)(?=</script>)', re.DOTALL
)


def _of_its_kind(run: Run) -> Run:
    """Return a run without the records that need a vocabulary, or without the others."""
    is_sampler = run.engine in SAMPLERS
    results = [result for result in run.results if (result.case.vocab is None) == is_sampler]
    return replace(run, results=results, selected=len(results))


def report_page(runs: Sequence[Run], catalogue: Catalogue, known: Sequence[Known]) -> bytes:
    """Return the page of all results. Times are not in it.

    A tokenizer has no results about samplers there, and a sampler none about tokenizers: a browser
    can load only so many.
    """
    runs = [_of_its_kind(run) for run in runs]
    manifest = catalogue.manifest
    about = {"fixtures": manifest_digest(manifest), "fixtures_version": manifest.version}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        path.write_bytes(dump_report(runs, about, known))
        return html_report([read_results(path)], catalogue, pages=PAGES)


def without_answers(page: bytes) -> bytes:
    """Return such a page without what engines said in their own words and numbers.

    That may differ from one machine to the next where the verdict does not: the sign of a NaN,
    the last bit of a logarithm, the message of a panic.
    """
    found = _DATA.search(page)
    if found is None:
        return page
    try:
        data = json.loads(zlib.decompress(b64decode(found.group())))
        for engine in data["engines"]:
            del engine["details"]
    except (ValueError, KeyError, TypeError, zlib.error):
        return page  # written by somebody else, and certainly another page
    return page[: found.start()] + json.dumps(data).encode() + page[found.end() :]


END_MARK: Final = "<!-- end -->"


def with_part(name: str, page: str, start: str, lines: Sequence[str]) -> str:
    r"""Return a page with the part replaced that begins with the mark `start`.

    Raises `AttestationError`, which names the page, if it has no such part.

    >>> with_part("page", "a\n<!-- b -->\nold\n<!-- end -->\nc", "<!-- b -->", ["new"])
    'a\n<!-- b -->\n\nnew\n<!-- end -->\nc'
    """
    begin = page.find(start)
    end = page.find(END_MARK, begin)
    if begin < 0 or end < 0:
        raise AttestationError(f"{name} must hold the line {start} and, later, {END_MARK}")
    return page[:begin] + "\n".join([start, "", *lines, END_MARK]) + page[end + len(END_MARK) :]


VOCABULARIES: Final = ("cl100k_base", "o200k_base")
"""The vocabularies that have a column of their own."""

TABLES_MARK: Final = "<!-- what real engines say: written by `python -m authoring attest` -->"

_COUNTED: Final[Sequence[tuple[str, AbstractSet[str]]]] = (
    ("agree", frozenset({"pass"})),
    ("known differences", frozenset({"xfail"})),
    ("not tested", UNJUDGED),
)
"""An engine that fails a record otherwise is never written down: `attest` refuses."""


def with_tables(readme: str, runs: Sequence[Run], catalogue: Catalogue) -> str:
    """Return the README with its tables replaced. Raises `AttestationError` if it has no place."""
    return with_part("README.md", readme, TABLES_MARK, _tables(runs, catalogue))


def _tables(runs: Sequence[Run], catalogue: Catalogue) -> list[str]:
    names = [name for name, _ in _COUNTED]
    numbers = " ---: |" * (len(names) + 1)
    columns = [*names, *(f"`{name}`" for name in VOCABULARIES)]
    tokenizers = [
        f"| tokenizer | records | {' | '.join(columns)} |",
        f"| --- |{numbers}{' ---: |' * len(VOCABULARIES)}",
    ]
    samplers = [f"| sampler | records | {' | '.join(names)} |", f"| --- |{numbers}"]
    for run in runs:
        label = f"{run.engine} {run.version}"
        if run.engine in SAMPLERS:
            samplers.append(f"| {label} | {_cells(run, lambda case: case.vocab is None)} |")
            continue
        cells = [_cells(run, lambda case: case.vocab is not None)]
        cells += [_in_short(run, _of_vocabulary(catalogue, name)) for name in VOCABULARIES]
        tokenizers.append(f"| {label} | {' | '.join(cells)} |")
    return [*tokenizers, "", *samplers, ""]


def _of_vocabulary(catalogue: Catalogue, name: str) -> Callable[[Case], bool]:
    return lambda case: case.vocab is not None and catalogue.name(case.vocab) == name


def _counts(run: Run, wanted: Callable[[Case], bool]) -> list[int]:
    """Return the number of such records, and how many ended how."""
    statuses = [result.judgement.status for result in run.results if wanted(result.case)]
    counts = [sum(status in ended for status in statuses) for _, ended in _COUNTED]
    return [len(statuses), *counts]


def _cells(run: Run, wanted: Callable[[Case], bool]) -> str:
    """Return a cell for each of these numbers, empty for 0."""
    return " | ".join(f"{count:,}" if count else "" for count in _counts(run, wanted))


def _in_short(run: Run, wanted: Callable[[Case], bool]) -> str:
    """Return these numbers in one cell, empty if no record is tested."""
    total, agree, known, _ = _counts(run, wanted)
    return f"{agree:,} + {known:,} of {total:,}" if agree or known else ""


ON_DEVICES: Final = ("torch", "transformers")
"""The engines that run on any device of PyTorch."""

PROCESSOR_MARK: Final = "<!-- on the processor: written by `python -m authoring attest` -->"


def with_processor(page: str, runs: Sequence[Run]) -> str:
    """Return the page about devices with the processor's table replaced.

    Raises `AttestationError` if it has no place.
    """
    lines = [
        "| engine | numbers | tested | agree | known differences |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for run in runs:
        if run.engine not in ON_DEVICES:
            continue
        counts: dict[str, Counter[str]] = {name: Counter() for name in (*TYPES, "none")}
        for result in run.results:
            if result.judgement.status not in UNJUDGED:
                counts[numbers_of(result.case)][result.judgement.status] += 1
        for name, ended in counts.items():
            if ended:
                cells = (ended.total(), ended["pass"], ended["xfail"])
                shown = " | ".join(f"{cell:,}" if cell else "" for cell in cells)
                lines.append(f"| {run.engine} {run.version} | {name} | {shown} |")
    return with_part("docs/gpu.md", page, PROCESSOR_MARK, [*lines, ""])


def numbers_of(case: Case) -> str:
    """Return the type of the row that a record asks about, or "none" if it has no row.

    In a batch or a sequence the first row counts.
    """
    return _first_type(msgspec.to_builtins(case.input)) or "none"


def _first_type(value: Any) -> str | None:
    if isinstance(value, list):
        return next(filter(None, map(_first_type, value)), None)
    if not isinstance(value, dict):
        return None
    for name in ("logits", "probs"):
        if name in value:
            return type_of(value[name])
    rows = (value.get(name) for name in ("rows", "calls", "sample"))
    return next(filter(None, map(_first_type, rows)), None)
