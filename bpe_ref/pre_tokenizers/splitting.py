"""Cut a text at the matches of a pattern, in one of five ways.

Definition
    The matches and the stretches between them cover the text in order. What becomes of them is the
    *behavior*:

    Removed             the stretches are the pieces, matches are dropped
    Isolated            each stretch and each match is a piece
    Contiguous          matches side by side are one piece together
    MergedWithPrevious  a match belongs to the piece before it
    MergedWithNext      a match belongs to the piece after it

    Cutting `a--b` at `-` gives `a b`, `a - - b`, `a -- b`, `a- - b`, `a - -b`.

Source: `SplitDelimiterBehavior` and `NormalizedString::split` of Hugging Face tokenizers 0.23.3
(tokenizers/src/tokenizer/normalizer.rs).

What the source leaves open
    *A match beside a match* is not merged with it: of a run, only the first joins the piece before
    (the last one the piece after), each other match is a piece. *A match with nothing to join*, at
    the beginning (end) of the text, is a piece. *Empty matches* are counted as matches before empty
    pieces are dropped: an empty match that joins the piece before it keeps the next one from doing
    so. *Inverted*, matches and stretches change their roles.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.parameters import check_choice
from bpe_ref.patterns.matches import Stretch


def split(
    text: AlignedText, matches: Iterable[Stretch], behavior: str, *, invert: bool = False
) -> list[AlignedText]:
    """Return the pieces of a text that is cut at matches, none of them empty.

    >>> pieces = split(AlignedText.of("a-b"), [(0, 1, False), (1, 2, True), (2, 3, False)],
    ...                "MergedWithNext")
    >>> [piece.text for piece in pieces]
    ['a', '-b']
    """
    return [text.slice(start, end) for start, end in ranges(matches, behavior, invert=invert)]


def ranges(matches: Iterable[Stretch], behavior: str, *, invert: bool = False) -> list[Span]:
    """Return the half-open ranges of the pieces, none of them empty.

    Raises `ParameterError` if there is no such behavior.

    >>> ranges([(0, 1, True), (1, 2, True), (2, 3, False)], "Contiguous")
    [(0, 2), (2, 3)]
    """
    check_behavior(behavior)
    flagged = [(start, end, is_match != invert) for start, end, is_match in matches]
    return [(start, end) for start, end in BEHAVIORS[behavior](flagged) if start < end]


def check_behavior(behavior: str) -> None:
    """Raise `ParameterError` if there is no such behavior."""
    check_choice("behavior", behavior, tuple(BEHAVIORS))


def _removed(matches: Sequence[Stretch]) -> list[Span]:
    return [(start, end) for start, end, is_match in matches if not is_match]


def _isolated(matches: Sequence[Stretch]) -> list[Span]:
    return [(start, end) for start, end, _ in matches]


def _contiguous(matches: Sequence[Stretch]) -> list[Span]:
    """Join each range with the last one if both are matches, or both are not."""
    joined: list[Span] = []
    after_match = False
    for start, end, is_match in matches:
        if joined and is_match == after_match:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        after_match = is_match
    return joined


def _merged_with_previous(matches: Sequence[Stretch]) -> list[Span]:
    """Join a match with the range before it, unless that is a match too."""
    joined: list[Span] = []
    after_match = False
    for start, end, is_match in matches:
        if joined and is_match and not after_match:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        after_match = is_match
    return joined


def _merged_with_next(matches: Sequence[Stretch]) -> list[Span]:
    """Do the same from right to left."""
    mirrored = [(-end, -start, is_match) for start, end, is_match in reversed(matches)]
    return [(-end, -start) for start, end in reversed(_merged_with_previous(mirrored))]


BEHAVIORS: Final[Mapping[str, Callable[[Sequence[Stretch]], list[Span]]]] = MappingProxyType(
    {
        "Removed": _removed,
        "Isolated": _isolated,
        "MergedWithPrevious": _merged_with_previous,
        "MergedWithNext": _merged_with_next,
        "Contiguous": _contiguous,
    }
)
"""What each behavior, under the format's name, makes of matches: ranges, some perhaps empty."""
