r"""Which code points a class such as `\p{L}` holds, pinned for each engine component.

The installed `regex` and Python have Unicode tables of their own, which change with every
release: U+1C89 is a letter since Unicode 16.0, U+088F only later. An engine's class is part of
what the engine computes, so it is written down here, as measured over all code points.

Representation
    A set of code points is an `int` whose bit `c` tells whether code point `c` is in it. Then
    union is `|`, intersection `&`, and complement is `EVERY_CODE_POINT ^ set`.

Which component uses which table
    Every regular expression measured follows Unicode 16.0 in all general categories and in `\s`
    (25 code points, without the separators U+001C to U+001F that Python's `\s` adds). They differ
    in `\w`: the Rust engines (tiktoken, bpe-openai, rs-bpe, the `Whitespace` of tokenizers) add
    the joiners U+200C and U+200D; Oniguruma (the `Split` and `ByteLevel` of tokenizers) does not,
    and adds the Latin-1 superscripts and fractions (U+00B2, B3, B9, BC to BE). Two components use
    no regular expression. `Digits` asks the Rust standard library, which follows Unicode 17.0: 1924
    code points, not the 1911 of `\p{N}`. `Punctuation` has an old table, with the ASCII symbols
    added: 726 code points, not the 855 of `\p{P}`.

What the sources leave open
    Surrogates are no text for an engine. A Python `str` may hold them: their category is `Cs`
    here, so they are neither letters, digits nor spaces.

Source: the engines themselves, asked by `authoring/tables/make_unicode_tables.py`.
"""

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from bpe_ref.data import table
from bpe_ref.errors import ParameterError

CodePoints: TypeAlias = int
"""A set of code points: bit `c` is set if code point `c` is a member."""

CODE_POINT_COUNT = 0x110000

EVERY_CODE_POINT: CodePoints = (1 << CODE_POINT_COUNT) - 1

_CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No"),
    *("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"),
    *("Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"),
)
_CASED_LETTERS = frozenset({"Lu", "Ll", "Lt"})
_WORD_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"})
_GENERAL = frozenset({*_CATEGORIES, *"LMNPSZC", "LC", "White_Space", "Han", "word"})


def code_point_range(first: int, last: int) -> CodePoints:
    """Return the set of the code points from `first` to `last`, both included.

    >>> bin(code_point_range(2, 4))
    '0b11100'
    """
    return (1 << (last + 1)) - (1 << first)


def to_ranges(code_points: CodePoints) -> list[tuple[int, int]]:
    """Return the maximal ranges of a set, ascending, first and last code point both included.

    >>> to_ranges(0b1011100)
    [(2, 4), (6, 6)]
    >>> to_ranges(0)
    []
    """
    digits = f"{code_points:b}"[::-1]  # the digit at index c belongs to code point c
    ranges = []
    first = digits.find("1")
    while first != -1:
        end = digits.find("0", first)
        if end == -1:
            end = len(digits)
        ranges.append((first, end - 1))
        first = digits.find("1", end)
    return ranges


def ranges_in(text: str) -> list[tuple[int, int]]:
    """Return the ranges that a data file writes in hexadecimal, both ends included.

    >>> ranges_in("41-5A 61")
    [(65, 90), (97, 97)]
    """
    ends = (part.partition("-") for part in text.split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in ends]


def characters_in(code_points: CodePoints) -> str:
    """Return the characters of a set, in order.

    >>> characters_in(0b101 << 0x61)
    'ac'
    """
    return "".join(
        chr(point) for first, last in to_ranges(code_points) for point in range(first, last + 1)
    )


