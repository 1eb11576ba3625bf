"""`Split`, `CharDelimiterSplit`, `FixedLength`: cut at matches, at a character, by length.

Definition
    `Split` finds the matches of `pattern`, a text or a regular expression, in the piece and cuts
    with `behavior` (`splitting`), matches and stretches exchanged if `invert`.
    `CharDelimiterSplit` cuts at one character and drops it, `FixedLength` after every `length`
    characters.

Source: pre_tokenizers/split.rs, delimiter.rs and fixed_length.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open
    What an expression means is said in `patterns`. An empty text matches before every character and
    at the end, so that `Isolated` with it gives single characters. The last piece of a fixed length
    may be shorter; a length of 0 is an error here, where the library panics at the first text.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.errors import ParameterError
from bpe_ref.parameters import check_character, check_flag
from bpe_ref.patterns.matches import Literal, Regex, find_matches, pattern_borders
from bpe_ref.pre_tokenizers.splitting import check_behavior, ranges, split


@dataclass(frozen=True)
class Split:
    """Cuts at the matches of a pattern.

    >>> Split(Literal("-"), "MergedWithPrevious", invert=False).cut_text("a-b")
    ['a-', 'b']
    """

    pattern: Literal | Regex
    behavior: str
    invert: bool

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless they are a pattern, a behavior and a bool."""
        if not isinstance(self.pattern, Literal | Regex):
            raise ParameterError("pattern", self.pattern, "must be a Literal or a Regex")
        check_behavior(self.behavior)
        check_flag("invert", self.invert)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        found = find_matches(self.pattern, text.text)
        return split(text, found, self.behavior, invert=self.invert)

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts.

        Why this is the same answer: without a match, all is one stretch. Inverted, `Removed`
        leaves the matches.
        """
        if isinstance(self.pattern, Literal) and self.pattern.text not in text and not self.invert:
            return [text] if text else []
        only_matches = self.behavior == "Removed" and self.invert
        if isinstance(self.pattern, Regex) and (only_matches or self.behavior == "Isolated"):
            pieces = self.pattern.compile().texts(text, between=not only_matches)
            if pieces is not None:
                return pieces
        spans = ranges(find_matches(self.pattern, text), self.behavior, invert=self.invert)
        return [text[start:end] for start, end in spans]

    def meeting(self, left: str, right: str) -> Meeting | None:
        borders = pattern_borders(self.pattern)
        if borders is None:
            return None
        alone = not borders.looks_back
        in_match = borders.may_match(left)
        if borders.is_inside(left, right) and (not in_match or self.behavior == "Isolated"):
            return Meeting(frozenset(left), frozenset(right), alone=alone)
        if self.behavior in {"Isolated", "Removed"} and borders.is_border(left, right):
            return Meeting(frozenset(left), frozenset(right), border=True, alone=alone)
        return None


@dataclass(frozen=True)
class CharDelimiterSplit:
    """Cuts at one character and drops it.

    >>> CharDelimiterSplit("-").cut_text("a--b")
    ['a', 'b']
    """

    delimiter: str

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless it is a single character."""
        check_character("delimiter", self.delimiter)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return split(text, find_matches(Literal(self.delimiter), text.text), "Removed")

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return [piece for piece in text.split(self.delimiter) if piece]


@dataclass(frozen=True)
class FixedLength:
    """Cuts every `length` characters.

    >>> FixedLength(2).cut_text("abcde")
    ['ab', 'cd', 'e']
    """

    length: int = 5

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless it is a positive integer."""
        if not isinstance(self.length, int) or isinstance(self.length, bool):
            raise ParameterError("length", self.length, "must be an int")
        if self.length < 1:
            raise ParameterError("length", self.length, "must be at least 1")

    def cut(self, text: AlignedText) -> list[AlignedText]:
        size = len(text.text)
        return [text.slice(at, min(at + self.length, size)) for at in range(0, size, self.length)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return [text[at : at + self.length] for at in range(0, len(text), self.length)]
