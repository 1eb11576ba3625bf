r"""Read a pre-tokenization pattern: which text is syntax, and which sets of code points it names.

A pattern is written in the dialect that tiktoken takes (the Rust crates `fancy-regex` and
`regex`). What such a pattern matches depends on an engine in two ways: on its syntax, which is the
same everywhere once it is spelled out, and on its sets of code points, which are not. `parse`
takes them apart. It returns pieces of source text that every backtracking engine reads alike, and
between them the sets, as expressions over whichever table is chosen.

Spelled out, so that no engine's own tables or habits are asked
    `.` is every code point but U+000A, or every one under `(?s)`. `^` and `$` are the ends of the
    text; under `(?m)` they are the ends of the lines that U+000A separates. `\b` is a change of
    membership in `\w`. Under `(?i)` an ASCII letter stands for its simple case foldings: its other
    case, and U+017F for s, U+212A for k.

Rejected, because it cannot be pinned or has no equal meaning elsewhere
    Properties that the table lacks; under `(?i)` properties and literals beyond ASCII, whose
    foldings are another table; back references, `\K`, `\G`, `\X`, `\R`, `\h`, conditions, flags
    besides i, m and s; POSIX brackets (ASCII in Rust, Unicode in Oniguruma); `\pL` without braces
    (not a property in Oniguruma); a quantifier upon a quantifier. A pattern that may match the
    empty text is rejected too, since tiktoken panics as soon as it does; so is repeating what may
    be empty, where engines disagree about when to stop. So are patterns of more than 10,000
    characters, 300 different classes and letters beyond ASCII or 300 word boundaries, nesting
    deeper than 50, and repetitions that make more than 100,000 copies of atoms.

Where the table is Oniguruma's, a pattern is one for the `Split` of tokenizers
    There `$` is the end of a line, and what reads otherwise is rejected: `^`, the flags m and s,
    flags without a group of their own, `{1,3}+` (which repeats there, and is possessive in
    tiktoken), `{2}?` (which is optional there), `\xE9` (a byte there), `[\w]` (which lacks six
    superscripts and fractions that `\w` has), and under `(?i)` two letters that have a ligature,
    such as ss.

Source: https://docs.rs/regex and https://docs.rs/fancy-regex, and tiktoken 0.14.0 as executed.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, reduce
from itertools import chain
from typing import NamedTuple, TypeAlias

from bpe_ref.patterns.cursor import MOST_NESTED, MOST_REPEATS, MOST_SETS, Cursor
from bpe_ref.patterns.unicode_tables import (
    CODE_POINT_COUNT,
    EVERY_CODE_POINT,
    CodePoints,
    UnicodeTables,
    code_point_range,
)

CodePointSet: TypeAlias = Callable[[UnicodeTables], CodePoints]
"""A set as an expression: what it holds is decided when a table is handed in."""

Part: TypeAlias = str | CodePointSet
"""Source text that all engines read alike, or a set of code points to be matched once."""

_MOST_DIGITS = 6

_LAST_ASCII = 0x7F
_SURROGATES = range(0xD800, 0xE000)
_FOLDS_BEYOND_ASCII = {"s": 0x17F, "k": 0x212A}
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(?=,?\d)(\d*)(?:(,)(\d*))?\})([+?]?)")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_GROUP = re.compile(r"\((\?:|\?>|\?=|\?!|\?<=|\?<!|\?P?<[A-Za-z_]\w*>|(?!\?))")
_HEXADECIMAL = re.compile(
    r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]{1,8})\}"
)
_PROPERTY = re.compile(r"([pP])\{(\^?)([A-Za-z_]+)\}")
_CONTROL = {"a": 0x07, "e": 0x1B, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_SHORTHANDS = {"d": "Nd", "s": "White_Space", "w": "word"}
_SET_OPERATORS: dict[str, Callable[[CodePoints, CodePoints], CodePoints]] = {
    "&&": lambda left, right: left & right,
    "--": lambda left, right: left & ~right,
    "~~": lambda left, right: left ^ right,
}


class _Node(NamedTuple):
    """A parsed stretch of the pattern."""

    parts: tuple[Part, ...]
    may_be_empty: bool
    repeatable: bool = True
    copies: int = 1
    """How many atoms it is made of if every copy of a repetition is written."""


def parse(pattern: str, tables: UnicodeTables) -> tuple[Part, ...]:
    r"""Return the parts of `pattern`, in order.

    `tables` says which properties exist; none is decoded.

    Raises `PatternError` for what the module's introduction calls rejected, and for bad syntax.

    >>> from bpe_ref.patterns.unicode_tables import TABLES
    >>> table = TABLES["unicode-16.0"]
    >>> letters, quantifier = parse(r"\p{L}++", table)
    >>> quantifier, letters(table).bit_count()
    ('++', 141028)
    >>> parse(r"\p{Greek}", table)
    Traceback (most recent call last):
    bpe_ref.errors.PatternError: pattern '\\p{Greek}' cannot be used: at 0, table unicode-16.0 ...
    """
    reader = _Reader(pattern, tables)
    node = reader.alternation(frozenset())
    if reader.at < len(pattern):
        raise reader.error("a group closes that was never opened")
    if node.may_be_empty:
        reader.at = 0
        raise reader.error("it may match the empty text, where the engine panics")
    return node.parts


class _Reader(Cursor):
    """The pattern, how far it has been read, and the tables that name its sets."""

    def __init__(self, pattern: str, tables: UnicodeTables) -> None:
        super().__init__(pattern)
        self.tables = tables
        self.depth = 0
        self.classes: dict[tuple[str, frozenset[str]], CodePointSet] = {}
        self.oniguruma = tables.name == "unicode-16.0-oniguruma"

    def alternation(self, flags: frozenset[str]) -> _Node:
        """Read up to the end of the group."""
        branches: list[list[_Node]] = [[]]
        while self.peek() not in {"", ")"}:
            if self.accept("|"):
                branches.append([])
            elif (changed := self.flags(flags)) is not None:
                flags = changed  # for the rest of this group, its other branches included
            else:
                branches[-1].append(self.quantified(flags))
        parts: list[Part] = []
        for branch in branches:
            parts += ["|"] if parts or branch is not branches[0] else []
            parts += chain.from_iterable(node.parts for node in branch)
        copies = sum(node.copies for branch in branches for node in branch)
        may_be_empty = any(all(n.may_be_empty for n in branch) for branch in branches)
        return _Node(tuple(parts), may_be_empty, copies=copies)

    def deeper(self) -> None:
        """Count a group or class that opens. Raises `PatternError` if it is nested too deeply."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self.error(f"groups and classes may be nested at most {MOST_NESTED} deep")

    def flags(self, flags: frozenset[str]) -> frozenset[str] | None:
        """Read `(?i)` and return the flags then in force, or None if something else comes."""
        match = _FLAGS.match(self.pattern, self.at)
        if match is None or match[3] == ":":
            return None
        if self.oniguruma:
            raise self.error("flags without a group reach over branches in Oniguruma")
        changed = self.changed_flags(flags, match)
        self.at = match.end()
        return changed

    def changed_flags(self, flags: frozenset[str], match: re.Match[str]) -> frozenset[str]:
        """Return `flags` after what `match` switches on and off."""
        on, off = frozenset(match[1]), frozenset(match[2] or "")
        if self.oniguruma and (on | off) & frozenset("ms"):
            raise self.error("the flags m and s have other meanings in Oniguruma")
        if unknown := (on | off) - frozenset("ims"):
            raise self.error(f"the flag {min(unknown)!r} is not one of i, m and s")
        return (flags | on) - off

    def quantified(self, flags: frozenset[str]) -> _Node:
        """Read one atom and the quantifier behind it, if any."""
        node = self.atom(flags)
        match = _QUANTIFIER.match(self.pattern, self.at)
        if match is None:
            return node
        if not node.repeatable:
            raise self.error("there is nothing to repeat")
        sign, least, comma, most, mode = match.groups("")
        copies = node.copies
        if sign:
            may_skip = sign in "*?"
            once = sign == "?"
        else:
            if max(len(least), len(most)) > _MOST_DIGITS:
                raise self.error(f"a quantifier may say at most {MOST_REPEATS}")
            fewest = int(least or "0")
            largest = int(most) if most else None if comma else fewest
            times = max(1, fewest, largest or 0)
            copies *= times
            if times > 1 and copies > MOST_REPEATS:
                raise self.error(f"quantifiers may say at most {MOST_REPEATS} together")
            if largest is not None and largest < fewest:
                raise self.error("the quantifier's bounds must be in order")
            if mode and self.oniguruma:  # + repeats there, and ? makes {2} optional
                raise self.error(f"{mode!r} after braces has another meaning in Oniguruma")
            may_skip = fewest == 0
            once = largest is not None and largest <= 1
            sign = f"{{{fewest}{comma}{most}}}"
        if node.may_be_empty and not once:
            raise self.error("what is repeated may be empty")
        self.at = match.end()
        if _QUANTIFIER.match(self.pattern, self.at):
            raise self.error("a quantifier follows a quantifier")
        return _Node((*node.parts, sign + mode), node.may_be_empty or may_skip, copies=copies)

    def atom(self, flags: frozenset[str]) -> _Node:
        """Read what a quantifier may follow, or an assertion."""
        if _QUANTIFIER.match(self.pattern, self.at):
            raise self.error("there is nothing to repeat")
        character = self.take()
        if character == "(":
            self.at -= 1
            return self.group(flags)
        if character in "^$":
            if character == "^" and self.oniguruma:
                raise self.error("a caret has another meaning in Oniguruma")
            return _line_end(character) if "m" in flags or self.oniguruma else _TEXT_ENDS[character]
        if self.oniguruma and "i" in flags and self.folds_into_one():
            raise self.error("Oniguruma folds these two letters into one")
        if character == "\\" and (node := self.escaped_assertion()) is not None:
            return node
        match character:
            case "[":
                members: CodePointSet = self.bracket(flags)
            case ".":
                members = _everything if "s" in flags else _no_newline
            case "\\":
                members = self.literal(self.escape(flags), flags)
            case _:
                members = self.literal(ord(character), flags)
        return _Node((members,), may_be_empty=False)

    def literal(self, item: int | CodePointSet, flags: frozenset[str]) -> CodePointSet:
        """Return the set that an atom stands for; a letter beyond ASCII counts as a class."""
        members = self.as_set(item, flags)
        if not isinstance(item, int) or item <= _LAST_ASCII:
            return members
        return self.class_of(chr(item), flags, members)

    def class_of(self, source: str, flags: frozenset[str], members: CodePointSet) -> CodePointSet:
        """Return the first of equal classes. Raises `PatternError` if there are too many."""
        known = self.classes.setdefault((source, flags), members)
        if len(self.classes) > MOST_SETS:
            raise self.error(f"a pattern may have at most {MOST_SETS} different classes")
        return known

    def folds_into_one(self) -> bool:
        """Return whether the last letter and the next one fold like one, as ss and U+00DF do."""
        two = self.pattern[self.at - 1 : self.at + 1].lower()
        return two in {"ss", "st", "ff", "fi", "fl"}

    def group(self, flags: frozenset[str]) -> _Node:
        """Read a group, its brackets included. Nothing is captured."""
        if match := self.accept_match(_FLAGS):
            flags = self.changed_flags(flags, match)
            opening = "(?:"
        elif match := self.accept_match(_GROUP):
            opening = "(" + match[1] if match[1] and match[1][-1] in ":>=!" else "(?:"
            if match[1].endswith(">") and match[1] != "?>":
                opening = "(?:"  # a name, which nothing can refer to
        else:
            raise self.error("this kind of group is not known")
        self.deeper()
        inner = self.alternation(flags)
        self.depth -= 1
        if not self.accept(")"):
            raise self.error("a group is never closed")
        parts = (opening, *inner.parts, ")")
        if opening[-1] in "=!":
            return _Node(parts, may_be_empty=True, repeatable=False, copies=inner.copies)
        return _Node(parts, inner.may_be_empty, copies=inner.copies)

    def escaped_assertion(self) -> _Node | None:
        r"""Read the rest of `\A`, `\z`, `\b` or `\B`, if one of them comes."""
        if self.accept("A"):
            return _assertion(r"\A")
        if self.accept("z"):
            return _assertion(r"\Z")  # Python's name for the end of the text
        for letter, then, otherwise in (("b", "(?!", "(?="), ("B", "(?=", "(?!")):
            if not self.pattern.startswith(letter + "{", self.at) and self.accept(letter):
                self.count_boundary()
                word = self.property_set("word")
                before, after = ("(?:(?<=", word, ")", then, word, ")"), ("|(?<!", word, ")")
                return _assertion(*before, *after, otherwise, word, "))")
        return None

    def escape(self, flags: frozenset[str]) -> int | CodePointSet:
        """Read what follows a backslash: a code point, or a set of them."""
        start = self.at - 1
        if match := self.accept_match(_PROPERTY):
            letter, caret, name = match.groups()
            self.at = start
            if name == "word":
                raise self.error(f"table {self.tables.name} has no property {name!r}")
            members = self.property_set(name)
            if "i" in flags:  # the shorthands are exempt from folding, properties are not
                raise self.error("case beyond ASCII cannot be folded")
            self.at = match.end()
            return _complement(members) if (letter == "P") != (caret == "^") else members
        if match := self.accept_match(_HEXADECIMAL):
            value = int(next(filter(None, match.groups())), 16)
            if self.oniguruma and match[1] and value > _LAST_ASCII:
                raise self.error("this escape is a byte in Oniguruma, and no code point")
            if value >= CODE_POINT_COUNT or value in _SURROGATES:
                raise self.error("an escape must name a Unicode scalar value")
            return value
        character = self.take()
        if character in _CONTROL:
            return _CONTROL[character]
        if character.lower() in _SHORTHANDS:
            members = self.property_set(_SHORTHANDS[character.lower()])
            return _complement(members) if character.isupper() else members
        # A backslash takes the meaning from a mark; but `\<` and `\>` have one of their own.
        if ord(character) <= _LAST_ASCII and not character.isalnum() and character not in "<>":
            return ord(character)
        self.at = start
        raise self.error(f"there is no escape for {character!r}")

    def property_set(self, name: str) -> CodePointSet:
        """Return the set of a property of the table."""
        if name not in self.tables.properties:
            raise self.error(f"table {self.tables.name} has no property {name!r}")
        return _property(name)

    def as_set(
        self, item: int | CodePointSet, flags: frozenset[str], last: int | None = None
    ) -> CodePointSet:
        """Return the set that `item`, or the range from `item` to `last`, stands for."""
        if not isinstance(item, int):
            return item
        last = item if last is None else last
        members = code_point_range(item, last)
        if "i" in flags:
            if last > _LAST_ASCII:
                raise self.error("case beyond ASCII cannot be folded")
            for character in map(chr, range(item, last + 1)):
                members |= 1 << ord(character.swapcase())
                if beyond := _FOLDS_BEYOND_ASCII.get(character.lower()):
                    members |= 1 << beyond
        return lambda _: members

    def bracket(self, flags: frozenset[str]) -> CodePointSet:
        """Read a class in brackets; the opening one has been read."""
        self.deeper()
        start = self.at
        negated = self.accept("^")
        first = self.at
        result: CodePointSet = _nothing
        operand: list[CodePointSet] = []
        operator: Callable[[CodePoints, CodePoints], CodePoints] = int.__or__
        operators = 0
        while self.at == first or not self.accept("]"):
            sign = self.peek(2)
            if sign in _SET_OPERATORS and self.at > first:
                operators += 1
                if operators > MOST_NESTED:
                    raise self.error(f"a class may have at most {MOST_NESTED} operators")
                result = _combine(operator, result, _union(operand))
                operator, operand = _SET_OPERATORS[sign], []
                self.at += 2
            else:
                operand.append(self.bracket_item(flags, first))
        result = _combine(operator, result, _union(operand))
        self.depth -= 1
        members = _complement(result) if negated else result
        return self.class_of(self.pattern[start : self.at], flags, members)

    def bracket_item(self, flags: frozenset[str], first: int) -> CodePointSet:
        """Read one member of a class in brackets, or a range of them."""
        start = self.at
        item = self.bracket_atom(flags)
        hyphen = self.pattern[start] == "-"
        if hyphen and start > first and not self.pattern.startswith("]", self.at):
            raise self.error("a hyphen in the midst of a class must be escaped")
        ahead = self.peek(2)
        if not ahead.startswith("-") or ahead in {"-]", "--"}:
            return self.as_set(item, flags)
        self.at += 1
        last = self.bracket_atom(flags)
        if not isinstance(item, int) or not isinstance(last, int) or last < item:
            raise self.error("a range must go from one character to a later one")
        return self.as_set(item, flags, last)

    def bracket_atom(self, flags: frozenset[str]) -> int | CodePointSet:
        """Read one character, escape or inner class of a class in brackets."""
        if self.pattern.startswith("[:", self.at):
            raise self.error("POSIX brackets mean different sets in different engines")
        if self.oniguruma and self.peek(2) in {r"\w", r"\W"}:
            raise self.error("in brackets this is another set in Oniguruma than outside")
        character = self.take()
        if character == "[":
            return self.bracket(flags)
        return self.escape(flags) if character == "\\" else ord(character)


