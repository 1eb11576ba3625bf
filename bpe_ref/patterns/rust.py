r"""Read a pre-tokenization pattern in the dialect of tiktoken, and write it in Oniguruma's.

The dialect is that of the Rust crates `fancy-regex` and `regex`. `read` returns what a pattern is
made of (`nodes`), with the sets of code points that a table gives it. So what a pattern
matches depends neither on an engine's syntax nor on its tables.

Spelled out
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

Where Oniguruma reads otherwise (in its Ruby syntax, as the `Split` of tokenizers uses it)
    `$` and `^` are the ends of every line, whatever the flags. `{1,3}+` repeats a repetition, and
    `{2}?` is "twice or not at all". `\xE9` is a byte. The flags m and s mean other things, and a
    switch such as `(?i)` ends the branch. Under `(?i)` two letters that have a ligature, such as
    ss, are folded together. `[\w]` lacks six superscripts and fractions that `\w` has.

    *If the table is Oniguruma's*, a pattern is one for that `Split`: `$` is the end of a line, and
    all others of these are rejected.
    *`to_oniguruma`* writes a pattern with tiktoken's tables so that Oniguruma reads it with the
    same meaning: `\z` and `\A`, `(?>\p{N}{1,3})`, `{2}`, `\x{E9}`. It refuses flags besides i, a
    switch that is not at the very start, such letters under `(?i)`, and the operators `--` and
    `~~`, which Oniguruma lacks. Marks are written by their code points, since `\<` and others are
    anchors there.

Source: https://docs.rs/regex and https://docs.rs/fancy-regex, and tiktoken 0.14.0 as executed;
https://github.com/kkos/oniguruma/blob/master/doc/RE, and tokenizers 0.23.3 as executed.
"""

import re
from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Final, NamedTuple

from bpe_ref.errors import PatternError
from bpe_ref.patterns.cursor import MOST_NESTED, MOST_REPEATS, MOST_SETS, Cursor
from bpe_ref.patterns.expression import Expression
from bpe_ref.patterns.nodes import (
    Atomic,
    Choice,
    Look,
    Node,
    One,
    Place,
    Repeat,
    Sequence,
    has_boundary,
)
from bpe_ref.patterns.unicode_tables import (
    CODE_POINT_COUNT,
    EVERY_CODE_POINT,
    TABLES,
    CodePoints,
    UnicodeTables,
    code_point_range,
)

_MOST_DIGITS = 6

