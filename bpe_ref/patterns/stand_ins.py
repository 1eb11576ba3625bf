r"""A small alphabet in which a pattern's sets are small sets: stand-ins for characters.

Definition
    A pattern sees of a character only which of its sets contain it. So all characters beyond
    ASCII that lie in the same sets are interchangeable: one of them can stand in for the whole
    *atom*, as such a largest class of indistinguishable characters is called. Give each atom a
    stand-in, from U+0080 on, and replace each character of the text by its stand-in. ASCII
    characters stand for themselves.

Why a search in the replaced text finds the same
    A match depends on the text only through tests "is this character in that set", and by
    construction a stand-in is in exactly the sets of the character it replaces. One character
    replaces one, so matches lie at the same places.

Two alphabets
    *The small one* (`Alphabet`) is ASCII and the stand-ins. Every engine is fast with it, but
    each character beyond ASCII has to be replaced. *The basic one* (`BasicAlphabet`) is all of
    U+0000 to U+FFFF, so that hardly any text needs replacing; emoji do. Python's `re` looks such
    sets up in a bitmap, but tries ranges beyond U+FFFF one by one.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from bpe_ref.errors import PatternError
from bpe_ref.patterns.unicode_tables import (
    EVERY_CODE_POINT,
    CodePoints,
    code_point_range,
    to_ranges,
)

MOST_COMPARISONS = 20_000
"""The most comparisons of an atom with a set that finding the atoms of a pattern may take."""

_ASCII: CodePoints = code_point_range(0, 0x7F)
_BASIC: CodePoints = code_point_range(0, 0xFFFF)
_FIRST_STAND_IN = 0x80
_BELOW_SURROGATES = range(0x80, 0xD800)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_BEYOND_BASIC = re.compile("[\U00010000-\U0010ffff]+")
# Python 3.11.0 to 3.11.4 match possessive groups wrongly (python/cpython#106052).
_NOT_FOR_RE = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+|\(\?>")
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789' ")


class _StandIns(dict[int, str]):
    """The stand-in of each code point, found when it is first asked for.

    Invariant: beyond ASCII, from `firsts[i]` up to the next one, all have stand-in `names[i]`.
    """

    def __init__(self, atoms: Mapping[str, CodePoints]) -> None:
        """Take what each stand-in stands for."""
        super().__init__((code_point, chr(code_point)) for code_point in range(_FIRST_STAND_IN))
        ranges = sorted(
            (first, name) for name, atom in atoms.items() for first, _ in to_ranges(atom)
        )
        self.firsts = [first for first, _ in ranges]
        self.names = [name for _, name in ranges]

    def __missing__(self, code_point: int) -> str:
        name = self.names[bisect_right(self.firsts, code_point) - 1]
        self[code_point] = name
        return name


@dataclass(frozen=True)
class Alphabet:
    """The stand-ins for the sets of one pattern.

    >>> alphabet = alphabet_of([0b11 << 0xE9])
    >>> alphabet.standing("aéêë") == "a" + 2 * alphabet.standing("é") + alphabet.standing("ë")
    True
    """

    atoms: Sequence[CodePoints]
    stand_ins: _StandIns

    def standing(self, text: str) -> str:
        """Return `text` with each character replaced by its stand-in."""
        if text.isascii():
            return text
        # Where ASCII prevails, stepping over it costs a fifth of looking each character up.
        bytes_beyond_ascii = len(text.encode("utf-8", "surrogatepass")) - len(text)
        if bytes_beyond_ascii * 4 > len(text):
            return text.translate(self.stand_ins)
        return _BEYOND_ASCII.sub(lambda run: run[0].translate(self.stand_ins), text)

    def restored(self, pieces: Sequence[str], text: str) -> list[str] | None:
        """Return the parts of `text` that pieces replaced; None if they are not all of it."""
        ends = list(accumulate(map(len, pieces), initial=0))
        if ends[-1] != len(text):
            return None
        return [text[start:end] for start, end in pairwise(ends)]

    def narrowed(self, members: CodePoints) -> CodePoints:
        """Return the set, with the stand-in of each atom in place of the atom."""
        if members <= _ASCII:
            return members
        stand_ins = (number for number, atom in enumerate(self.atoms) if atom & members)
        return (members & _ASCII) | sum(1 << _FIRST_STAND_IN + number for number in stand_ins)


@dataclass(frozen=True)
class BasicAlphabet:
    """The characters up to U+FFFF, some of which stand in for those beyond.

    >>> basic = basic_alphabet_of([(1 << 0x1F600) | (1 << 0x2603)])
    >>> basic.standing("\U0001f600 \u2603") == "\u2603 \u2603"
    True
    """

    stand_ins: _StandIns

    def standing(self, text: str) -> str:
        """Return `text` with each character beyond U+FFFF replaced; itself if there is none."""
        if self.is_basic(text):
            return text
        return _BEYOND_BASIC.sub(lambda run: run[0].translate(self.stand_ins), text)

    def is_basic(self, text: str) -> bool:
        """Return whether the text has only characters of this alphabet."""
        # Nothing else finds that out as fast: UTF-16 needs more than two bytes for others only.
        return text.isascii() or len(text.encode("utf-16-le", "surrogatepass")) == 2 * len(text)

    def restored(self, pieces: Sequence[str], text: str) -> list[str] | None:
        """Return the parts of `text` that pieces replaced; None if they are not all of it."""
        parts, ends = list(pieces), list(accumulate(map(len, pieces)))
        if not ends or ends[-1] != len(text):
            return None
        for replaced in _BEYOND_BASIC.finditer(text):
            first, behind = replaced.span()
            for index in range(bisect_right(ends, first), bisect_left(ends, behind) + 1):
                parts[index] = text[ends[index] - len(parts[index]) : ends[index]]
        return parts

    def narrowed(self, members: CodePoints) -> CodePoints:
        """Return the set without the characters that others stand in for."""
        return members & _BASIC


def alphabet_of(sets: Iterable[CodePoints]) -> Alphabet:
    """Return the alphabet for these sets, as small as can be.

    >>> len(alphabet_of([1 << 0xE9, 1 << 0x41]).atoms)
    2
    """
    atoms = atoms_of(EVERY_CODE_POINT ^ _ASCII, sets)
    names = map(chr, range(_FIRST_STAND_IN, _FIRST_STAND_IN + len(atoms)))
    return Alphabet(atoms, _StandIns(dict(zip(names, atoms, strict=True))))


def basic_alphabet_of(sets: Collection[CodePoints]) -> BasicAlphabet | None:
    """Return the basic alphabet for these sets; None if no character of it can stand in.

    >>> basic_alphabet_of([1 << 0x1F600]) is None
    True
    """
    stand_ins: dict[str, CodePoints] = {}
    basic = [(members, members & _BASIC) for members in sets]
    for atom in atoms_of(EVERY_CODE_POINT ^ _BASIC, sets):
        alike = _BASIC
        for members, lower in basic:
            alike &= lower if atom & members else ~lower
        if not alike:
            return None
        stand_ins[chr(to_ranges(alike)[-1][1])] = atom
    return BasicAlphabet(_StandIns(stand_ins))


def atoms_of(among: CodePoints, sets: Iterable[CodePoints]) -> list[CodePoints]:
    """Return the classes of characters that lie in the same sets.

    Raises `PatternError` if finding them takes more than `MOST_COMPARISONS` of atoms with sets.

    >>> list(map(bin, atoms_of(0b1111, [0b0011, 0b0110])))
    ['0b10', '0b1', '0b100', '0b1000']
    """
    atoms = [among]
    left = MOST_COMPARISONS
    for members in sets:
        if members & among:
            left -= len(atoms)
            if left < 0:
                raise PatternError("the sets of a pattern must not overlap in so many ways")
            halves = ((inside := atom & members, atom ^ inside) for atom in atoms)
            atoms = [half for both in halves for half in both if half]
    return atoms


def set_source(members: CodePoints) -> str:
    r"""Return the source of a class that holds exactly `members`, for `re` and `regex`.

    >>> set_source(0b1011 << 0x61), set_source(1 << 0x61), set_source(0)
    ('[a-bd-d]', 'a', '(?!)')
    """
    ranges = to_ranges(members)
    if not ranges:
        return "(?!)"
    if members.bit_count() == 1:
        # Alone, without brackets: `re` skips branches by their first literal.
        return _escape(ranges[0][0])
    return "[" + "".join(f"{_escape(first)}-{_escape(last)}" for first, last in ranges) + "]"


def compile_with_re(source: str) -> re.Pattern[str] | None:
    """Return the pattern of the standard library's `re`; None for what that cannot do.

    >>> compile_with_re("(?>a)") is None
    True
    """
    if _NOT_FOR_RE.search(source):
        return None
    try:
        return re.compile(source)
    except re.error:  # it wants look-behind of one width
        return None


def _escape(code_point: int) -> str:
    # What is beyond ASCII means itself, and patterns without escapes are read faster.
    is_plain = chr(code_point) in _PLAIN or code_point in _BELOW_SURROGATES or code_point > 0xDFFF
    return chr(code_point) if is_plain else f"\\U{code_point:08X}"
