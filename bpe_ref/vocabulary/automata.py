"""An Aho-Corasick automaton: what ends at the end of a text that grows letter by letter.

A trie answers what *starts* at a place, and must look ahead for it. The automaton never looks back
nor ahead: one state says all that the letters so far mean for the letters to come.

Source: Alfred V. Aho and Margaret J. Corasick, "Efficient String Matching: An Aid to Bibliographic
Search", Communications of the ACM 18(6), 1975.

Representation
    A state is a string that some entry starts with, by number; 0 is the empty string.
    `steps[state * keys + letter]`, where `keys` is an odd number above all letters, is the state
    with the letter added, if there is one. `falls[state]` is the longest proper suffix that is a
    state too, and `ends[state]` the longest entry that the state ends with, itself included, or
    `NOTHING`. `shorter[entry]` leads to the longest entry that is a proper suffix of that entry.
    `open_lengths[state]` is the length of the longest suffix, itself included, that some entry
    starts with and goes on beyond.

Invariant of a search
    The state is the longest suffix of the text so far that some entry starts with. So every entry
    that ends here is a suffix of the state, and an entry that begins before the end of the text,
    and may go on beyond it, begins at most `open_lengths[state]` letters before it.

Why a letter takes constant time, amortised
    A step makes the state one letter longer, a fall shortens it, and there cannot be more falls
    than steps.

The numbers are in one dict and in lists of small integers, not in a dict per state: the 100,000
tokens of cl100k make 217,000 states, and the garbage collector does not look into such tables.
"""

from array import array
from collections.abc import Mapping
from typing import Final

from bpe_ref.errors import ParameterError
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations
from bpe_ref.vocabulary.merges import Spelling
from bpe_ref.vocabulary.tries import NOTHING

ROOT: Final = 0
"""The state before the first letter."""

KEYS: Final = 257
"""So many keys in `steps` belong to a state. An odd number, as a dict finds a place for an int by
its last binary digits: with 256 those would be the letter's, which are nearly always the same."""


class Automaton:
    """Entries from spelling to a number from 0 up, whose letters are below `letters`.

    >>> automaton = Automaton({"b": 0, "ab": 1, "bc": 2})
    >>> state = automaton.step(automaton.step(0, ord("a")), ord("b"))
    >>> automaton.ends[state], automaton.shorter[1], automaton.shorter[0]
    (1, 0, -1)
    >>> automaton.ends[automaton.step(state, ord("c"))]
    2
    """

    def __init__(self, entries: Mapping[Spelling, int], letters: int = KEYS - 1) -> None:
        """Put in the entries; none may have an empty spelling.

        Raises `ParameterError` for a letter beyond `letters`.
        """
        self._keys = letters + 1
        self.steps: dict[int, int] = {}
        self.falls = array("i", [ROOT])
        self.open_lengths = array("i", [0])
        self.ends: list[int] = [NOTHING]
        self.shorter: dict[int, int] = {}
        self._build(entries)

    def step(self, state: int, letter: int) -> int:
        """Return the state after one more letter, given as its number."""
        while True:
            found = self.steps.get(state * self._keys + letter)
            if found is not None:
                return found
            if state == ROOT:
                return ROOT
            state = self.falls[state]

    def _build(self, entries: Mapping[Spelling, int]) -> None:
        steps, ends, keys = self.steps, self.ends, self._keys
        depths = array("i", [0])  # of each state, the length
        leads_on = bytearray(1)  # of each state, whether a longer one starts with it
        reached = [(ROOT, 0)]  # each state but the first: the state before, and the letter
        way: list[int] = [ROOT]  # to the entry before this one, in the alphabet
        before = ""
        for spelling in sorted(entries):
            shared = 0
            for one, other in zip(before, spelling, strict=False):
                if one != other:
                    break
                shared += 1
            del way[shared + 1 :]
            for character in spelling[shared:]:
                letter = ord(character)
                if letter >= keys - 1:
                    rule = f"must have letters below U+{keys - 1:04X}"
                    raise ParameterError("entries", spelling, rule)
                state = len(ends)
                steps[way[-1] * keys + letter] = state
                leads_on[way[-1]] = 1
                leads_on.append(0)
                reached.append((way[-1], letter))
                depths.append(len(way))
                ends.append(NOTHING)
                way.append(state)
            ends[way[-1]] = entries[spelling]
            before = spelling

        # A state falls to where the state before it falls to, and on from there: shorter first.
        falls = self.falls = array("i", [ROOT]) * len(ends)
        open_lengths = self.open_lengths = array("i", [0]) * len(ends)
        for state in sorted(range(1, len(ends)), key=depths.__getitem__):
            previous, letter = reached[state]
            fall = self.step(falls[previous], letter) if previous != ROOT else ROOT
            falls[state] = fall
            open_lengths[state] = depths[state] if leads_on[state] else open_lengths[fall]
            if ends[state] == NOTHING:
                ends[state] = ends[fall]
            else:
                self.shorter[ends[state]] = ends[fall]


def automaton_of_made_tokens(vocabulary: Vocabulary) -> Automaton:
    """Return an automaton of the tokens that merging can make, by place.

    Use it through `vocabulary.remember`. For cl100k it takes 0.7 s to build, and
    35 MB (65 MB meanwhile).

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> vocabulary.remember(automaton_of_made_tokens).shorter[2]
    1
    """
    made = vocabulary.remember(build_derivations)
    return Automaton({vocabulary.spellings[token]: place for place, token in enumerate(made.ids)})


def automaton_of_reversed_tokens(vocabulary: Vocabulary) -> Automaton:
    """Return the same of the tokens spelled backwards, for a text that grows at its front.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> vocabulary.remember(automaton_of_reversed_tokens).shorter[2]
    0
    """
    made = vocabulary.remember(build_derivations)
    return Automaton(
        {vocabulary.spellings[token][::-1]: place for place, token in enumerate(made.ids)}
    )


def lengths_of_made_tokens(vocabulary: Vocabulary) -> list[int]:
    """Return the number of letters of each token that merging can make, by place.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> lengths_of_made_tokens(vocabulary_by_concatenation({b"a": 0, b"aa": 1}))
    [1, 2]
    """
    made = vocabulary.remember(build_derivations)
    return [len(vocabulary.spellings[token]) for token in made.ids]
