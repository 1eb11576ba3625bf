r"""The patterns of `Split` and `Replace`: literal text, or a regular expression.

Definition
    `Pattern::find_matches` of the library: the matches and what lies between them, in order,
    covering the text. A literal is found from the left, without overlaps; a regular expression is
    Oniguruma's (see `bpe_ref/patterns/oniguruma`).

What the definition leaves open
    The empty text is one stretch that is no match, whatever the pattern. A regular expression may
    match the empty text: such a match is a stretch of length 0, except right behind another match.

Where the engine differs
    `pattern.rs` says that an empty literal never matches. But `Split` and `Replace` make a
    regular expression of a literal first, so that it matches at every place.

Source: https://github.com/huggingface/tokenizers, tokenizers/src/tokenizer/pattern.rs, 0.23.3.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from bpe_ref.errors import ParameterError

if TYPE_CHECKING:  # loaded when they are needed: many tokenizers have no such pattern
    from bpe_ref.patterns.borders import PatternBorders
    from bpe_ref.patterns.expression import Expression

Stretch: TypeAlias = tuple[int, int, bool]
"""Start and end in characters, and whether it is a match."""


LONGEST: Final = 1 << 24
"""Characters of the longest text that replacing may make: a few rules in a row multiply it."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that matches itself."""

    text: str

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless it is a text."""
        if not isinstance(self.text, str):
            raise ParameterError("text", self.text, "must be a str")


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression in Oniguruma's syntax; it is read when it is first used."""

    source: str

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless it is a text."""
        if not isinstance(self.source, str):
            raise ParameterError("source", self.source, "must be a str")

    def compile(self) -> "Expression":
        """Return the expression, ready to search.

        Raises `PatternError` if it cannot be used.
        """
        from bpe_ref.patterns.oniguruma.reading import compile_oniguruma

        return compile_oniguruma(self.source)


Pattern: TypeAlias = Literal | Regex


def matches(pattern: Pattern, text: str) -> list[tuple[int, int]]:
    """Return start and end of each match, in characters.

    Raises `PatternError` if the expression cannot be used, or takes too long on this text.

    >>> matches(Literal("aa"), "aaaaa"), matches(Regex("b*"), "abb")
    ([(0, 2), (2, 4)], [(0, 0), (1, 3)])
    """
    if not text:
        return []
    if isinstance(pattern, Regex):
        return pattern.compile().spans(text)
    if not pattern.text:
        return [(at, at) for at in range(len(text) + 1)]
    found: list[tuple[int, int]] = []
    length = len(pattern.text)
    at = text.find(pattern.text)
    while at >= 0:
        found.append((at, at + length))
        at = text.find(pattern.text, at + length)
    return found


def find_matches(pattern: Pattern, text: str) -> list[Stretch]:
    """Return the matches and what lies between them, in order: together they cover the text.

    Raises `PatternError` if the expression cannot be used, or takes too long on this text.

    >>> find_matches(Regex("b+"), "abbc")
    [(0, 1, False), (1, 3, True), (3, 4, False)]
    >>> find_matches(Regex("b+"), "")
    [(0, 0, False)]
    """
    if not text:
        return [(0, 0, False)]
    stretches: list[Stretch] = []
    end = 0
    for start, stop in matches(pattern, text):
        if start > end:
            stretches.append((end, start, False))
        stretches.append((start, stop, True))
        end = stop
    if end < len(text):
        stretches.append((end, len(text), False))
    return stretches


def check_growth(pattern: Pattern, content: str, text: str) -> None:
    """Raise `ParameterError` if replacing the matches would make the text longer than `LONGEST`.

    >>> check_growth(Literal("a"), "b" * 1000, "a" * 100_000)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: content must make the text at most 16777216 characters long, ...
    """
    if isinstance(pattern, Literal) and len(content) <= len(pattern.text):
        return  # it only becomes shorter
    if len(text) + (len(text) + 1) * len(content) <= LONGEST:
        return  # even if every place matched
    found = matches(pattern, text)
    length = len(text) + sum(len(content) - (end - start) for start, end in found)
    if length > max(LONGEST, len(text)):
        rule = f"must make the text at most {LONGEST} characters long, not {length}"
        raise ParameterError("content", content[:40], rule)


def pattern_borders(pattern: Pattern) -> "PatternBorders | None":
    """Return the borders of a pattern; None if nothing is known.

    >>> pattern_borders(Literal("ab")).is_border("a", "b"), pattern_borders(Literal("")) is None
    (False, True)
    """
    from bpe_ref.patterns.borders import borders_of, borders_of_text

    if isinstance(pattern, Regex):
        return borders_of(pattern.source)
    return borders_of_text(pattern.text)
