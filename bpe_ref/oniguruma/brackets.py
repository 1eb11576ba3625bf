r"""A class in brackets: `[a-z&&[^aeiou]]`.

Definition
    The union of its members: characters, ranges, escapes, POSIX brackets `[:alpha:]`, `[:^alpha:]`
    and classes; `&&` intersects everything on its left with everything on its right; `^` at the
    start takes what is outside of all that. `]` right after the start is a character if another
    `]` follows, and so is a hyphen wherever no range can be.

Where Oniguruma differs from others
    POSIX names hold Unicode's sets. Neither `--` nor `~~` is an operator. `[a&&]` is empty.
    `[\w-a]` is refused, `[\w-]` is not. `[a-c-e]` is a, b, c, the hyphen and e.

Source: https://github.com/kkos/oniguruma, doc/RE section 6, src/regparse.c `prs_cc`.
"""

import re
from dataclasses import dataclass

from bpe_ref.oniguruma.cursor import Cursor
from bpe_ref.oniguruma.escapes import read_escape
from bpe_ref.oniguruma.properties import posix_set
from bpe_ref.unicode_tables import EVERY_CODE_POINT, CodePoints, code_point_range

_POSIX = re.compile(r"\[:(\^?)(\w+):\]", re.ASCII)
_LOOKS_POSIX = re.compile(r"\[:.{0,25}?:\]", re.DOTALL)
MOST_NESTED = 50


@dataclass(frozen=True, slots=True)
class Bracket:
    """A class: what it holds is `members`, or what is outside of them if `negated`."""

    members: CodePoints
    negated: bool

    def resolved(self) -> CodePoints:
        """Return what the class holds."""
        return EVERY_CODE_POINT ^ self.members if self.negated else self.members


def read_bracket(cursor: Cursor, depth: int = 0) -> Bracket:
    """Read a class; its opening bracket has been read."""
    if depth > MOST_NESTED:
        raise cursor.error(f"classes may be nested at most {MOST_NESTED} deep")
    negated = cursor.accept("^")
    operands: list[CodePoints] = [0]
    if cursor.peek() == "]":
        if "]" not in cursor.pattern[cursor.at + 1 :]:
            raise cursor.error("a class in brackets is empty")
        operands[-1] |= _range_or_character(cursor, cursor.take())
    while not cursor.accept("]"):
        if cursor.accept("&&"):
            operands.append(0)
        else:
            operands[-1] |= _member(cursor, depth)
    result = operands[0]
    for operand in operands[1:]:
        result &= operand
    return Bracket(result, negated)


def _member(cursor: Cursor, depth: int) -> CodePoints:
    """Read one member, or a range."""
    if match := _POSIX.match(cursor.pattern, cursor.at):
        members = posix_set(match[2])
        if members is None:
            raise cursor.error(f"there is no POSIX bracket {match[2]!r}")
        cursor.at = match.end()
        return _not_a_range(cursor, EVERY_CODE_POINT ^ members if match[1] else members)
    if _LOOKS_POSIX.match(cursor.pattern, cursor.at):
        raise cursor.error("there is no such POSIX bracket")
    if cursor.accept("["):
        return read_bracket(cursor, depth + 1).resolved()
    if cursor.accept("\\"):
        item = read_escape(cursor, in_brackets=True)
        if not isinstance(item, str):
            return _not_a_range(cursor, item)
        return _range_or_character(cursor, item)
    return _range_or_character(cursor, cursor.take())


def _not_a_range(cursor: Cursor, members: CodePoints) -> CodePoints:
    """Return a set; a hyphen after it must be the last thing of its operand."""
    if cursor.peek() == "-" and not _hyphen_is_last(cursor):
        raise cursor.error("a range must begin with a character")
    return members


def _hyphen_is_last(cursor: Cursor) -> bool:
    return cursor.peek(2) == "-]" or cursor.peek(3) == "-&&"


def _range_or_character(cursor: Cursor, first: str) -> CodePoints:
    """Return the set of a character, or of the range that it begins."""
    if cursor.peek() != "-" or _hyphen_is_last(cursor):
        return 1 << ord(first)
    hyphen = cursor.at
    cursor.take()
    if cursor.peek() == "[":
        # A class cannot end a range.
        raise cursor.error("a hyphen before a class must be escaped", hyphen)
    last = cursor.take()
    if last == "\\":
        item = read_escape(cursor, in_brackets=True)
        if not isinstance(item, str):
            raise cursor.error("a range must end with a character", hyphen)
        last = item
    if last < first:
        raise cursor.error("a range must go from one character to a later one", hyphen)
    members = code_point_range(ord(first), ord(last))
    if cursor.peek() == "-":  # after a range, a hyphen is a character and begins no range
        cursor.take()
        members |= 1 << ord("-")
        if cursor.peek() == "-":
            raise cursor.error("a hyphen after a hyphen must be escaped")
    return members
