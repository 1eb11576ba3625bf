"""`Prepend` and `Replace`: text is put before the text, or replaces each match.

Definition
    `Prepend` puts its text before a text that is not empty; what it puts there stands for what the
    first character stands for. `Replace` puts `content` instead of each match of `pattern`; it
    stands for what the character before the match's end stands for, which is the last one matched,
    or if the match is empty the one before it.

Source: normalizers/prepend.rs and replace.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open
    *A match at the very beginning that is empty* has no character before it. In the engine,
    `content` then stands for nothing there, and most normalizers that come after it repeat the
    text's beginning, or crash: see `AlignedText`. Under `STRICT` it stands for what the first
    character stands for, as with `Prepend`.
    *An empty text to prepend* makes the first character stand for nothing, with the same effect;
    not so under `STRICT`.
    *An empty text as pattern* matches before every character and at the end.
    *Groups* cannot be referred to in `content`.
"""

from dataclasses import dataclass, replace

from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.components import Meeting
from bpe_ref.errors import ParameterError
from bpe_ref.parameters import check_text
from bpe_ref.patterns.matches import Literal, Regex, check_growth, find_matches, pattern_borders
from bpe_ref.quirks import HUGGING_FACE, Quirks


@dataclass(frozen=True)
class Prepend:
    """Puts text before a text.

    >>> Prepend("_").normalize(AlignedText.of("ab")).spans
    ((0, 1), (0, 1), (1, 2))
    >>> Prepend("_").normalize_text("")
    ''
    """

    prepend: str
    quirks: Quirks = HUGGING_FACE

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless it is a text."""
        check_text("prepend", self.prepend)

    @property
    def may_insert_first(self) -> bool:
        """Whether the first character can come to stand for nothing."""
        return not self.prepend and self.quirks.insertions_may_stand_for_nothing

    def normalize(self, text: AlignedText) -> AlignedText:
        if self.may_insert_first and text.text:
            spans = ((text.start, text.start), *text.spans[1:])
            return AlignedText(text.text, spans, text.start, text.end)
        return text.prepend(self.prepend)

    def normalize_text(self, text: str) -> str:
        return self.prepend + text if text else text

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return the two characters, with text before the second if alone; see `Meeting`."""
        return (
            None
            if self.may_insert_first
            else Meeting(frozenset(left), frozenset(right), alone=False)
        )


@dataclass(frozen=True)
class Replace:
    r"""Replaces each match by a text.

    Raises `PatternError` when it normalizes with an expression that cannot be used, or that takes
    too long.

    >>> Replace(Literal(" "), "\u2581").normalize_text("a b") == "a\u2581b"
    True
    >>> Replace(Regex("b+"), "-").normalize(AlignedText.of("abbc")).spans
    ((0, 1), (2, 3), (3, 4))
    """

    pattern: Literal | Regex
    content: str
    quirks: Quirks = HUGGING_FACE

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless they are a pattern and a text."""
        if not isinstance(self.pattern, Literal | Regex):
            raise ParameterError("pattern", self.pattern, "must be a Literal or a Regex")
        check_text("content", self.content)

    @property
    def may_insert_first(self) -> bool:
        """Whether the first character can come to stand for nothing: if a match may be empty."""
        if pattern_borders(self.pattern) is not None:
            return False
        return self.quirks.insertions_may_stand_for_nothing

    @property
    def swaps(self) -> bool:
        """Whether it replaces one character by one other, so that all places stay the same."""
        return (
            isinstance(self.pattern, Literal) and len(self.pattern.text) == len(self.content) == 1
        )

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text with the matches replaced.

        Raises `ParameterError` if it becomes too long.
        """
        if self.swaps:
            return replace(text, text=self.normalize_text(text.text))
        parts: list[str] = []
        spans: list[Span] = []
        check_growth(self.pattern, self.content, text.text)
        for start, end, is_match in find_matches(self.pattern, text.text):
            if is_match:
                parts.append(self.content)
                spans += [self._span_before(text, end)] * len(self.content)
            else:
                parts.append(text.text[start:end])
                spans += text.spans[start:end]
        return AlignedText("".join(parts), tuple(spans), text.start, text.end)

    def normalize_text(self, text: str) -> str:
        """Return the text only. Raises `ParameterError` if it becomes too long."""
        literal = self.pattern.text if isinstance(self.pattern, Literal) else ""
        if len(self.content) > len(literal):
            check_growth(self.pattern, self.content, text)
        if literal:
            return text.replace(literal, self.content)
        return "".join(
            [
                self.content if is_match else text[start:end]
                for start, end, is_match in find_matches(self.pattern, text)
            ]
        )

    def _span_before(self, text: AlignedText, end: int) -> Span:
        if end:
            return text.spans[end - 1]
        if self.quirks.insertions_may_stand_for_nothing:
            return (text.start, text.start)
        return text.spans[0]  # there is one: the empty text has no match

    def meeting(self, left: str, right: str) -> Meeting | None:
        borders = pattern_borders(self.pattern)
        if borders is None or borders.may_hold_both(left, right):
            return None
        changes = borders.may_match(left), borders.may_match(right)
        if any(changes) and not self.content:
            return None  # what stands there then is not known
        lefts = {left, self.content[-1]} if changes[0] else {left}
        rights = {right, self.content[0]} if changes[1] else {right}
        alone = not borders.looks_back
        return Meeting(frozenset(lefts), frozenset(rights), alone=alone)
