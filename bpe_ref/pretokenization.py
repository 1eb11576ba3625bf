r"""Cut a text into pieces, as an engine's regular expression does, whatever is installed here.

Definition
    The pieces of a text are the matches of the pattern, leftmost first, each starting where the
    one before it ended or later, in order. Text that no match covers is dropped, as tiktoken does
    (`find_iter`, tiktoken 0.14.0, src/lib.rs). A set such as `\p{L}` holds the code points that
    the chosen table gives it. `Pretokenizer.pieces_by_definition` is this in Python: every set is
    written out as explicit ranges, and `regex` finds the matches.

The fast way: stand-ins
    A pattern sees of a character only which of its sets contain it. So all characters beyond
    ASCII that lie in the same sets are interchangeable: one of them can stand in for the whole
    *atom*, as such a largest class of indistinguishable characters is called. cl100k's pattern has
    five atoms beyond ASCII. Give each one a stand-in, from U+0080 on, replace each character by
    its stand-in, and search with a pattern whose sets are small: ASCII and a few stand-ins. The
    standard library's `re` then needs one look into a table of 256 bits per character, and runs
    at more than twice the speed of `regex` with its own tables.

Why this is the same answer
    A match depends on the text only through tests "is this character in that set", and by
    construction a stand-in is in exactly the sets of the character it replaces. ASCII characters
    stand for themselves. One character replaces one, so matches lie at the same places.

What the sources leave open
    The empty text has no pieces. A pattern that may match the empty text is rejected: tiktoken
    panics when it does. Surrogates, which no engine accepts, count as category Cs.

Source of the patterns' dialect: `pattern_syntax.py`; of the tables: `unicode_tables.py`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import regex

from bpe_ref.errors import ParameterError
from bpe_ref.pattern_syntax import Part, parse
from bpe_ref.unicode_tables import (
    EVERY_CODE_POINT,
    TABLES,
    CodePoints,
    UnicodeTables,
    code_point_range,
    to_ranges,
)

_ASCII: CodePoints = code_point_range(0, 0x7F)
_FIRST_STAND_IN = 0x80
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789' ")

# Python 3.11.0 to 3.11.4 match possessive groups wrongly (python/cpython#106052).
_NOT_FOR_RE = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+|\(\?>")


@dataclass(frozen=True)
class Pretokenizer:
    r"""A pattern together with the table that says what its sets hold.

    Attributes:
        pattern: a regular expression in tiktoken's dialect.
        tables: a name from `unicode_tables.TABLES`.

    Raises `PatternError` if the pattern is malformed, may match the empty text or cannot be
    pinned, `ParameterError` if there is no such table. Nothing is decoded or compiled before the
    first text.

    >>> Pretokenizer(r" ?\p{L}+|\s+").pieces("one two  three")
    ['one', ' two', '  ', 'three']

    """

    pattern: str
    tables: str = "unicode-16.0"

    def __post_init__(self) -> None:
        """Refuse what cannot be used."""
        if not isinstance(self.pattern, str):
            raise ParameterError("pattern", self.pattern, "must be a str")
        if self.tables not in TABLES:
            raise ParameterError("tables", self.tables, f"must be one of {', '.join(TABLES)}")
        parse(self.pattern, TABLES[self.tables])

    def pieces(self, text: str) -> list[str]:
        r"""Return the pieces of `text`, in order.

        Why this is the same answer as `pieces_by_definition`: see the module's introduction.

        >>> Pretokenizer(r"\p{Lu}\p{Ll}*").pieces("Éa, Ǆ")
        ['Éa', 'Ǆ']
        """
        search = _search(self.pattern, self.tables)
        if text.isascii():
            return search.pattern.findall(text)
        standing = search.standing(text)
        pieces = search.pattern.findall(standing)
        start = 0
        for index, piece in enumerate(pieces):
            end = start + len(piece)
            if not piece.isascii():
                pieces[index] = text[start:end]
            start = end
        if start < len(text):  # something was dropped, so the pieces begin elsewhere
            return [text[slice(*match.span())] for match in search.pattern.finditer(standing)]
        return pieces

    def pieces_by_definition(self, text: str) -> list[str]:
        r"""Return the pieces of `text`, in order, about ten times slower than `pieces`.

        >>> Pretokenizer(r"\p{Lu}\p{Ll}*").pieces_by_definition("Éa, Ǆ")
        ['Éa', 'Ǆ']
        """
        return _explicit(self.pattern, self.tables).findall(text)


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Pattern(Protocol):
    """What `re` and `regex` share. Without groups, `findall` returns whole matches."""

    def findall(self, text: str, /) -> list[str]: ...

    def finditer(self, text: str, /) -> Iterable[_Match]: ...


class _StandIns(dict[int, str]):
    """The stand-in of each code point, found when it is first asked for.

    Invariant: beyond ASCII, from `firsts[i]` up to the next one, all have stand-in `names[i]`.
    """

    def __init__(self, atoms: Sequence[CodePoints]) -> None:
        super().__init__((code_point, chr(code_point)) for code_point in range(_FIRST_STAND_IN))
        ranges = sorted(
            (first, chr(_FIRST_STAND_IN + number))
            for number, atom in enumerate(atoms)
            for first, _ in to_ranges(atom)
        )
        self.firsts = [first for first, _ in ranges]
        self.names = [name for _, name in ranges]

    def __missing__(self, code_point: int) -> str:
        name = self.names[bisect_right(self.firsts, code_point) - 1]
        self[code_point] = name
        return name


@dataclass(frozen=True)
class _Search:
    """A compiled pattern over ASCII and stand-ins."""

    pattern: _Pattern
    stand_ins: _StandIns

    def standing(self, text: str) -> str:
        """Return `text` with each character replaced by its stand-in."""
        # Where ASCII prevails, stepping over it costs a fifth of looking each character up.
        bytes_beyond_ascii = len(text.encode("utf-8", "surrogatepass")) - len(text)
        if bytes_beyond_ascii * 4 > len(text):
            return text.translate(self.stand_ins)
        return _BEYOND_ASCII.sub(lambda run: run[0].translate(self.stand_ins), text)


@lru_cache(maxsize=64)
def _explicit(pattern: str, tables: str) -> _Pattern:
    """Return the definition of a pattern: every set as ranges of code points."""
    table = TABLES[tables]
    source = "".join(
        part if isinstance(part, str) else _set_source(part(table))
        for part in parse(pattern, table)
    )
    compiled: _Pattern = regex.compile(source)
    return compiled


@lru_cache(maxsize=64)
def _search(pattern: str, tables: str) -> _Search:
    """Return what `Pretokenizer.pieces` searches with."""
    parts = _with_members(parse(pattern, TABLES[tables]), TABLES[tables])
    sets = {part for part in parts if not isinstance(part, str)}
    atoms = _atoms(sets)

    def narrowed(members: CodePoints) -> CodePoints:
        """Return the set, with the stand-in of each atom in place of the atom."""
        stand_ins = (number for number, atom in enumerate(atoms) if atom & members)
        return (members & _ASCII) | sum(1 << _FIRST_STAND_IN + number for number in stand_ins)

    source = "".join(
        part if isinstance(part, str) else _set_source(narrowed(part)) for part in parts
    )
    return _Search(_compile_fastest(source), _StandIns(atoms))


def _with_members(parts: Iterable[Part], table: UnicodeTables) -> list[str | CodePoints]:
    return [part if isinstance(part, str) else part(table) for part in parts]


def _atoms(sets: Iterable[CodePoints]) -> list[CodePoints]:
    """Divide what lies beyond ASCII so finely that each set is a union of atoms."""
    atoms = [EVERY_CODE_POINT ^ _ASCII]
    for members in sets:
        halves = ((atom & members, atom & ~members) for atom in atoms)
        atoms = [half for both in halves for half in both if half]
    return atoms


def _compile_fastest(source: str) -> _Pattern:
    """Compile with `re`, or with `regex` what `re` cannot do."""
    if not _NOT_FOR_RE.search(source):
        try:
            return re.compile(source)
        except re.error:  # it wants look-behind of one width
            pass
    compiled: _Pattern = regex.compile(source)
    return compiled


def _set_source(members: CodePoints) -> str:
    """Return the source of a class that holds exactly `members`."""
    ranges = to_ranges(members)
    if not ranges:
        return "(?!)"
    if members.bit_count() == 1:
        # Alone, without brackets: `re` skips branches by their first literal.
        return _escape(ranges[0][0])
    return "[" + "".join(f"{_escape(first)}-{_escape(last)}" for first, last in ranges) + "]"


def _escape(code_point: int) -> str:
    return chr(code_point) if chr(code_point) in _PLAIN else f"\\U{code_point:08X}"
