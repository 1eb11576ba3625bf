r"""At which places the registry's patterns certainly cut, whatever else the text holds.

    A place is certain if, for every text x that ends with the character left
    of it and every text y that starts with the one right of it, the pieces of
    x + y are those of x and then those of y.

Then token counts add up there, for every vocabulary: merges never cross pieces.
No pattern of the registry looks back, so all that must be shown is that no
piece of x + y reaches over the place, and that the pieces up to it do not
depend on y. Only two things in these patterns look ahead: `\s+(?!\S)` and
`\s++$` look one character beyond a run of white space, and so a place right
after white space is certain only where neither matters.

Proofs, by the kinds of the characters left and right (see `kinds`)
    gpt2. A piece is a contraction, a run of one class (letters, numbers,
    others) with at most one space before it, or white space. *No white space,
    then white space*: no piece has the latter after the former. *Two different
    classes*: no piece has both, but for an apostrophe and letters. In both
    cases what comes before matches the same up to the place: the run ends
    there, as it would at the end of the text.
    cl100k, voyage3. A letter piece may start with one character of any kind
    but line ends, letters and numbers; a run of others may end in line ends.
    *A letter, then no letter*: letter pieces end with their letters. *A number,
    then no number*, *other, then number*, *other, then blank*: no piece has
    both in this order. *A line end, then no white space*: nothing goes on
    after a line end but white space; and x ends with a run of white space that
    ends in a line end, all of which is one piece by `\s*[\r\n]` (or belongs to
    the others before it) in x + y, and the same by `\s++$` in x. In voyage3
    numbers are alone, so it cuts also *between two numbers*.
    o200k. As cl100k, but words may hold marks, and end in a contraction: so
    not before an apostrophe, and not beside marks, but *a mark, then blank or
    number*. A run of others may end in line ends and slashes: so not between a
    line end and a slash. *Lower case, then upper case*: a word has its upper
    case before its lower case. The one exception is `'lL`, a contraction
    whatever the case: so not after an apostrophe.

With normalization (NFC)
    Below U+0300 no character changes by itself, none joins the one before it,
    and none is moved. So where all characters around the place are below,
    normalizing x + y is normalizing x and then y, and the kinds around the
    place are those of the original.

Runs
    Where the last four characters and the new one are of one *run* (see
    `runs`), the new one makes the last piece longer and changes nothing else:
    the contraction that might swallow the first letters has three characters
    at most, and what a run may follow has been decided by then. In front of
    four characters of its own kind, a new first character makes the first
    piece longer, for the same reasons.

Checked in tests/test_cutting.py for all texts of five characters, one or two of
each kind, and by Hypothesis.
"""

from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Final

from bpe_ref.cutting.kinds import (
    BLANKS,
    KINDS,
    LETTERS,
    LINE_ENDS,
    MARKS,
    NUMBERS,
    OTHERS,
    Kinds,
    kinds_of,
)
from bpe_ref.registry import REGISTRY

REACH: Final = 4
"""So many characters of one run tell that the next one belongs to it."""

_FIRST_MARK: Final = "\u0300"


def _pairs(*products: tuple[str, str]) -> frozenset[str]:
    return frozenset(a + b for left, right in products for a, b in product(left, right))


_WHITE: Final = BLANKS + LINE_ENDS
_BLACK: Final = "".join(kind for kind in KINDS if kind not in _WHITE)
_CL100K_OTHERS: Final = OTHERS + MARKS
_CL100K_PAIRS: Final = _pairs(
    (LETTERS, _WHITE + NUMBERS + _CL100K_OTHERS),
    (NUMBERS, _WHITE + LETTERS + _CL100K_OTHERS),
    (_CL100K_OTHERS, NUMBERS + BLANKS),
    (LINE_ENDS, _BLACK),
)

NUMBERS_ALONE: Final = _pairs((NUMBERS, NUMBERS))
"""The border between two numbers, if no piece has two."""


@dataclass(frozen=True)
class Borders:
    """What is certain about one pattern."""

    pairs: frozenset[str]
    """The kinds left and right of a certain border, two letters each."""

    runs: tuple[str, ...]
    """Kinds that make up runs, at the end of a text."""

    case_follows: bool = False
    """Whether upper case after lower case is a border, but for a contraction."""


