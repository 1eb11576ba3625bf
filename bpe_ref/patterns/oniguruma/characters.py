r"""Characters and sets in a pattern: sets with names, escapes, classes in brackets.

Source: https://github.com/kkos/oniguruma, doc/RE, doc/UNICODE_PROPERTIES and src/regparse.c, and
tokenizers 0.23.3 as measured by `authoring/tables/make_oniguruma_tables.py`.

Sets with names: `\p{...}`, `[[:...:]]`, `\w`, `\d`, `\s`, `\h`
    A name is looked up without its spaces, hyphens and underscores, and in lower case. It is a
    general category, a script, a block (`InCyrillic`), a binary property, or one of POSIX's names,
    which are Unicode's sets here. No name has a value: neither `Script=Greek` nor `Age=6.0`.
    In brackets, `[:punct:]` is not `\p{Punct}`: it holds the symbols (category S) as well.

Escapes
    `\w \d \s \h` and their capitals, `\p{...}`, `\P{...}`, `\p{^...}` are sets. `\t \v \n \r \f
    \a \e`, `\xHH`, `\x{H...}`, `\uHHHH`, `\o{...}`, octal digits, `\cX` and `\C-X` are
    characters; so is any other character after a backslash: itself, a letter too (`\q` is q, and
    `\pL` is the letters pL).

Brackets: `[a-z&&[^aeiou]]`
    The union of its members: characters, ranges, escapes, POSIX brackets `[:alpha:]`, `[:^alpha:]`
    and classes; `&&` intersects everything on its left with everything on its right; `^` at the
    start takes what is outside of all that. `]` right after the start is a character if another
    `]` follows, and so is a hyphen wherever no range can be.

Where Oniguruma differs from others
    `\h` is a hexadecimal digit. `\x80` to `\xFF` are bytes: two to four of them in a row make a
    character. `\w` holds the superscripts and fractions of Latin-1 (U+00B2, B3, B9, BC to BE), but
    not in brackets, where it is `[:word:]`. Under `(?i)` a property outside of brackets keeps
    its case, `\p{Lu}` is upper case; inside, it does not. Neither `--` nor `~~` is an operator.
    `[a&&]` is empty. `[\w-a]` is refused, `[\w-]` is not. `[a-c-e]` is a, b, c, the hyphen and e.

What is refused although Oniguruma takes it
    Several code points in one `\x{...}`, `\M-x`, bytes in octal, code points beyond U+10FFFF and
    surrogates (which match nothing there), `\x` without digits.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from bpe_ref.data import table
from bpe_ref.patterns.cursor import MOST_NESTED, Cursor
from bpe_ref.patterns.unicode_tables import (
    CODE_POINT_COUNT,
    EVERY_CODE_POINT,
    CodePoints,
    code_point_range,
)


def posix_set(name: str) -> CodePoints | None:
    """Return the set of `[:name:]`, or None if there is none.

    >>> posix_set("ascii").bit_count(), posix_set("letter")
    (128, None)
    """
    names = _sets().get(":" + name)
    return None if names is None else _decode(names)


def property_set(name: str) -> CodePoints | None:
    """Return the set of that name, or None if Oniguruma has none.

    >>> property_set(" upper-case LETTER").bit_count(), property_set("Elvish")
    (1858, None)
    """
    sets = _sets()
    bare = name.translate({ord(" "): None, ord("-"): None, ord("_"): None})
    names = sets.get(bare.lower()) if bare.isascii() and ":" not in bare else None
    return None if names is None else _decode(names)


@cache
def _sets() -> dict[str, str]:
    """Return for each name all names of the same set, by which the table has it."""
    names_of_sets = table("oniguruma_properties")
    return {name: names for names in names_of_sets for name in names.split()}


@lru_cache(maxsize=128)
def _decode(names: str) -> CodePoints:
    """Return the set: the entry counts the code points that are out, in, out, in ..."""
    steps = [int(step, 16) for step in table("oniguruma_properties")[names].split()]
    # Written as one binary number, last code point first: linear in the digits.
    digits = [("1" if at % 2 else "0") * length for at, length in enumerate(steps)]
    return int("".join(reversed(digits)) or "0", 2)


_SURROGATES = range(0xD800, 0xE000)
_FIRST_LONG_BYTE = 0x80
_CONTROL = {"a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_CLASSES = {"w": "word", "d": "digit", "s": "space", "h": "xdigit"}
_BRACED = re.compile(r"x\{([0-9A-Fa-f]+)|o\{([0-7]+)")
_BYTE = re.compile(r"x([0-9A-Fa-f]{1,2})")
_NEXT_BYTE = re.compile(r"\\x([89AaBb][0-9A-Fa-f])")
_FOUR = re.compile(r"u([0-9A-Fa-f]{4})")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{0,2}")
_PROPERTY = re.compile(r"([pP])\{(\^?)([^}(){|]*)\}")
_CONTROL_KEY = re.compile(r"(?:c|C-)([^\\])", re.DOTALL)


def _named_set(cursor: Cursor, name: str, *, negated: bool, in_brackets: bool) -> CodePoints:
    """Return the set of a name, or what is outside of it."""
    members = property_set(name)
    if members is None:
        raise cursor.error(f"there is no property {name!r}")
    if in_brackets and members == property_set("word"):
        members = posix_set("word") or 0
    return EVERY_CODE_POINT ^ members if negated else members


def read_escape(cursor: Cursor, *, in_brackets: bool) -> str | CodePoints:
    """Read what follows a backslash; return the character, or the set."""
    letter = cursor.peek()
    if letter in _CLASSES or letter.lower() in _CLASSES:
        cursor.take()
        name = _CLASSES[letter.lower()]
        return _named_set(cursor, name, negated=letter.isupper(), in_brackets=in_brackets)
    if letter in {"p", "P"} and cursor.peek(2).endswith("{"):
        match = _PROPERTY.match(cursor.pattern, cursor.at)
        if match is None:
            raise cursor.error("a property's name is never closed")
        negated = (letter == "P") != (match[2] == "^")
        members = _named_set(cursor, match[3], negated=negated, in_brackets=in_brackets)
        cursor.at = match.end()
        return members
    if (code := _read_number(cursor)) is not None:
        if code >= CODE_POINT_COUNT or code in _SURROGATES:
            raise cursor.error("an escape must name a Unicode scalar value")
        return chr(code)
    if match := cursor.accept_match(_CONTROL_KEY):
        return chr(0x7F if match[1] == "?" else ord(match[1]) & 0x9F)
    if letter in {"c", "C", "M"}:
        raise cursor.error("this way to write a control character is not known")
    cursor.take()
    if letter == "b" and not in_brackets:
        raise AssertionError  # a place, which the reader has looked for
    return chr(_CONTROL[letter]) if letter in _CONTROL else letter


def _read_number(  # noqa: C901 -- one branch for each way to write it
    cursor: Cursor,
) -> int | None:
    """Read an escape that says the code point in digits, if that comes."""
    if match := cursor.accept_match(_BRACED):
        if not cursor.accept("}"):
            raise cursor.error("braces must hold one code point")
        digits = match[1] or match[2]
        if len(digits) > (8 if match[1] else 11):
            raise cursor.error("a code point has too many digits")
        return int(digits, 16 if match[1] else 8)
    if cursor.peek() == "u":
        match = cursor.accept_match(_FOUR)
        if match is None:
            raise cursor.error("four hexadecimal digits must follow")
        return int(match[1], 16)
    if cursor.peek(2) in {"x{", "o{"}:
        raise cursor.error("braces must hold one code point")
    if match := cursor.accept_match(_BYTE):
        first = int(match[1], 16)
        return first if first < _FIRST_LONG_BYTE else _read_bytes(cursor, first)
    if cursor.peek() == "x":
        raise cursor.error("a code point must have digits")
    if match := cursor.accept_match(_OCTAL):
        code = int(match[0], 8)
        if code >= _FIRST_LONG_BYTE:
            raise cursor.error("an octal byte of 128 or more is no character")
        return code
    return None


def _read_bytes(cursor: Cursor, first: int) -> int:
    """Read the bytes that make a character together with the first one."""
    encoded = bytes([first])
    length = 2 + (first >= 0xE0) + (first >= 0xF0)
    while len(encoded) < length and (match := cursor.accept_match(_NEXT_BYTE)):
        encoded += bytes([int(match[1], 16)])
    try:
        return ord(encoded.decode())
    except (UnicodeDecodeError, TypeError):
        raise cursor.error("these bytes are no character in UTF-8") from None


_POSIX = re.compile(r"\[:(\^?)(\w+):\]", re.ASCII)
_LOOKS_POSIX = re.compile(r"\[:.{0,25}?:\]", re.DOTALL)


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
