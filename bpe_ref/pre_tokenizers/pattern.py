r"""Cut at the matches of a pinned pattern, as tiktoken does.

Definition: the pieces are the matches, in order; text that no match covers is dropped. See
`patterns.pretokenizer` for what a pattern means.

Source: openai/tiktoken 0.14.0, src/lib.rs.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.patterns.pretokenizer import Pretokenizer

if TYPE_CHECKING:  # loaded when they are needed
    from bpe_ref.patterns.borders import PatternBorders


@dataclass(frozen=True)
class Pattern(Pretokenizer):
    r"""Cuts text into the matches of a pattern.

    Raises `PatternError` if the pattern cannot be used, `ParameterError` if there is no such table.

    >>> Pattern(r"\w+|\s+").cut_text("one two")
    ['one', ' ', 'two']

    """

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return [text.slice(start, stop) for start, stop in self.spans(text.text)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        return self.pieces(text)

    @property
    def borders(self) -> "PatternBorders | None":
        """The borders of the pattern; None if nothing is known."""
        from bpe_ref.patterns.borders import borders_of_pinned

        return borders_of_pinned(self.pattern, self.tables)

    def meeting(self, left: str, right: str) -> Meeting | None:
        borders = self.borders
        if borders is None:
            return None
        alone = not borders.looks_back
        if borders.is_border(left, right):
            return Meeting(frozenset(left), frozenset(right), border=True, alone=alone)
        if borders.is_inside(left, right):
            return Meeting(frozenset(left), frozenset(right), alone=alone)
        return None
