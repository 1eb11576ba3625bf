r"""Cut a text at the characters of a class: digits, punctuation, white space.

Definition
    Every character of the class is a match on its own, and `splitting` says what becomes of
    matches. `CharacterClass.find` is this.

    `Digits`            numbers, `Isolated` if `individual_digits`, else `Contiguous`
    `Punctuation`       punctuation, with any behavior
    `WhitespaceSplit`   white space, `Removed`
    `BertPreTokenizer`  `WhitespaceSplit`, then `Punctuation` with `Isolated`
    `Whitespace`        runs of word characters, and runs of what is neither a word character nor
                        white space: `\w+|[^\w\s]+`

The fast way
    What a behavior does with matches of one character is a regular expression in itself:
    `Contiguous`, for instance, makes runs of members (M) and runs of others (O).
    `CharacterClass.cut` searches with it.

Why this is the same answer
    A run of n members before another character yields, with `Removed`, nothing; with `Isolated` n
    pieces; with `Contiguous` one. With `MergedWithPrevious` the first member ends the piece before
    the run, if there is one, and each other is alone: `O+M?|M`, as a run of others is taken
    together with the member behind it. `MergedWithNext` is the mirror image: the last member begins
    the piece after the run, and it is found from the left because `M?O+` fails at every member but
    the last.

Source: `impl Pattern for Fn(char) -> bool` in tokenizer/pattern.rs, and pre_tokenizers/digits.rs,
punctuation.rs, bert.rs and whitespace.rs of Hugging Face tokenizers 0.23.3. The classes are pinned
in `unicode_tables`, whatever Python is installed; the tests ask the engine about every code point.

What the source leaves open
    *Numbers* are what the library's Rust calls numeric, general categories Nd, Nl and No of Unicode
    17.0: 1924 code points, no CJK numerals. *Punctuation* is general category P of an old Unicode
    version, and the 32 punctuation and symbol characters of ASCII: `$` is one, `€` is none.
    *White space* is the property White_Space, 25 code points, without U+001C to U+001F and U+200B.
    *A word character* is what the Rust crate `regex` calls `\w`: letters, marks, decimal digits,
    letter numbers, connectors such as `_`, and the joiners U+200C and U+200D, by Unicode 16.0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.parameters import check_flag
from bpe_ref.patterns.matches import Stretch
from bpe_ref.patterns.stand_ins import set_source
from bpe_ref.patterns.unicode_tables import EVERY_CODE_POINT, TABLES
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.pre_tokenizers.splitting import check_behavior, split

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
        found = _search("(M)|O+", self).finditer(text)
        return [(*match.span(), match.lastindex == 1) for match in found]

    def cut(self, behavior: str, text: str) -> list[str]:
        """Return the pieces that a behavior makes of these matches."""
        return _search(_BY_BEHAVIOR[behavior], self).findall(text)

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


@lru_cache(maxsize=32)
def _search(source: str, kind: CharacterClass) -> re.Pattern[str]:
    """Return the search for a pattern in which M is the class, and O all else."""
    members = TABLES[kind.table].code_points(kind.name)
    sets = {"M": set_source(members), "O": set_source(EVERY_CODE_POINT ^ members)}
    return re.compile("".join(sets.get(part, part) for part in source))


_NUMBERS: Final = CharacterClass("tokenizers-digits", "N")


@dataclass(frozen=True)
class Digits:
    """Cuts numbers off.

    >>> Digits(individual_digits=True).cut_text("a12")
    ['a', '1', '2']
    """

    individual_digits: bool = False

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless every flag is a bool."""
        check_flag("individual_digits", self.individual_digits)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return split(text, _NUMBERS.find(text.text), self._behavior())

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return _NUMBERS.cut(self._behavior(), text)

    def _behavior(self) -> str:
        return "Isolated" if self.individual_digits else "Contiguous"

    def meeting(self, left: str, right: str) -> Meeting | None:
        return _NUMBERS.meeting(self._behavior(), left, right)


_SPACE: Final = CharacterClass("unicode-16.0", "White_Space")
_RUNS: Final = Pattern(r"\w+|[^\w\s]+", "unicode-16.0")


@dataclass(frozen=True)
class Whitespace:
    """Cuts words, and what is between them, from each other; drops white space.

    >>> Whitespace().cut_text("don't  stop...")
    ['don', "'", 't', 'stop', '...']
    """

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return _RUNS.cut(text)

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return _RUNS.cut_text(text)


@dataclass(frozen=True)
class WhitespaceSplit:
    """Cuts at white space and drops it.

    >>> WhitespaceSplit().cut_text("don't  stop...")
    ["don't", 'stop...']
    """

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return split(text, _SPACE.find(text.text), "Removed")

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return _SPACE.cut("Removed", text)


_PUNCTUATION: Final = CharacterClass("tokenizers-punctuation", "P")


@dataclass(frozen=True)
class Punctuation:
    """Cuts at punctuation.

    >>> Punctuation().cut_text("a, €$")
    ['a', ',', ' €', '$']
    """

    behavior: str = "Isolated"

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless the behavior exists."""
        check_behavior(self.behavior)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return split(text, _PUNCTUATION.find(text.text), self.behavior)

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return _PUNCTUATION.cut(self.behavior, text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        return _PUNCTUATION.meeting(self.behavior, left, right)


_WORDS: Final = WhitespaceSplit()
_PARTS: Final = Punctuation("Isolated")


@dataclass(frozen=True)
class BertPreTokenizer:
    """Cuts at white space, which it drops, and at punctuation.

    >>> BertPreTokenizer().cut_text("Hi, you!")
    ['Hi', ',', 'you', '!']
    """

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return [part for word in _WORDS.cut(text) for part in _PARTS.cut(word)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return [part for word in _WORDS.cut_text(text) for part in _PARTS.cut_text(word)]
