"""Text that remembers, character by character, where in the original it comes from.

Source: `NormalizedString` of Hugging Face tokenizers 0.23.3
(tokenizers/src/tokenizer/normalizer.rs), which keeps a range of the original
for every *byte* of the text. All bytes of one character have the same range
there, so one range per character says the same.

Representation
    `spans[i]` is the half-open range of characters of the original that
    `text[i]` stands for. What was inserted shares the range of its neighbour;
    what was inserted before everything has (0, 0). `start` and `end` are the
    part of the original that this text, which may be one piece of many, is
    about: removed characters are inside it, though no span names them.
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
        return cls(text, tuple((at, at + 1) for at in range(len(text))), 0, len(text))

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
        at = removed_first  # in the old text
        letters: list[str] = []
        spans: list[Span] = []
        for letter, change in changes:
            letters.append(letter)
            if change > 0:
                spans.append(self.spans[at - 1] if at else (0, 0))
            else:
                spans.append(self.spans[at])
                at += 1 - change
        return AlignedText("".join(letters), tuple(spans), self.start, self.end)

    def prepend(self, prefix: str) -> "AlignedText":
        """Return the text with something before it; an empty text stays empty.

        >>> AlignedText.of("ab").prepend("__").spans
        ((0, 1), (0, 1), (0, 1), (1, 2))
        """
        if not self.text or not prefix:
            return self
        spans = (*([self.spans[0]] * len(prefix)), *self.spans)
        return AlignedText(prefix + self.text, spans, self.start, self.end)
