"""The sets of characters that the normalizers of Hugging Face know, pinned.

The engine takes them from five crates with as many versions of Unicode: its
accents are of Unicode 8 and 9, its capitals of Unicode 17. They were measured over all code points
and are in `data/normalizers.json`, written by `authoring/tables/make_tokenizers_tables.py`.

Representation
    A set is a compiled pattern `[...]` of the standard library's `re`: explicit ranges mean the
    same whatever Unicode version is installed.
"""

import re
from functools import lru_cache

from bpe_ref.data import table
from bpe_ref.patterns.stand_ins import set_source
from bpe_ref.patterns.unicode_tables import (
    EVERY_CODE_POINT,
    TABLES,
    CodePoints,
    code_point_range,
    ranges_in,
)

_TABLE_COUNT = 16  # there are ten sets
_FURTHER = re.compile(r"([0-9A-F]+)-([0-9A-F]+)/(\d)([+-][0-9A-F]+)")  # see LOWERCASE


def ranges_of(name: str) -> list[tuple[int, int]]:
    """Return the ranges of a set of that table, both ends included.

    >>> ranges_of("LEADING")
    [(4352, 4447), (43360, 43388)]
    """
    return ranges_in(table("normalizers")[name])


@lru_cache(maxsize=_TABLE_COUNT)
def one_of(name: str) -> re.Pattern[str]:
    """Return a pattern that matches one character of a set of that table.

    >>> bool(one_of("COMBINING_MARKS").match("\u0301"))
    True
    """
    return re.compile(set_source(_set_of(ranges_of(name))))


@lru_cache(maxsize=1)
def unknown_to_forms() -> re.Pattern[str]:
    """Return a pattern for one character that NFC, NFD, NFKC and NFKD do not know.

    It matches what Unicode 16.0 does not assign too: a newer Python may know it, the engine does
    not.

    >>> bool(unknown_to_forms().match("\u1df6"))  # a mark since Unicode 10.0
    True
    """
    return re.compile(set_source(_unknown()))


@lru_cache(maxsize=1)
def known_to_forms() -> re.Pattern[str]:
    """Return a pattern for a row of other characters.

    >>> known_to_forms().findall("ab\u1df6c")
    ['ab', 'c']
    """
    return re.compile(f"{set_source(EVERY_CODE_POINT ^ _unknown())}+")


def _unknown() -> CodePoints:
    unassigned = TABLES["unicode-16.0"].code_points("Cn")
    return _set_of(ranges_of("UNKNOWN_TO_FORMS")) | unassigned


def _set_of(ranges: list[tuple[int, int]]) -> CodePoints:
    return sum(code_point_range(first, last) for first, last in ranges)


@lru_cache(maxsize=1)
def lowercase_table() -> dict[int, str]:
    """Return what each capital becomes, for `str.translate`.

    The only one that becomes two characters is U+0130.

    >>> lowercase_table()[ord("A")]
    'a'
    """
    lowered = {0x130: "i\u0307"}
    for run in table("normalizers")["LOWERCASE"].split():
        first, last, step, distance = _FURTHER.fullmatch(run).groups()  # type: ignore[union-attr]  # generated
        for code_point in range(int(first, 16), int(last, 16) + 1, int(step)):
            lowered[code_point] = chr(code_point + int(distance, 16))
    return lowered