@dataclass(frozen=True)
class UnicodeTables:
    r"""The classes of one engine component, by name.

    Attributes:
        name: what `TABLES` calls it.
        properties: the names that `code_points` knows: general categories of one and two letters
            (and `LC`, cased letters), `White_Space` (`\s`), `word` (`\w`) and `Han`.

    """

    name: str
    properties: frozenset[str]

    def code_points(self, name: str) -> CodePoints:
        """Return the set that `name` stands for; decoded at the first call, kept afterwards.

        Raises `ParameterError` if `name` is not one of `properties`.

        >>> TABLES["unicode-16.0"].code_points("N").bit_count()
        1911
        >>> TABLES["tokenizers-digits"].code_points("N").bit_count()
        1924
        """
        if name not in self.properties:
            known = ", ".join(sorted(self.properties))
            requirement = f"must be a property of the table {self.name} ({known})"
            raise ParameterError("name", name, requirement)
        return _code_points(self.name, name)

    def contains(self, name: str, code_point: int) -> bool:
        """Return whether `code_point` is in the set that `name` stands for.

        Raises `ParameterError` if `name` is not one of `properties`, or there is no such code
        point.

        >>> [TABLES["unicode-16.0"].contains("L", c) for c in (0x1C89, 0x88F)]
        [True, False]
        """
        _check_code_point(code_point)
        return bool(self.code_points(name) >> code_point & 1)


def category(code_point: int) -> str:
    """Return the general category of `code_point` in Unicode 16.0.

    Raises `ParameterError` if there is no such code point.

    >>> category(ord("a")), category(0x1C89), category(0xD800), category(0x88F)
    ('Ll', 'Lu', 'Cs', 'Cn')
    """
    _check_code_point(code_point)
    return next(
        name for name in _CATEGORIES if _code_points("unicode-16.0", name) >> code_point & 1
    )


TABLES = MappingProxyType(
    {
        tables.name: tables
        for tables in (
            UnicodeTables("unicode-16.0", _GENERAL),
            UnicodeTables("unicode-16.0-oniguruma", _GENERAL),
            UnicodeTables("tokenizers-digits", frozenset({"N"})),
            UnicodeTables("tokenizers-punctuation", frozenset({"P"})),
        )
    }
)
"""Every pinned table by its name."""


@cache
def white_space() -> str:
    r"""Return the characters with the property White_Space, in order.

    >>> white_space()[:6]
    '\t\n\x0b\x0c\r '
    """
    return characters_in(TABLES["unicode-16.0"].code_points("White_Space"))


def _check_code_point(code_point: int) -> None:
    if not 0 <= code_point < CODE_POINT_COUNT:
        raise ParameterError("code_point", code_point, "must be in [0, 0x10FFFF]")


@cache
def _code_points(tables: str, name: str) -> CodePoints:
    """Return the set of a property that the table is known to have."""
    data = table("unicode")
    if tables == "tokenizers-digits":
        return _code_points("unicode-16.0", "N") | _decode(data["DIGITS_EXTRA"])
    if tables == "tokenizers-punctuation":
        return _decode(data["PUNCTUATION"])
    if name == "word":
        rust = tables == "unicode-16.0"
        extra = data["RUST_WORD_EXTRA" if rust else "ONIGURUMA_WORD_EXTRA"]
        return _of_categories(_WORD_CATEGORIES) | _decode(extra)
    if name in {"White_Space", "Han"}:
        return _decode(data["HAN" if name == "Han" else "WHITE_SPACE"])
    if name == "LC":
        return _of_categories(_CASED_LETTERS)
    # `L` is every category that starts with it; `Lu` is only itself.
    return _of_categories(frozenset(c for c in _CATEGORIES if c.startswith(name)))


def _of_categories(wanted: frozenset[str]) -> CodePoints:
    """Return the set of the code points whose category is one of `wanted`."""
    # Written as one binary number, last code point first: its value is linear in the digits,
    # where setting 700 ranges one by one copies 140 kB for each.
    digits = ["1" * length if name in wanted else "0" * length for name, length in _runs()]
    return int("".join(reversed(digits)), 2)


@cache
def _runs() -> list[tuple[str, int]]:
    """Return category and length of every run of code points, from code point 0 on."""
    return [(run[:2], int(run[2:])) for run in table("unicode")["CATEGORIES"].split()]


def _decode(ranges: str) -> CodePoints:
    code_points = 0
    for first, last in ranges_in(ranges):
        code_points |= code_point_range(first, last)
    return code_points
