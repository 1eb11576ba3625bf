"""Text that remembers, character by character, where in the original it comes from.

Source: `NormalizedString` of Hugging Face tokenizers 0.23.3
(tokenizers/src/tokenizer/normalizer.rs), which keeps a range of the original for every *byte* of
the text. All bytes of one character have the same range there, so one range per character says the
same.

Representation
    `spans[i]` is the half-open range of characters of the original that `text[i]` stands for. What
    was inserted shares the range of its neighbour before it; what was inserted before everything
    has the empty range at `start`. `start` and `end` are the part of the original that this text,
    which may be one piece of many, is about: removed characters are inside it, though no span names
    them.

Where the engine differs from what it means
    Its `transform` looks for the text to change from the first character with a range that is not
    empty. So after an insertion before everything it takes too little away, and the text repeats
    its beginning, or the engine crashes. `transform` does the former too, and what is meant where
    the engine would crash. Under `STRICT` no component inserts anything there (see
    `normalizers.replacing`), so that neither happens.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""A half-open range of characters of the original."""

Change: TypeAlias = tuple[str, int]
"""A character of the new text, and what it stands for.

0: the next character of the old text. -n: the next one, after which n more are
removed. 1: none, it is inserted.
"""


@dataclass(frozen=True, slots=True)
class AlignedText:
    """A text and the origin of each of its characters.

    >>> piece = AlignedText.of("e\u0301a").transform([("\u00e9", -1), ("a", 0)])
    >>> piece.spans
    ((0, 1), (2, 3))
    """

    text: str
    spans: Sequence[Span]
    start: int
    end: int

    @classmethod
    def of(cls, text: str) -> "AlignedText":
        """Return a text that is its own original.

        >>> AlignedText.of("ab").spans
        ((0, 1), (1, 2))
        """
        length = len(text)
        return cls(text, tuple(zip(range(length), range(1, length + 1), strict=True)), 0, length)

    @property
    def starts_with_insertion(self) -> bool:
        """Whether the first character stands for nothing in the original.

        >>> AlignedText("xa", ((0, 0), (0, 1)), 0, 1).starts_with_insertion
        True
        """
        return bool(self.spans) and (self.spans[0][0] == self.spans[0][1])

    def slice(self, start: int, end: int) -> "AlignedText":
        """Return the characters from `start` to `end`, about as much of the original as they span.

        >>> AlignedText.of("abc").slice(1, 3)
        AlignedText(text='bc', spans=((1, 2), (2, 3)), start=1, end=3)
        """
        spans = self.spans[start:end]
        first, last = (spans[0][0], spans[-1][1]) if spans else (self.start, self.start)
        return AlignedText(self.text[start:end], spans, first, last)

    def transform(self, changes: Iterable[Change], removed_first: int = 0) -> "AlignedText":
        """Return the text that the changes make, of which the first characters were removed.

        >>> AlignedText.of(" ab").transform([("a", 0), ("!", 1), ("b", 0)], 1).spans
        ((1, 2), (1, 2), (2, 3))
        """
        if not self.starts_with_insertion:
            return self._transform_range(0, len(self.text), changes, removed_first)
        listed = list(changes)
        try:
            return self._transform_range(*self._engine_range(), listed, removed_first)
        except IndexError:  # the engine crashes
            return self._transform_range(0, len(self.text), listed, removed_first)

    def _transform_range(
        self, first: int, last: int, changes: Iterable[Change], removed_first: int
    ) -> "AlignedText":
        """Put what the changes make of the old text from `first` to `last` in its place."""
        at = min(first + removed_first, last)  # in the old text
        letters: list[str] = []
        spans: list[Span] = []
        for letter, change in changes:
            letters.append(letter)
            if change > 0:
                spans.append(self.spans[at - 1] if at else (self.start, self.start))
            else:
                spans.append(self.spans[at])
                at = min(at + 1 - change, last)
        return AlignedText(
            self.text[:first] + "".join(letters) + self.text[last:],
            (*self.spans[:first], *spans, *self.spans[last:]),
            self.start,
            self.end,
        )

    def _engine_range(self) -> tuple[int, int]:
        """Return which characters the engine takes away after an insertion before everything."""
        if self.start == self.end:  # nothing of the original is here
            return 0, 0
        wide = (at for at, (start, end) in enumerate(self.spans) if start != end)
        return next(wide, len(self.text)), len(self.text)

    def prepend(self, prefix: str) -> "AlignedText":
        """Return the text with something before it; an empty text stays empty.

        >>> AlignedText.of("ab").prepend("__").spans
        ((0, 1), (0, 1), (0, 1), (1, 2))
        """
        if not self.text or not prefix:
            return self
        spans = (*([self.spans[0]] * len(prefix)), *self.spans)
        return AlignedText(prefix + self.text, spans, self.start, self.end)
