r"""Cut at the matches of a pinned pattern, as tiktoken does.

Definition: the pieces are the matches, in order; text that no match covers is dropped. See
`patterns.pretokenizer` for what a pattern means.

Source: openai/tiktoken 0.14.0, src/lib.rs.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.errors import PatternError
from bpe_ref.patterns.pretokenizer import Pretokenizer


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

    @cached_property
    def in_oniguruma(self) -> str | None:
        """The pattern in Oniguruma's dialect, if there it means the same; else None."""
        from bpe_ref.patterns.to_oniguruma import to_oniguruma

        if re.search(r"\\[wWbB]", self.pattern):
            return None  # Oniguruma has its own letters of words
        if self.tables == "unicode-16.0-oniguruma":
            return self.pattern
        try:
            return to_oniguruma(self.pattern)
        except PatternError:
            return None

    def meeting(self, left: str, right: str) -> Meeting | None:
        from bpe_ref.patterns.borders import borders_of

        borders = None if self.in_oniguruma is None else borders_of(self.in_oniguruma)
        if borders is None:
            return None
        alone = not borders.looks_back
        if borders.is_border(left, right):
            return Meeting(frozenset(left), frozenset(right), border=True, alone=alone)
        if borders.is_inside(left, right):
            return Meeting(frozenset(left), frozenset(right), alone=alone)
        return None
