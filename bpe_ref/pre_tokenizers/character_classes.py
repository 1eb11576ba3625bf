"""Cut a text at the characters of a class: digits, punctuation, white space.

Definition
    Every character of the class is a match on its own, and `splitting` says
    what becomes of matches. `CharacterClass.find` is this.

The fast way
    What a behavior does with matches of one character is a regular expression
    in itself: `Contiguous`, for instance, makes runs of members (M) and runs of
    others (O). `CharacterClass.cut` searches with it, in a text in which
    stand-ins take the place of characters (see `patterns.stand_ins`).

Why this is the same answer
    A run of n members before another character yields, with `Removed`,
    nothing; with `Isolated` n pieces; with `Contiguous` one. With
    `MergedWithPrevious` the first member ends the piece before the run, if there
    is one, and each other is alone: `O+M?|M`, as a run of others is taken
    together with the member behind it. `MergedWithNext` is the mirror image: the
    last member begins the piece after the run, and it is found from the left
    because `M?O+` fails at every member but the last.

Source: `impl Pattern for Fn(char) -> bool` of Hugging Face tokenizers 0.23.3
(tokenizers/src/tokenizer/pattern.rs). The classes are pinned in
`unicode_tables`, whatever Python is installed; the tests ask the engine about
every code point.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from bpe_ref.aligned_text import Span
from bpe_ref.components import Meeting
from bpe_ref.patterns.matches import Stretch
from bpe_ref.patterns.stand_ins import Alphabet, alphabet_of, set_source
from bpe_ref.patterns.unicode_tables import EVERY_CODE_POINT, TABLES, CodePoints

_BY_BEHAVIOR: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Removed": "O+",
        "Isolated": "M|O+",
        "MergedWithPrevious": "O+M?|M",
        "MergedWithNext": "M?O+|M",
        "Contiguous": "M+|O+",
    }
)


@dataclass(frozen=True)
class CharacterClass:
    """A class by the name that a pinned table gives it.

    >>> CharacterClass("tokenizers-digits", "N").find("ab1")
    [(0, 2, False), (2, 3, True)]
    >>> CharacterClass("tokenizers-digits", "N").cut("MergedWithPrevious", "a12b")
    ['a1', '2', 'b']
    """

    table: str
    name: str

    def find(self, text: str) -> list[Stretch]:
        """Return the matches of the class in a text, which cover it."""
        search = _class_search("(M)|O+", self)
        found = search.pattern.finditer(search.alphabet.standing(text))
        return [(*match.span(), match.lastindex == 1) for match in found]

    def cut(self, behavior: str, text: str) -> list[str]:
        """Return the pieces that a behavior makes of these matches."""
        return _class_search(_BY_BEHAVIOR[behavior], self).pieces(text)

    def meeting(self, behavior: str, left: str, right: str) -> Meeting | None:
        """Return whether a behavior always ends a piece between two characters.

        >>> digits = CharacterClass("tokenizers-digits", "N")
        >>> digits.meeting("Isolated", "1", "2").border, digits.meeting("Isolated", "a", "b").border
        (True, False)
        >>> digits.meeting("MergedWithNext", "1", "a") is None
        True
        """
        table = TABLES[self.table]
        here, there = (table.contains(self.name, ord(one)) for one in (left, right))
        if (here or there) and behavior in {"MergedWithPrevious", "MergedWithNext"}:
            return None
        joined = here == there and (not here or behavior == "Contiguous")
        return Meeting(frozenset(left), frozenset(right), border=not joined)


@dataclass(frozen=True)
class Search:
    """A pattern over an alphabet of stand-ins."""

    alphabet: Alphabet
    pattern: re.Pattern[str]

    def spans(self, text: str) -> list[Span]:
        """Return where the matches lie, in order."""
        return [match.span() for match in self.pattern.finditer(self.alphabet.standing(text))]

    def pieces(self, text: str) -> list[str]:
        """Return the matches."""
        if text.isascii():
            return self.pattern.findall(text)
        return [text[start:end] for start, end in self.spans(text)]


def search_for(source: str, sets: Mapping[str, CodePoints]) -> Search:
    """Return a search for a pattern in which each key of `sets`, one letter, stands for its set.

    >>> search_for("A+", {"A": 0b11 << 0x61}).pieces("ab cba")
    ['ab', 'ba']
    """
    alphabet = alphabet_of(sets.values())
    narrow = {letter: set_source(alphabet.narrowed(members)) for letter, members in sets.items()}
    return Search(alphabet, re.compile("".join(narrow.get(part, part) for part in source)))


@lru_cache(maxsize=32)
def _class_search(source: str, kind: CharacterClass) -> Search:
    """Return a search for a pattern in which M is the class, and O all else."""
    members = TABLES[kind.table].code_points(kind.name)
    return search_for(source, {"M": members, "O": EVERY_CODE_POINT ^ members})
