"""Columns of texts in few bytes: what is said more than once stands once, repeats are counted."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Final, TypeAlias

Cell: TypeAlias = str | int | list[str | int]
"""A text, the number of a shared one, or parts of a text; below zero: how often the one before
is there again."""

_SEAMS: Final = re.compile(r"(?<=[.:;,]) | (?=\()")
"""Where a sentence is cut: reasons have clauses in common far more often than sentences."""


def packed(columns: Mapping[str, Sequence[str]]) -> tuple[list[str], dict[str, list[Cell]]]:
    """Return the texts that are shared, and the columns. Texts are put together with spaces.

    The script of the page is the other direction. The numbers of what is said most are shortest.

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
    """Return the parts of a text; those beside each other that nothing else has are one."""
    cell: list[str | int] = []
    for is_shared, group in groupby(parts, numbers.__contains__):
        if is_shared:
            cell += [numbers[part] for part in group]
        else:
            cell.append(" ".join(group))
    return cell[0] if len(cell) == 1 else cell


def runs(places: Sequence[int]) -> list[int]:
    """Return ascending places as pairs: how many are left out, how many follow each other.

    Thousands of cases are unsupported for one reason, most of them side by side.

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
    """Return letters, each with how often it follows itself, if more than once.

    >>> lengths("pppfuu")
    'p3fu2'
    """
    counted = ((letter, sum(1 for _ in group)) for letter, group in groupby(letters))
    return "".join(chain.from_iterable((each, str(n) if n > 1 else "") for each, n in counted))
