"""Scripts that write the tables in `bpe_ref/data`, and what they share."""

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

CODE_POINT_COUNT: Final = 0x110000
SURROGATES: Final = range(0xD800, 0xE000)  # engines accept no text that contains one
SCALARS: Final = [chr(c) for c in range(CODE_POINT_COUNT) if c not in SURROGATES]
DATA: Final = Path(__file__).parents[2] / "bpe_ref" / "data"
_WIDTH: Final = 88


def as_ranges(code_points: Iterable[int]) -> str:
    """Return code points as hexadecimal ranges, both ends included.

    >>> as_ranges([0x61, 0x41, 0x42])
    '41-42 61'
    """
    texts = []
    numbered = enumerate(sorted(code_points))
    for _, group in groupby(numbered, key=lambda item: item[1] - item[0]):
        members = [code_point for _, code_point in group]
        first, last = members[0], members[-1]
        texts.append(f"{first:X}" if first == last else f"{first:X}-{last:X}")
    return " ".join(texts)


def written_table(script: str, origin: str, entries: Mapping[str, tuple[str, str]]) -> str:
    """Return the content of a table's file, which `bpe_ref.data.table` reads.

    Args:
        script: the file name of the script that asks the engines.
        origin: the engines, and how to read the entries.
        entries: for each name, what the entry holds (may be empty), and its words, which are
            separated by single spaces.

    """
    content = {
        "origin": f"Written by authoring/tables/{script}. {origin}",
        "about": {name: about for name, (about, _) in entries.items() if about},
        "entries": {name: _lines(words) for name, (_, words) in entries.items()},
    }
    return json.dumps(content, indent=1) + "\n"


def write_table(name: str, content: str) -> None:
    """Write the file of a table."""
    (DATA / f"{name}.json").write_text(content, encoding="utf-8")


def _lines(words: str) -> list[str]:
    """Return the words in lines of limited width, so that changes are easy to read."""
    lines = [""]
    for word in words.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= _WIDTH:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines
