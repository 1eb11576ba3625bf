"""The page with all results, and when two such pages say the same."""

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tokenref.catalogue import Catalogue
from tokenref.known import Known
from tokenref.manifest import manifest_digest
from tokenref.reports.html.page import html_report
from tokenref.reports.lines import dump_report
from tokenref.reports.results import read_results
from tokenref.runner import Run

PAGES: Final = "../"
"""Where the pages that records cite are, seen from `docs/`."""

_DATA: Final = re.compile(
    rb'(?<=<script type="application/json" id="data">)(.*?)(?=</script>)', re.DOTALL
)


def report_page(runs: Sequence[Run], catalogue: Catalogue, known: Sequence[Known]) -> bytes:
    """Return the page of all results. Times are not in it."""
    about = {"fixtures": manifest_digest(catalogue.manifest)}
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
        data = json.loads(found.group())
        del data["texts"]
        for engine in data["engines"]:
            del engine["details"]
    except (ValueError, KeyError, TypeError):
        return page  # written by somebody else, and certainly another page
    return page[: found.start()] + json.dumps(data).encode() + page[found.end() :]