_LAST_ASCII = 0x7F
_SURROGATES = range(0xD800, 0xE000)
_FOLDS_BEYOND_ASCII = {"s": 0x17F, "k": 0x212A}
_FOLDED_PAIRS: Final = ("ss", "ff", "fi", "fl", "st")  # in Oniguruma: U+00DF, U+FB00 to FB06
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(?=,?\d)(\d*)(?:(,)(\d*))?\})([+?]?)")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_GROUP = re.compile(r"\((\?>|\?=|\?!|\?<=|\?<!|\?P?<[A-Za-z_]\w*>|(?!\?))")
_HEXADECIMAL = re.compile(
    r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]{1,8})\}"
)
_PROPERTY = re.compile(r"([pP])\{(\^?)([A-Za-z_]+)\}")
_CONTROL = {"a": 0x07, "e": 0x1B, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_SHORTHANDS = {"d": "Nd", "s": "White_Space", "w": "word"}
_WORD = re.compile(r"(?<!\\)(?:\\\\)*\\[wWbB]")
_SET_OPERATORS: dict[str, Callable[[CodePoints, CodePoints], CodePoints]] = {
    "&&": lambda left, right: left & right,
    "--": lambda left, right: left & ~right,
    "~~": lambda left, right: left ^ right,
}
_LACKED_OPERATORS = {"--", "~~"}  # by Oniguruma
_SPELLED = {"{": r"\x{7b}", "}": r"\x{7d}"}
_NO_NEWLINE: CodePoints = EVERY_CODE_POINT ^ (1 << ord("\n"))


class _Read(NamedTuple):
    """A stretch of the pattern that was read."""

    node: Node
    may_be_empty: bool
    repeatable: bool = True
    copies: int = 1
    """How many atoms it is made of if every copy of a repetition is written."""


def read(pattern: str, tables: UnicodeTables, *, decode: bool = True) -> Node:
    r"""Return what a pattern is made of.

    If the pattern is only to be checked, nothing is decoded: without `decode`, sets hold anything.

    Raises `PatternError` for what the module's introduction calls rejected, and for bad syntax.

    >>> from bpe_ref.patterns.unicode_tables import TABLES
    >>> table = TABLES["unicode-16.0"]
    >>> letters = read(r"\p{L}++", table).body
    >>> letters.least, letters.most, letters.body.members.bit_count()
    (1, None, 141028)
    >>> read(r"\p{Greek}", table)
    Traceback (most recent call last):
    bpe_ref.errors.PatternError: pattern '\\p{Greek}' cannot be used: at 0, table unicode-16.0 ...
    """
    return _Reader(pattern, tables, decode=decode).whole()


@lru_cache(maxsize=64)
def compile_rust(pattern: str, tables: str) -> Expression:
    """Return the pattern, read with the table of that name.

    Raises `PatternError` as `read` does.

    >>> compile_rust("a+", "unicode-16.0").spans("baa")
    [(1, 3)]
    """
    table = TABLES[tables]
    node = read(pattern, table)
    words = table.code_points("word") if has_boundary(node) else 0
    return Expression(pattern, node, words, runs_matter=False)


def to_oniguruma(pattern: str) -> str:
    r"""Return a pattern with tiktoken's tables in Oniguruma's dialect.

    Raises `PatternError`, with the place, for what Oniguruma lacks, and as `read` does.

    >>> to_oniguruma(r"\p{N}{1,3}+|\s++$|[\r\n]")
    '(?>\\p{N}{1,3})|\\s++\\z|[\\r\\n]'
    >>> to_oniguruma("a(?i)b")
    Traceback (most recent call last):
    bpe_ref.errors.PatternError: the pattern has '(?i)b' at 1, which Oniguruma...
    """
    reader = _Reader(pattern, TABLES["unicode-16.0"], decode=False)
    reader.whole()
    lacked = [] if reader.lacked is None else [reader.lacked]
    lower = pattern.lower()
    if "(?i" in pattern:
        lacked = [lower.index(pair) for pair in _FOLDED_PAIRS if pair in lower] or lacked
    if lacked:
        raise PatternError(
            f"the pattern has {pattern[lacked[0] : lacked[0] + 12]!r} at {lacked[0]}, "
            "which Oniguruma does not have in this meaning"
        )
    return "".join(reader.written)


def asks_for_words(pattern: str) -> bool:
    r"""Return whether a pattern uses `\w` or `\b`, the only classes about which engines differ.

    >>> asks_for_words(r"\b\p{L}+"), asks_for_words(r"\\w")
    (True, False)
    """
    return _WORD.search(pattern) is not None


class _Reader(Cursor):
    """The pattern, how far it has been read, and the tables that name its sets.

    Attributes:
        written: what was read so far, in Oniguruma's dialect.
        lacked: the first place with something that Oniguruma lacks.

    """

    def __init__(self, pattern: str, tables: UnicodeTables, *, decode: bool) -> None:
        super().__init__(pattern)
        self.tables = tables
        self.decode = decode
        self.depth = 0
        self.classes: dict[tuple[str, frozenset[str]], CodePoints] = {}
        self.oniguruma = tables.name == "unicode-16.0-oniguruma"
        self.written: list[str] = []
        self.lacked: int | None = None

    def whole(self) -> Node:
        """Read the whole pattern."""
        found = self.alternation(frozenset())
        if self.at < len(self.pattern):
            raise self.error("a group closes that was never opened")
        if found.may_be_empty:
            raise self.error("it may match the empty text, where the engine panics", 0)
        if self.pattern.startswith("(?i)"):
            self.written.append(")")
        return found.node

    def alternation(self, flags: frozenset[str]) -> _Read:
        """Read up to the end of the group."""
        branches: list[list[_Read]] = [[]]
        while self.peek() not in {"", ")"}:
            if self.accept("|"):
                self.written.append("|")
                branches.append([])
            elif (changed := self.switch(flags)) is not None:
                flags = changed  # for the rest of this group, its other branches included
            else:
                branches[-1].append(self.quantified(flags))
        nodes = [_in_order([each.node for each in branch]) for branch in branches]
        copies = sum(each.copies for branch in branches for each in branch)
        may_be_empty = any(all(each.may_be_empty for each in branch) for branch in branches)
        return _Read(
            nodes[0] if len(nodes) == 1 else Choice(tuple(nodes)), may_be_empty, copies=copies
        )

    def deeper(self) -> None:
        """Count a group or class that opens. Raises `PatternError` if it is nested too deeply."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self.error(f"groups and classes may be nested at most {MOST_NESTED} deep")

    def lack(self, at: int) -> None:
        """Note that Oniguruma lacks what is at a place."""
        self.lacked = at if self.lacked is None else self.lacked

    def switch(self, flags: frozenset[str]) -> frozenset[str] | None:
        """Read `(?i)` and return the flags then in force, or None if something else comes."""
        match = _FLAGS.match(self.pattern, self.at)
        if match is None or match[3] == ":":
            return None
        if self.oniguruma:
            raise self.error("flags without a group reach over branches in Oniguruma")
        changed = self.changed_flags(flags, match)
        if self.at == 0 and match[0] == "(?i)":
            self.written.append("(?i:")
        else:
            self.lack(self.at)
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

    def quantified(self, flags: frozenset[str]) -> _Read:
        """Read one atom and the quantifier behind it, if any."""
        begin = len(self.written)
        atom = self.atom(flags)
        match = _QUANTIFIER.match(self.pattern, self.at)
        if match is None:
            return atom
        if not atom.repeatable:
            raise self.error("there is nothing to repeat")
        fewest, largest = self.bounds(match)
        times = max(1, fewest, largest or 0)
        copies = atom.copies * times
        if times > 1 and copies > MOST_REPEATS:
            raise self.error(f"quantifiers may say at most {MOST_REPEATS} together")
        if atom.may_be_empty and (largest is None or largest > 1):
            raise self.error("what is repeated may be empty")
        self.at = match.end()
        if _QUANTIFIER.match(self.pattern, self.at):
            raise self.error("a quantifier follows a quantifier")
        self.write_quantifier(match, begin)
        repeat = Repeat(atom.node, fewest, largest, greedy=match[5] != "?")
        node = Atomic(repeat) if match[5] == "+" else repeat
        return _Read(node, atom.may_be_empty or fewest == 0, copies=copies)

    def bounds(self, match: re.Match[str]) -> tuple[int, int | None]:
        """Return how often at least and at most a quantifier repeats; None: no bound."""
        sign, least, comma, most, mode = match.groups("")
        if sign:
            return int(sign == "+"), 1 if sign == "?" else None
        if max(len(least), len(most)) > _MOST_DIGITS:
            raise self.error(f"a quantifier may say at most {MOST_REPEATS}")
        fewest = int(least or "0")
        largest = int(most) if most else None if comma else fewest
        if largest is not None and largest < fewest:
            raise self.error("the quantifier's bounds must be in order")
        if mode and self.oniguruma:  # + repeats there, and ? makes {2} optional
            raise self.error(f"{mode!r} after braces has another meaning in Oniguruma")
        return fewest, largest

    def write_quantifier(self, match: re.Match[str], begin: int) -> None:
        """Write a quantifier in Oniguruma's dialect, behind the atom written from `begin` on."""
        sign, least, comma, most, mode = match.groups("")
        bounds = f"{{{least or '0'}{comma}{most}}}"
        if sign:
            self.written.append(sign + mode)
        elif mode == "+":
            self.written[begin:] = ["(?>", *self.written[begin:], bounds, ")"]
        else:
            self.written.append(bounds + (mode if comma else ""))

    def atom(self, flags: frozenset[str]) -> _Read:
        """Read what a quantifier may follow, or an assertion."""
        if _QUANTIFIER.match(self.pattern, self.at):
            raise self.error("there is nothing to repeat")
        if self.peek() == "(":
            return self.group(flags)
        character = self.take()
        if character in "^$":
            return self.end(flags, is_start=character == "^")
        if self.oniguruma and "i" in flags and self.folds_into_one():
            raise self.error("Oniguruma folds these two letters into one")
        if character == "\\" and (assertion := self.escaped_assertion()) is not None:
            return assertion
        match character:
            case "[":
                members = self.bracket(flags)
            case ".":
                self.written.append(".")
                members = EVERY_CODE_POINT if "s" in flags else _NO_NEWLINE
            case "\\":
                members = self.literal(self.escape(flags), flags)
            case _:
                self.written.append(_SPELLED.get(character, character))
                members = self.literal(character, flags)
        return _Read(One(members), may_be_empty=False)

    def end(self, flags: frozenset[str], *, is_start: bool) -> _Read:
        """Return what `^` or `$` is."""
        if is_start and self.oniguruma:
            raise self.error("a caret has another meaning in Oniguruma")
        self.written.append(r"\A" if is_start else r"\z")
        of_lines = "m" in flags or self.oniguruma
        if not is_start:
            return _assertion(Place("$" if of_lines else "z"))
        if not of_lines:
            return _assertion(Place("A"))
        return _assertion(Look(One(_NO_NEWLINE), behind=True, negative=True))

    def literal(self, item: str | CodePoints, flags: frozenset[str]) -> CodePoints:
        """Return the set that an atom stands for; a letter beyond ASCII counts as a class."""
        members = self.as_set(item, flags)
        if not isinstance(item, str) or item.isascii():
            return members
        return self.class_of(item, flags, members)

    def class_of(self, source: str, flags: frozenset[str], members: CodePoints) -> CodePoints:
        """Return the first of equal classes. Raises `PatternError` if there are too many."""
        known = self.classes.setdefault((source, flags), members)
        if len(self.classes) > MOST_SETS:
            raise self.error(f"a pattern may have at most {MOST_SETS} different classes")
        return known

    def folds_into_one(self) -> bool:
        """Return whether the last letter and the next one fold like one, as ss and U+00DF do."""
        return self.pattern[self.at - 1 : self.at + 1].lower() in _FOLDED_PAIRS

    def group(self, flags: frozenset[str]) -> _Read:
        """Read a group, its brackets included. Nothing is captured."""
        start, kind = self.at, ""
        if match := self.accept_match(_FLAGS):
            flags = self.changed_flags(flags, match)
            if match[0] not in {"(?:", "(?i:", "(?-i:"}:
                self.lack(start)
            self.written.append(match[0])
        elif match := self.accept_match(_GROUP):
            kind = match[1] if match[1][-1:] in {"=", "!"} or match[1] == "?>" else ""
            self.written.append(f"({kind}" if kind else "(?:")  # nothing refers to a name
        else:
            raise self.error("this kind of group is not known")
        self.deeper()
        inner = self.alternation(flags)
        self.depth -= 1
        if not self.accept(")"):
            raise self.error("a group is never closed")
        self.written.append(")")
        if kind == "?>":
            return inner._replace(node=Atomic(inner.node))
        if kind:
            look = Look(inner.node, behind="<" in kind, negative=kind[-1] == "!")
            return _assertion(look, copies=inner.copies)
        return inner

    def escaped_assertion(self) -> _Read | None:
        r"""Read the rest of `\A`, `\z`, `\b` or `\B`, if one of them comes."""
        letter = self.peek()
        if letter not in {"A", "z", "b", "B"} or self.peek(2) in {"b{", "B{"}:
            return None
        self.at += 1
        if letter in "bB":
            self.count_boundary()
            self.property_set("word")
        self.written.append("\\" + letter)
        return _assertion(Place(letter))

    def escape(self, flags: frozenset[str]) -> str | CodePoints:
        """Read what follows a backslash: a character, or a set of them."""
        start = self.at - 1
        if match := _PROPERTY.match(self.pattern, self.at):
            letter, caret, name = match.groups()
            if name == "word":
                raise self.error(f"table {self.tables.name} has no property {name!r}", start)
            negated = (letter == "P") != (caret == "^")
            members = self.property_set(name, negated=negated, at=start)
            if "i" in flags:  # the shorthands are exempt from folding, properties are not
                raise self.error("case beyond ASCII cannot be folded", start)
            self.at = match.end()
            self.written.append("\\" + match[0])
            return members
        if match := self.accept_match(_HEXADECIMAL):
            digits = next(filter(None, match.groups()))
            value = int(digits, 16)
            if self.oniguruma and match[1] and value > _LAST_ASCII:
                raise self.error("this escape is a byte in Oniguruma, and no code point")
            if value >= CODE_POINT_COUNT or value in _SURROGATES:
                raise self.error("an escape must name a Unicode scalar value")
            self.written.append(rf"\x{{{digits}}}")
            return chr(value)
        character = self.take()
        if character in _CONTROL or character.lower() in _SHORTHANDS:
            self.written.append("\\" + character)
            if character in _CONTROL:
                return chr(_CONTROL[character])
            name = _SHORTHANDS[character.lower()]
            return self.property_set(name, negated=character.isupper())
        # A backslash takes the meaning from a mark; but `\<` and `\>` have one of their own.
        if character.isascii() and not character.isalnum() and character not in "<>":
            self.written.append(rf"\x{{{ord(character):x}}}")
            return character
        raise self.error(f"there is no escape for {character!r}", start)

    def property_set(
        self, name: str, *, negated: bool = False, at: int | None = None
    ) -> CodePoints:
        """Return the set of a property of the table, or what is outside of it."""
        if name not in self.tables.properties:
            raise self.error(f"table {self.tables.name} has no property {name!r}", at)
        members = self.tables.code_points(name) if self.decode else 0
        return self.one_of(EVERY_CODE_POINT ^ members) if negated else members

    def as_set(self, item: str | CodePoints, flags: frozenset[str], last: str = "") -> CodePoints:
        """Return the set that `item`, or the range from `item` to `last`, stands for."""
        if not isinstance(item, str):
            return item
        last = last or item
        members = code_point_range(ord(item), ord(last))
        if "i" in flags:
            if not last.isascii():
                raise self.error("case beyond ASCII cannot be folded")
            for character in map(chr, range(ord(item), ord(last) + 1)):
                members |= 1 << ord(character.swapcase())
                if beyond := _FOLDS_BEYOND_ASCII.get(character.lower()):
                    members |= 1 << beyond
        return members

    def bracket(self, flags: frozenset[str]) -> CodePoints:
        """Read a class in brackets; the opening one has been read."""
        self.deeper()
        start = self.at
        negated = self.accept("^")
        self.written.append("[^" if negated else "[")
        first = self.at
        result: CodePoints = 0
        operand: list[CodePoints] = []
        operator: Callable[[CodePoints, CodePoints], CodePoints] = int.__or__
        operators = 0
        while self.at == first or not self.accept("]"):
            sign = self.peek(2)
            if sign in _LACKED_OPERATORS or sign.startswith("]"):
                self.lack(self.at)
            if sign in _SET_OPERATORS and self.at > first:
                operators += 1
                if operators > MOST_NESTED:
                    raise self.error(f"a class may have at most {MOST_NESTED} operators")
                result = operator(result, reduce(int.__or__, operand, 0))
                operator, operand = _SET_OPERATORS[sign], []
                self.at += 2
                self.written.append(sign)
            else:
                operand.append(self.bracket_item(flags, first))
        self.written.append("]")
        result = operator(result, reduce(int.__or__, operand, 0))
        self.depth -= 1
        members = EVERY_CODE_POINT ^ result if negated else result
        return self.class_of(self.pattern[start : self.at], flags, members)

    def bracket_item(self, flags: frozenset[str], first: int) -> CodePoints:
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
        self.written.append("-")
        last = self.bracket_atom(flags)
        if not isinstance(item, str) or not isinstance(last, str) or last < item:
            raise self.error("a range must go from one character to a later one")
        return self.as_set(item, flags, last)

    def bracket_atom(self, flags: frozenset[str]) -> str | CodePoints:
        """Read one character, escape or inner class of a class in brackets."""
        if self.pattern.startswith("[:", self.at):
            raise self.error("POSIX brackets mean different sets in different engines")
        if self.oniguruma and self.peek(2) in {r"\w", r"\W"}:
            raise self.error("in brackets this is another set in Oniguruma than outside")
        character = self.take()
        if character == "[":
            return self.bracket(flags)
        if character == "\\":
            return self.escape(flags)
        self.written.append(character)
        return character


def _assertion(node: Node, copies: int = 1) -> _Read:
    return _Read(node, may_be_empty=True, repeatable=False, copies=copies)


def _in_order(nodes: list[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else Sequence(tuple(nodes))
