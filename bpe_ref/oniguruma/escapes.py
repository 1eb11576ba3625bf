r"""What a backslash stands for: a character, or a set of them.

Definition
    `\w \d \s \h` and their capitals, `\p{...}`, `\P{...}`, `\p{^...}` are sets. `\t \v \n \r \f
    \a \e`, `\xHH`, `\x{H...}`, `\uHHHH`, `\o{...}`, octal digits, `\cX` and `\C-X` are
    characters; so is any other character after a backslash: itself, a letter too (`\q` is q, and
    `\pL` is the letters pL).

Where Oniguruma differs from others
    `\h` is a hexadecimal digit. `\x80` to `\xFF` are bytes: two to four of them in a row make a
    character. `\w` holds the superscripts and fractions of Latin-1 (U+00B2, B3, B9, BC to BE), but
    not in brackets, where it is `[:word:]`. Under `(?i)` a property outside of brackets keeps
    its case, `\p{Lu}` is upper case; inside, it does not.

What is refused although Oniguruma takes it
    Several code points in one `\x{...}`, `\M-x`, bytes in octal, code points beyond U+10FFFF and
    surrogates (which match nothing there), `\x` without digits.

Source: https://github.com/kkos/oniguruma, doc/RE and src/regparse.c, and tokenizers 0.23.3.
"""

import re

from bpe_ref.oniguruma.cursor import Cursor
from bpe_ref.oniguruma.properties import posix_set, property_set
from bpe_ref.unicode_tables import CODE_POINT_COUNT, EVERY_CODE_POINT, CodePoints

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
