r"""Cut a text into pieces, as an engine's regular expression does, whatever is installed here.

Definition
    The pieces of a text are the matches of the pattern, leftmost first, each starting where the
    one before it ended or later, in order. Text that no match covers is dropped, as tiktoken does
    (`find_iter`, tiktoken 0.14.0, src/lib.rs). A set such as `\p{L}` holds the code points that
    the chosen table gives it. `Pretokenizer.pieces_by_definition` is this in Python: every set is
    written out as explicit ranges, and `regex` finds the matches.

The fast way: stand-ins
    The standard library's `re` runs at more than twice the speed of `regex`, and looks sets up to
    U+FFFF up in a bitmap. So a character beyond that is replaced by one below which the pattern
    cannot tell from it (see `patterns.stand_ins`, also for why the answer is the same).
    Patterns for which there is no such character, or which `re` cannot match, see only ASCII and a
    few stand-ins: cl100k's pattern divides the rest of Unicode into five classes of characters.

What the sources leave open
    A pattern with a group that repeats is given a time limit, and is a `PatternError` behind it.
    The empty text has no pieces. A pattern that may match the empty text is rejected: tiktoken
    panics when it does. Surrogates, which no engine accepts, count as category Cs.

Source of the patterns' dialect: `rust.py`; of the tables: `unicode_tables.py`.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from bpe_ref.errors import ParameterError, PatternError
from bpe_ref.patterns.rust import CodePointSet, parse
from bpe_ref.patterns.stand_ins import (
    Alphabet,
    BasicAlphabet,
    alphabet_of,
    basic_alphabet_of,
    compile_with_re,
    set_source,
)
from bpe_ref.patterns.unicode_tables import TABLES, CodePoints

if TYPE_CHECKING:  # loaded when it is needed: `re` is enough for most patterns
    import regex

# A group that repeats may match a text in exponentially many ways, and `re` knows no time limit.
_MAY_RUN_AWAY = re.compile(r"\)(?:[*+]|\{[0-9]*,?[0-9]*\})")

# So may many repetitions one after the other; no published pattern has more than two in a branch.
_REPETITION = re.compile(r"(?:[*+]|\{[0-9]*,\})(?!\+)")
_MOST_REPETITIONS = 3

# `re` takes some milliseconds to compile a set of characters far apart.
_MOST_SETS = 100

_ASCII_BITS = 128
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
        """Raise an error for a pattern that cannot be used."""
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
        standing = search.alphabet.standing(text)
        if standing is text:
            return search.pattern.findall(text)
        pieces = search.alphabet.restored(search.pattern.findall(standing), text)
        if pieces is not None:
            return pieces
        return [text[start:stop] for start, stop in self.spans(text)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        r"""Return where the pieces of `text` are, as half-open ranges of characters.

        Why this is the same answer: every character has the same sets as its stand-in.

        >>> Pretokenizer(r"\p{Lu}\p{Ll}*").spans("Éa, Ǆ")
        [(0, 2), (4, 5)]
        """
        search = _search(self.pattern, self.tables)
        standing = search.alphabet.standing(text)
        return [match.span() for match in search.pattern.finditer(standing)]

    def pieces_by_definition(self, text: str) -> list[str]:
        r"""Return the pieces of `text`, in order, about ten times slower than `pieces`.

        >>> Pretokenizer(r"\p{Lu}\p{Ll}*").pieces_by_definition("Éa, Ǆ")
        ['Éa', 'Ǆ']
        """
        found: list[str] = _explicit(self.pattern, self.tables).findall(text)
        return found


@dataclass(frozen=True)
class _Limited:
    """A pattern that may take exponential time, and is stopped after a while."""

    compiled: "regex.Pattern[str]"
    source: str
    """The pattern as it was given, for the error."""

    def findall(self, text: str) -> list[str]:
        return self._in_time(self.compiled.findall, text)

    def finditer(self, text: str) -> list[Any]:
        return self._in_time(self.compiled.finditer, text)

    def _in_time(self, search: Callable[..., Iterable[Any]], text: str) -> list[Any]:
        """Return what a search finds. Raises `PatternError` if that takes too long."""
        try:
            return list(search(text, timeout=_SECONDS + len(text) * _SECONDS_PER_CHARACTER))
        except TimeoutError:
            raise PatternError(
                f"pattern {self.source!r:.200} must find its matches in time, "
                f"but took too long on a text of {len(text)} characters"
            ) from None


@dataclass(frozen=True)
class _Search:
    """A compiled pattern over an alphabet with stand-ins."""

    pattern: "re.Pattern[str] | regex.Pattern[str] | _Limited"
    """Without groups, so that `findall` returns whole matches."""

    alphabet: Alphabet | BasicAlphabet


@lru_cache(maxsize=64)
def _explicit(pattern: str, tables: str) -> "regex.Pattern[str]":
    """Return the definition of a pattern: every set as ranges of code points."""
    return _compile_with_regex(_source(_parts(pattern, tables)))


@lru_cache(maxsize=64)
def _search(pattern: str, tables: str) -> _Search:
    """Return what `Pretokenizer.pieces` searches with."""
    parts = _parts(pattern, tables)
    sets = list({id(part): part for part in parts if not isinstance(part, str)}.values())
    many = sum(type(part) is int and part.bit_length() > _ASCII_BITS for part in parts) > _MOST_SETS
    basic = None if many else basic_alphabet_of(sets)
    if basic is not None:
        compiled = _compile_with_re(_source(parts, basic))
        if compiled is not None:
            return _Search(compiled, basic)
    small = alphabet_of(sets)
    return _Search(_compile_fastest(_source(parts, small), pattern), small)


def _parts(pattern: str, tables: str) -> list[str | CodePoints]:
    table = TABLES[tables]
    known: dict[CodePoints, CodePoints] = {}

    @cache
    def members_of(part: CodePointSet) -> CodePoints:
        return known.setdefault(members := part(table), members)

    return [part if isinstance(part, str) else members_of(part) for part in parse(pattern, table)]


def _source(
    parts: Collection[str | CodePoints], alphabet: Alphabet | BasicAlphabet | None = None
) -> str:
    """Return the source of a pattern, its sets as ranges of an alphabet."""
    written: dict[int, str] = {}
    for part in parts:
        if not isinstance(part, str) and id(part) not in written:
            members = part if alphabet is None else alphabet.narrowed(part)
            written[id(part)] = set_source(members)
    return "".join(part if isinstance(part, str) else written[id(part)] for part in parts)


def _compile_fastest(
    source: str, pattern: str
) -> "re.Pattern[str] | regex.Pattern[str] | _Limited":
    """Compile with `re`, or with `regex` what `re` cannot do, or not in a bounded time."""
    if _may_run_away(source):
        return _Limited(_compile_with_regex(source), pattern)
    return _compile_with_re(source) or _compile_with_regex(source)


def _compile_with_regex(source: str) -> "regex.Pattern[str]":
    import regex

    return regex.compile(source)


def _may_run_away(source: str) -> bool:
    """Return whether a search may take far more time than the length of the text."""
    most = max(len(_REPETITION.findall(branch)) for branch in source.split("|"))
    return most > _MOST_REPETITIONS or _MAY_RUN_AWAY.search(source) is not None


def _compile_with_re(source: str) -> re.Pattern[str] | None:
    """Compile with `re`, or return None for what it cannot do, or not in a bounded time."""
    return None if _may_run_away(source) else compile_with_re(source)
