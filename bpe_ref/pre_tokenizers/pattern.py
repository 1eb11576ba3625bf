r"""Cut at the matches of a pinned pattern, as tiktoken does, whatever is installed here.

Definition
    The pieces of a text are the matches of the pattern, leftmost first, each starting where the
    one before it ended or later, in order. Text that no match covers is dropped. A set such as
    `\p{L}` holds the code points that the chosen table gives it.

How
    `patterns.rust` reads a pattern, and the sets in it are those of the table. It is matched as a
    pattern in Oniguruma's dialect is, once that is read (see `patterns.expression`).

What the sources leave open
    A search that takes too long is a `PatternError`. The empty text has no pieces. A pattern that
    may match the empty text is rejected: tiktoken panics when it does. Surrogates, which no engine
    accepts, count as category Cs.

Source: openai/tiktoken 0.14.0, src/lib.rs (`find_iter`); of the patterns' dialect:
`patterns.rust`; of the tables: `patterns.unicode_tables`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.components import Meeting
from bpe_ref.errors import ParameterError
from bpe_ref.patterns.rust import compile_rust, read
from bpe_ref.patterns.unicode_tables import TABLES

if TYPE_CHECKING:  # loaded when they are needed
    from bpe_ref.patterns.borders import PatternBorders


@dataclass(frozen=True)
class Pattern:
    r"""Cuts text into the matches of a pattern, whose sets hold what a table says.

    Attributes:
        pattern: a regular expression in tiktoken's dialect.
        tables: a name from `unicode_tables.TABLES`.

    Raises `PatternError` if the pattern is malformed, may match the empty text or cannot be
    pinned, `ParameterError` if there is no such table. Nothing is decoded or compiled before the
    first text.

    >>> Pattern(r" ?\p{L}+|\s+").cut_text("one two  three")
    ['one', ' two', '  ', 'three']

    """

    pattern: str
    tables: str = "unicode-16.0"

    def __post_init__(self) -> None:
        """Raise an error for a pattern that cannot be used."""
        if not isinstance(self.pattern, str):
            raise ParameterError("pattern", self.pattern, "must be a str")
        if self.tables not in TABLES:
            raise ParameterError("tables", self.tables, f"must be one of {', '.join(TABLES)}")
        read(self.pattern, TABLES[self.tables], decode=False)

    def spans(self, text: str) -> list[Span]:
        r"""Return where the pieces of `text` are, as half-open ranges of characters.

        >>> Pattern(r"\p{Lu}\p{Ll}*").spans("Éa, Ǆ")
        [(0, 2), (4, 5)]
        """
        return compile_rust(self.pattern, self.tables).spans(text)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        return [text.slice(start, stop) for start, stop in self.spans(text.text)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        pieces = compile_rust(self.pattern, self.tables).texts(text, between=False)
        if pieces is not None:
            return pieces
        return [text[start:stop] for start, stop in self.spans(text)]

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