def _assertion(*parts: Part) -> _Node:
    return _Node(parts, may_be_empty=True, repeatable=False)


_TEXT_ENDS = {"^": _assertion(r"\A"), "$": _assertion(r"\Z")}  # Python's names for them


def _line_end(character: str) -> _Node:
    return _assertion("(?<!" if character == "^" else "(?!", _no_newline, ")")


@cache
def _property(name: str) -> CodePointSet:
    return lambda tables: tables.code_points(name)


def _nothing(_: UnicodeTables) -> CodePoints:
    return 0


def _everything(_: UnicodeTables) -> CodePoints:
    return EVERY_CODE_POINT


def _no_newline(_: UnicodeTables) -> CodePoints:
    return EVERY_CODE_POINT ^ (1 << ord("\n"))


def _complement(members: CodePointSet) -> CodePointSet:
    return lambda tables: EVERY_CODE_POINT ^ members(tables)


def _union(sets: Sequence[CodePointSet]) -> CodePointSet:
    return lambda tables: reduce(int.__or__, (members(tables) for members in sets), 0)


def _combine(
    operator: Callable[[CodePoints, CodePoints], CodePoints],
    left: CodePointSet,
    right: CodePointSet,
) -> CodePointSet:
    return lambda tables: operator(left(tables), right(tables))
