"""`Split`: cut at the matches of a text or a regular expression.

Definition: the matches of `pattern` in the piece, cut with `behavior`
(`splitting`), matches and stretches exchanged if `invert`.

Source: pre_tokenizers/split.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open: what an expression means is said in `patterns`. An
empty text matches before every character and at the end, so that `Isolated`
with it gives single characters.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.errors import ParameterError
from bpe_ref.parameters import check_flag
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
        """Refuse what is no pattern, no behavior or no bool."""
        if not isinstance(self.pattern, Literal | Regex):
            raise ParameterError("pattern", self.pattern, "must be a Literal or a Regex")
        check_behavior(self.behavior)
        check_flag("invert", self.invert)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces."""
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
        """Return whether a piece always ends between the characters; see `components.Meeting`."""
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
