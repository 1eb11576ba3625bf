"""Parts of pages that are written by people and programs: two marks, and what stands between."""

from collections.abc import Sequence
from typing import Final

from authoring.attestation.engines import AttestationError

END: Final = "<!-- end -->"


def with_part(name: str, page: str, start: str, lines: Sequence[str]) -> str:
    r"""Return a page with the part replaced that begins with the mark `start`.

    Raises `AttestationError`, which names the page, if it has no such part.

    >>> with_part("page", "a\n<!-- b -->\nold\n<!-- end -->\nc", "<!-- b -->", ["new"])
    'a\n<!-- b -->\n\nnew\n<!-- end -->\nc'
    """
    begin = page.find(start)
    end = page.find(END, begin)
    if begin < 0 or end < 0:
        raise AttestationError(f"{name} must hold the line {start} and, later, {END}")
    return page[:begin] + "\n".join([start, "", *lines, END]) + page[end + len(END) :]
