"""All pages that are written from what real engines say, and whether they still say so."""

from collections.abc import Callable, Sequence
from typing import Final

from authoring.attestation.devices import with_processor
from authoring.attestation.differences import differences_page
from authoring.attestation.readme import with_tables
from authoring.attestation.report import report_page, without_answers
from authoring.attestation.unconfirmed import unconfirmed_page
from tokenref.catalogue import Catalogue
from tokenref.known import Known
from tokenref.runner import Run

SHARED: Final = ("README.md", "docs/gpu.md")
"""Pages that people write, too."""

REPORT: Final = "docs/report.html"


def pages(
    runs: Sequence[Run], catalogue: Catalogue, known: Sequence[Known], there: Callable[[str], str]
) -> dict[str, bytes]:
    """Return the content of every page that is written from the runs, by its path.

    `there` gives the text of a page that is written by people, too, by its path. Raises
    `AttestationError` for one without a place for its table.
    """
    return {
        "README.md": with_tables(there("README.md"), runs, catalogue).encode(),
        "docs/differences.md": differences_page(known, runs).encode(),
        "docs/unconfirmed.md": unconfirmed_page(runs, catalogue, known).encode(),
        "docs/gpu.md": with_processor(there("docs/gpu.md"), runs).encode(),
        REPORT: report_page(runs, catalogue, known),
    }


def says_the_same(path: str, page: bytes, other: bytes) -> bool:
    """Return whether a page that is there says what it would say if it were written now.

    >>> says_the_same("README.md", b"3 agree", b"2 agree")
    False
    """
    if page == other:
        return True
    return path == REPORT and without_answers(page) == without_answers(other)
