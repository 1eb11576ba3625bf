"""At each place in a text, the entries of a list that start there, the longest first.

Definition
    An entry starts at a place if the text goes on with it from there.

Two ways to look
    *By length*: entries are kept by their first two letters, with all lengths
    that occur, and those of one letter by that; at a place, try each length of its
    letters. That takes time in proportion to the sum of those lengths, so it is
    used while no first letter's sum is above `MOST_LETTERS_TRIED`, as in every real
    tokenizer.

    *By automaton*: read the text backwards with an automaton of the reversed entries (`automata`).
    It reads each letter of the text once, whatever the entries are, but needs memory for each
    letter of the entries, `MOST_LETTERS` of them at most.

Why this is the same answer
    Both list exactly the entries that start at a place: the first by comparing,
    the second because an entry that starts here is, reversed, an end of what was read.

If only the longest entry is wanted
    `pattern_of_longest` returns a regular expression, in which entries share their beginnings.
    Where they part, they go on with different letters, so at most one of the ways matches; and
    what may be left out is tried first.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from bpe_ref.errors import VocabularyError
from bpe_ref.vocabulary.automata import ROOT, Automaton
from bpe_ref.vocabulary.tries import NOTHING

MOST_LETTERS_TRIED: Final = 4096
"""The most letters that a search by length compares at one place."""

MOST_LETTERS: Final = 1 << 21
"""The most letters of entries that an automaton is built for."""


def searcher_of(entries: Sequence[str]) -> "Searcher":
    """Return what looks for these entries; none may be empty.

    Raises `VocabularyError` for more letters than an automaton can be built for.

    >>> searcher_of(["a", "ab", "b"]).matches("cab").lengths_at(1)
    [2, 1]
    """
    lengths: dict[str, set[int]] = {}
    for entry in entries:
        lengths.setdefault(entry[0], set()).add(len(entry))
    if max(map(sum, lengths.values()), default=0) <= MOST_LETTERS_TRIED:
        return ByLength(frozenset(entries))
    letters = sum(map(len, entries))
    if letters > MOST_LETTERS:
        raise VocabularyError(
            f"tokens as long as these must have at most {MOST_LETTERS} characters together, "
            f"got {letters}"
        )
    return ByAutomaton(entries)


def pattern_of_longest(entries: Sequence[str]) -> str:
    """Return a pattern that matches the longest entry; they are sorted, and none is empty.

    It nests as deep as there are entries that begin with one another.

    >>> pattern_of_longest(["<a>", "<b>", "x", "xx"])
    '<(?:a>|b>)|x(?:x)?'
    """
    ways: list[str] = []
    for _, alike in groupby(entries, key=itemgetter(0)):
        group = list(alike)
        beside = enumerate(zip(group[0], group[-1], strict=False))
        length = next((at for at, (one, other) in beside if one != other), len(group[0]))
        shared = group[0][:length]  # what the first and the last begin with, all begin with
        tails = [entry[len(shared) :] for entry in group if entry != shared]
        optional = "?" if len(tails) < len(group) else ""
        way = f"(?:{pattern_of_longest(tails)}){optional}" if tails else ""
        ways.append(re.escape(shared) + way)
    return "|".join(ways)


class ByLength:
    """Looks for entries by their first letters and their lengths.

    >>> ByLength(frozenset({"a", "ab"})).matches("ba").next_place(0)
    1
    """

    def __init__(self, entries: frozenset[str]) -> None:
        self.entries = entries
        lengths: dict[str, set[int]] = {}
        for entry in entries:
            lengths.setdefault(entry[:2], {1} if entry[0] in entries else set()).add(len(entry))
        self.lengths = {first: sorted(found)[::-1] for first, found in lengths.items()}
        letters = "".join(map(re.escape, sorted({entry[0] for entry in entries})))
        self.first_letter = re.compile(f"[{letters}]" if letters else "(?!)")

    def may_match(self, text: str) -> bool:
        """Return, at once, whether an entry may start somewhere in the text."""
        return self.first_letter.search(text) is not None

    def matches(self, text: str) -> "_MatchesByLength":
        """Return what starts at each place of the text."""
        return _MatchesByLength(self, text)


class _MatchesByLength:
    def __init__(self, searcher: ByLength, text: str) -> None:
        self.searcher = searcher
        self.text = text

    def lengths_at(self, place: int) -> Sequence[int]:
        """Return the lengths of the entries that start there, the longest first."""
        text, lengths_of, entries = self.text, self.searcher.lengths, self.searcher.entries
        lengths = lengths_of.get(text[place : place + 2])
        if lengths is None:
            return lengths_of.get(text[place], ())  # of one letter
        left = len(text) - place
        return [n for n in lengths if n <= left and text[place : place + n] in entries]

    def next_place(self, start: int) -> int | None:
        """Return a place from `start` on, with none before it at which an entry starts."""
        found = self.searcher.first_letter.search(self.text, start)
        return found.start() if found else None


class ByAutomaton:
    """Looks for entries with an automaton of the reversed ones, which reads the text backwards.

    >>> ByAutomaton(["a", "ab", "b"]).matches("cab").lengths_at(1)
    [2, 1]
    """

    def __init__(self, entries: Sequence[str]) -> None:
        self.lengths = list(map(len, entries))
        reversed_entries = {entry[::-1]: number for number, entry in enumerate(entries)}
        self.automaton = Automaton(reversed_entries, letters=0x110000)

    def may_match(self, text: str) -> bool:
        """Return whether there is any text; more only reading it would tell."""
        return bool(text)

    def matches(self, text: str) -> "_MatchesByAutomaton":
        """Return what starts at each place of the text."""
        return _MatchesByAutomaton(self, text)


class _MatchesByAutomaton:
    def __init__(self, searcher: ByAutomaton, text: str) -> None:
        self.searcher = searcher
        automaton, state = searcher.automaton, ROOT
        self.longest = [NOTHING] * len(text)  # the longest entry that starts at each place
        for place in range(len(text) - 1, -1, -1):
            state = automaton.step(state, ord(text[place]))
            self.longest[place] = automaton.ends[state]

    def lengths_at(self, place: int) -> Sequence[int]:
        """Return the lengths of the entries that start there, the longest first."""
        found, entry = [], self.longest[place]
        while entry != NOTHING:
            found.append(self.searcher.lengths[entry])
            entry = self.searcher.automaton.shorter[entry]
        return found

    def next_place(self, start: int) -> int | None:
        """Return a place from `start` on, with none before it at which an entry starts."""
        return start if start < len(self.longest) else None


Searcher: TypeAlias = ByLength | ByAutomaton
"""Looks for entries in texts."""
