"""Count a text, whether it has too many tokens, and any part of it, by a whole tokenizer.

What comes after a safe cut is counted as a rest (see `whole`), here and below.

Why `count_till_limit` is exact, and may stop early
    At a safe cut counts add up, and none is negative. So if what
    is before a safe cut has more tokens than the limit, all of it has. Where
    no token stands for more than `longest` characters, a text of more than
    `limit * longest` characters has more than `limit` tokens, and need not be
    read at all.

Why `IntervalCounter` is right
    The safe cuts of a text are safe cuts of each of its parts, as their
    definition says. So a part is a beginning, whole stretches between safe
    cuts, whose counts are known, and an end.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from bpe_ref.cutting.whole import Whole
from bpe_ref.errors import ParameterError
from bpe_ref.growing.checks import check_count, check_range


def count(whole: Whole, text: str) -> int:
    """Return the number of tokens of a text, alone and without template tokens.

    >>> from bpe_ref.cutting.whole import by_definition
    >>> count(by_definition(len), "abc")
    3
    """
    checked_whole(whole)
    return whole.count(checked_text(text))


def count_till_limit(whole: Whole, text: str, limit: int) -> int | None:
    """Return the number of tokens of a text if it is at most `limit`, else None.

    Raises `ParameterError` for a limit below 0, and what the tokenizer raises.

    >>> from bpe_ref.cutting.whole import by_definition
    >>> whole = by_definition(len)
    >>> count_till_limit(whole, "abc", 3), count_till_limit(whole, "abcd", 3)
    (3, None)
    """
    checked_whole(whole)
    check_count("limit", limit, 0)
    if whole.longest is not None and len(checked_text(text)) > limit * whole.longest:
        return None
    counted = start = 0
    for cut in safe_cuts(whole, checked_text(text)):
        counted += count_part(whole, text[start:cut], alone=start == 0)
        start = cut
        if counted > limit:
            return None
    counted += count_part(whole, text[start:], alone=start == 0)
    return counted if counted <= limit else None


def count_part(whole: Whole, text: str, *, alone: bool) -> int:
    """Return the number of tokens of a text alone, or of one that begins at a safe cut.

    >>> from bpe_ref.cutting.whole import by_definition
    >>> count_part(by_definition(len), "abc", alone=False)
    3
    """
    return whole.count(text) if alone else whole.count_rest(text)


def safe_cuts(whole: Whole, text: str, start: int = 0) -> Iterator[int]:
    """Yield the safe cuts of a text that lie behind `start`, as they are asked for.

    >>> from bpe_ref.cutting.whole import by_definition
    >>> list(safe_cuts(by_definition(len), "abc"))
    []
    """
    is_safe_cut = whole.is_safe_cut
    for place in range(max(start, 0) + 1, len(text)):
        before = text[place - 2] if place > 1 else ""
        if is_safe_cut(before, text[place - 1], text[place]):
            yield place


class TextIntervalCounter:
    """Counts the tokens of any part of a text, in characters.

    Preparation takes time in proportion to the text, as far as its tokenizer
    does. A part is counted in a time that depends on how far its ends are from
    the next safe cut inside it, not on its length.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> from bpe_ref.cutting.pipelines import whole_of
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> counter = TextIntervalCounter(whole_of(tokenizer_of(vocabulary)), "abab")
    >>> counter.count(0, 4), counter.count(1, 4)
    (2, 2)
    """

    def __init__(self, whole: Whole, text: str) -> None:
        """Prepare to count parts of the text. Raises what the tokenizer raises."""
        checked_whole(whole)
        self._whole = whole
        self._text = checked_text(text)
        self._cuts = array("q", safe_cuts(whole, text))
        self._counts = array("q", [0])  # from the first safe cut to each of them
        total = 0
        for place in range(1, len(self._cuts)):
            total += whole.count_rest(text[self._cuts[place - 1] : self._cuts[place]])
            self._counts.append(total)

    def __len__(self) -> int:
        """Return the number of characters of the text."""
        return len(self._text)

    def count(self, start: int, stop: int) -> int:
        """Return the number of tokens of the characters from `start` to `stop`, encoded alone.

        Raises `ParameterError` unless 0 <= start <= stop <= the text's length.
        """
        check_range(start, stop, len(self._text))
        first = bisect_right(self._cuts, start)
        last = bisect_left(self._cuts, stop) - 1
        if first > last:
            return self._whole.count(self._text[start:stop])
        beginning = self._whole.count(self._text[start : self._cuts[first]])
        end = self._whole.count_rest(self._text[self._cuts[last] : stop])
        return beginning + self._counts[last] - self._counts[first] + end


def checked_whole(whole: object) -> None:
    """Raise `ParameterError` for a tokenizer that was not made a `Whole`.

    >>> checked_whole(len)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: whole must be what whole_of or by_definition returns, ...
    """
    if not hasattr(whole, "is_safe_cut"):
        makers = "whole_of or by_definition"
        raise ParameterError("whole", whole, f"must be what {makers} returns")


def checked_text(text: str) -> str:
    """Return the text; raise `ParameterError` for what is none.

    >>> checked_text(b"abc")
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: text must be a str, got b'abc'
    """
    if not isinstance(text, str):
        raise ParameterError("text", text, "must be a str")
    return text
