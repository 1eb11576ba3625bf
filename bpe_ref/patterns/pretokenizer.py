r"""Cut a text into pieces, as an engine's regular expression does, whatever is installed here.

Definition
    The pieces of a text are the matches of the pattern, leftmost first, each starting where the
    one before it ended or later, in order. Text that no match covers is dropped, as tiktoken does
    (`find_iter`, tiktoken 0.14.0, src/lib.rs). A set such as `\p{L}` holds the code points that
    the chosen table gives it. `Pretokenizer.pieces_by_definition` is this in Python: every set is
    written out as explicit ranges, and `regex` finds the matches.

The fast way: stand-ins
    cl100k's pattern divides what lies beyond ASCII into five classes of characters that it cannot
    tell apart. One character of each stands in for all of them (see `patterns.stand_ins`, also
    for why the answer is the same). Then the pattern's sets are small: ASCII and a few stand-ins.
    The standard library's `re` needs one look into a table of 256 bits per character, and runs at
    more than twice the speed of `regex` with its own tables.
    Text beyond ASCII is not replaced, but for characters beyond U+FFFF, where `re` can do without:
    it looks sets up to there up in a bitmap. On text of many scripts that is four times faster.

What the sources leave open
    A pattern with a group that repeats is given a time limit, and is a `PatternError` behind it.
    The empty text has no pieces. A pattern that may match the empty text is rejected: tiktoken
    panics when it does. Surrogates, which no engine accepts, count as category Cs.

Source of the patterns' dialect: `rust.py`; of the tables: `unicode_tables.py`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

import regex

from bpe_ref.errors import ParameterError, PatternError
from bpe_ref.patterns.rust import Part, parse
from bpe_ref.patterns.stand_ins import (
    Alphabet,
    BasicAlphabet,
    alphabet_of,
    basic_alphabet_of,
    set_source,
)
from bpe_ref.patterns.unicode_tables import TABLES, CodePoints, UnicodeTables

# Python 3.11.0 to 3.11.4 match possessive groups wrongly (python/cpython#106052).
_NOT_FOR_RE = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+|\(\?>")

# A group that repeats may match a text in exponentially many ways, and `re` knows no time limit.
_MAY_RUN_AWAY = re.compile(r"\)(?:[*+]|\{[0-9]*,?[0-9]*\})")

_SECONDS = 2.0
_SECONDS_PER_CHARACTER = 1e-5


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
        if text.isascii():
            return _search(self.pattern, self.tables).pattern.findall(text)
        if search := _basic_search(self.pattern, self.tables):
            return _basic_pieces(search, text)
        small = _search(self.pattern, self.tables)
        standing = small.alphabet.standing(text)
        pieces = small.pattern.findall(standing)
        start = 0
        for index, piece in enumerate(pieces):
            end = start + len(piece)
            if not piece.isascii():
                pieces[index] = text[start:end]
            start = end
        if start < len(text):  # something was dropped, so the pieces begin elsewhere
            return [text[slice(*match.span())] for match in small.pattern.finditer(standing)]
        return pieces

    def spans(self, text: str) -> list[tuple[int, int]]:
        r"""Return where the pieces of `text` are, as half-open ranges of characters.

        Why this is the same answer: every character has the same sets as its stand-in.

        >>> Pretokenizer(r"\p{Lu}\p{Ll}*").spans("Éa, Ǆ")
        [(0, 2), (4, 5)]
        """
        small = _search(self.pattern, self.tables)
        standing = text if text.isascii() else small.alphabet.standing(text)
        return [match.span() for match in small.pattern.finditer(standing)]

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


@dataclass(frozen=True)
class _Limited:
    """A pattern that may take exponential time, and is stopped after a while."""

    compiled: regex.Pattern[str]
    source: str
    """The pattern as it was given, for the error."""

    def findall(self, text: str, /) -> list[str]:
        """Return the matches. Raises `PatternError` if that takes too long."""
        try:
            found: list[str] = self.compiled.findall(text, timeout=self._seconds(text))
        except TimeoutError:
            raise self._too_long(text) from None
        return found

    def finditer(self, text: str, /) -> list[_Match]:
        """Return the matches. Raises `PatternError` if that takes too long."""
        try:
            return list(self.compiled.finditer(text, timeout=self._seconds(text)))
        except TimeoutError:
            raise self._too_long(text) from None

    def _seconds(self, text: str) -> float:
        return _SECONDS + len(text) * _SECONDS_PER_CHARACTER

    def _too_long(self, text: str) -> PatternError:
        return PatternError(
            f"pattern {self.source!r:.200} must find its matches in time, "
            f"but took too long on a text of {len(text)} characters"
        )


@dataclass(frozen=True)
class _Search:
    """A compiled pattern over ASCII and stand-ins."""

    pattern: _Pattern
    alphabet: Alphabet


@dataclass(frozen=True)
class _BasicSearch:
    """A pattern compiled by `re`, over all characters up to U+FFFF."""

    pattern: _Pattern
    alphabet: BasicAlphabet


@lru_cache(maxsize=64)
def _explicit(pattern: str, tables: str) -> _Pattern:
    """Return the definition of a pattern: every set as ranges of code points."""
    table = TABLES[tables]
    source = "".join(
        part if isinstance(part, str) else set_source(part(table)) for part in parse(pattern, table)
    )
    compiled: _Pattern = regex.compile(source)
    return compiled


@lru_cache(maxsize=64)
def _search(pattern: str, tables: str) -> _Search:
    """Return what `Pretokenizer.pieces` searches with."""
    parts = _with_members(parse(pattern, TABLES[tables]), TABLES[tables])
    alphabet = alphabet_of({part for part in parts if not isinstance(part, str)})
    source = "".join(
        part if isinstance(part, str) else set_source(alphabet.narrowed(part)) for part in parts
    )
    return _Search(_compile_fastest(source, pattern), alphabet)


@lru_cache(maxsize=64)
def _basic_search(pattern: str, tables: str) -> _BasicSearch | None:
    """Return what text beyond ASCII is searched with, if `re` can."""
    parts = _with_members(parse(pattern, TABLES[tables]), TABLES[tables])
    alphabet = basic_alphabet_of({part for part in parts if not isinstance(part, str)})
    if alphabet is None:
        return None
    source = "".join(
        part if isinstance(part, str) else set_source(alphabet.narrowed(part)) for part in parts
    )
    compiled = _compile_with_re(source)
    return None if compiled is None else _BasicSearch(compiled, alphabet)


def _basic_pieces(search: _BasicSearch, text: str) -> list[str]:
    """Return the pieces of a text, putting back what stand-ins stand for."""
    standing = search.alphabet.standing(text)
    pieces = search.pattern.findall(standing)
    if standing is text:
        return pieces
    ends = list(accumulate(map(len, pieces)))
    if not ends or ends[-1] < len(text):  # something was dropped, so the pieces begin elsewhere
        return [text[slice(*match.span())] for match in search.pattern.finditer(standing)]
    for first, behind in search.alphabet.replaced(text):
        for index in range(bisect_right(ends, first), bisect_left(ends, behind) + 1):
            pieces[index] = text[ends[index] - len(pieces[index]) : ends[index]]
    return pieces


def _with_members(parts: Iterable[Part], table: UnicodeTables) -> list[str | CodePoints]:
    return [part if isinstance(part, str) else part(table) for part in parts]


def _compile_fastest(source: str, pattern: str) -> _Pattern:
    """Compile with `re`, or with `regex` what `re` cannot do, or not in a bounded time."""
    if _MAY_RUN_AWAY.search(source):
        return _Limited(regex.compile(source), pattern)
    compiled: _Pattern = _compile_with_re(source) or regex.compile(source)
    return compiled


def _compile_with_re(source: str) -> _Pattern | None:
    """Compile with `re`, or return None for what it cannot do."""
    if _NOT_FOR_RE.search(source) or _MAY_RUN_AWAY.search(source):
        return None
    try:
        return re.compile(source)
    except re.error:  # it wants look-behind of one width
        return None