GPT2: Final = Borders(
    pairs=_pairs(
        (_BLACK, _WHITE),
        (LETTERS, NUMBERS + _CL100K_OTHERS),
        (NUMBERS, LETTERS + _CL100K_OTHERS),
        (_CL100K_OTHERS, NUMBERS),
        ("psm", LETTERS),
    ),
    runs=(LETTERS, NUMBERS, _CL100K_OTHERS, _WHITE),
)
CL100K: Final = Borders(_CL100K_PAIRS, (LETTERS, _CL100K_OTHERS, BLANKS, LINE_ENDS))
VOYAGE3: Final = Borders(
    _CL100K_PAIRS | NUMBERS_ALONE, (LETTERS, _CL100K_OTHERS, BLANKS, LINE_ENDS)
)
O200K: Final = Borders(
    pairs=_pairs(
        (LETTERS, _WHITE + NUMBERS + "ps"),
        (NUMBERS, _WHITE + LETTERS + _CL100K_OTHERS),
        (_CL100K_OTHERS, NUMBERS + BLANKS),
        (LINE_ENDS, LETTERS + NUMBERS + "pq"),
    ),
    runs=("lo", "u", "pq", "s", BLANKS, LINE_ENDS),
    case_follows=True,
)

BY_PATTERN: Final = MappingProxyType(
    {
        REGISTRY["gpt2"].pattern: GPT2,
        REGISTRY["cl100k_base"].pattern: CL100K,
        REGISTRY["o200k_base"].pattern: O200K,
        REGISTRY["voyage3_base"].pattern: VOYAGE3,
    }
)


@dataclass(frozen=True)
class BorderRule:
    """What is certain about one pattern, over one table, for text that is normalized or not."""

    borders: Borders
    kinds: Kinds
    normalized: bool

    def is_certain(self, before: str, left: str, right: str) -> bool:
        """Return whether there is a border between two characters, whatever else there is.

        `before` is the character before them, empty at the start of a text.
        """
        if self.normalized and max(before, left, right) >= _FIRST_MARK:
            return False
        pair = self.kinds[left] + self.kinds[right]
        return pair in self.borders.pairs or (
            self.borders.case_follows and pair == "lu" and before != "'"
        )

    def joins_last(self, before: str, character: str) -> bool:
        """Return whether the character only makes the last piece longer.

        `before` is the last `REACH` characters, all of that piece.
        """
        kinds = {self.kinds[one] for one in before} | {self.kinds[character]}
        return self._same(before + character) and any(
            kinds.issubset(run) for run in self.borders.runs
        )

    def joins_first(self, character: str, after: str) -> bool:
        """Return whether the character only makes the first piece longer.

        `after` is the first `REACH` characters, all of that piece.
        """
        kinds = {self.kinds[one] for one in after} | {self.kinds[character]}
        return (
            self._same(after + character)
            and len(kinds) == 1
            and any(kinds.issubset(run) for run in self.borders.runs)
        )

    def is_settled(self, left: str, right: str) -> bool:
        """Return whether a border between the two stays one, however the text goes on.

        Between two numbers it does: they are counted from the first one of their run on.
        """
        both = self.kinds[left] + self.kinds[right]
        return self._same(left + right) and both == NUMBERS * 2

    def _same(self, characters: str) -> bool:
        """Return whether normalization leaves them alone."""
        return not self.normalized or max(characters) < _FIRST_MARK


def border_rule(pattern: str, tables: str, *, normalized: bool) -> BorderRule | None:
    r"""Return what is certain about a pattern; None if it is none of the registry's.

    >>> from bpe_ref.registry import registered
    >>> rule = border_rule(registered("gpt2").pattern, "unicode-16.0", normalized=False)
    >>> rule.is_certain("", "a", " "), rule.is_certain("", " ", "a")
    (True, False)
    >>> border_rule(r"\w+", "unicode-16.0", normalized=False) is None
    True
    """
    borders = BY_PATTERN.get(pattern)
    return None if borders is None else BorderRule(borders, kinds_of(tables), normalized)
