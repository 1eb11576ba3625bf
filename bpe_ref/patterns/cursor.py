"""The place in a pattern: the one thing that the readers of both dialects change."""

import re

from bpe_ref.errors import PatternError
from bpe_ref.patterns.unicode_tables import CodePoints

MOST_CHARACTERS = 10_000
MOST_NESTED = 50
MOST_SETS = 300
MOST_REPEATS = 100_000


class Cursor:
    """The place in a pattern, and what reading it has found so far.

    Attributes:
        pattern: the whole pattern.
        at: the index of the next character.
        names: the numbers of the groups of each name.
        groups: how many groups have been opened.
        names_only: only groups with a name capture, since there is one.

    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.names: dict[str, tuple[int, ...]] = {}
        self.groups = 0
        self.names_only = False
        self._sets: dict[CodePoints, CodePoints] = {}
        self._same: dict[int, CodePoints] = {}
        self._boundaries = 0
        if len(pattern) > MOST_CHARACTERS:
            rule = f"a pattern may have at most {MOST_CHARACTERS} characters, not {len(pattern)}"
            raise self.error(rule)

    def error(self, reason: str, at: int | None = None) -> PatternError:
        """Return the exception that says what is wrong at a place, by default the current one."""
        place = self.at if at is None else at
        shown = self.pattern if len(self.pattern) <= 200 else self.pattern[:200] + "..."
        return PatternError(f"pattern {shown!r} cannot be used: at {place}, {reason}")

    def peek(self, length: int = 1) -> str:
        """Return the next characters without stepping over them."""
        return self.pattern[self.at : self.at + length]

    def accept(self, text: str) -> bool:
        """Step over `text` if it comes next."""
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def accept_match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Step over what `expression` matches here, if it does."""
        match = expression.match(self.pattern, self.at)
        if match:
            self.at = match.end()
        return match

    def take(self) -> str:
        """Step over one character and return it."""
        if self.at == len(self.pattern):
            raise self.error("the pattern ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def count_boundary(self) -> None:
        """Raise `PatternError` for too many word boundaries, each of which is four looks."""
        self._boundaries += 1
        if self._boundaries > MOST_SETS:
            raise self.error(f"a pattern may have at most {MOST_SETS} word boundaries")

    def one_of(self, members: CodePoints) -> CodePoints:
        """Return the set; equal sets become one object, and there are not too many of them."""
        if self._same.get(id(members)) is members:  # hashing a set takes longer than reading it
            return members
        known = self._sets.setdefault(members, members)
        if len(self._sets) > MOST_SETS:
            raise self.error(f"a pattern may have at most {MOST_SETS} different sets")
        return self._same.setdefault(id(known), known)
