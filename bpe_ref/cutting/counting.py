"""Count a text, whether it has too many tokens, and any part of it.

Why `count_till_limit` is exact, and may stop early
    At a safe cut (see `safe_cuts`) counts add up, and none is negative. So if what is before a safe
    cut has more tokens than the limit, all of it has. Where no token stands for more than `longest`
    characters, a text of more than `limit * longest` characters has more than `limit` tokens, and
    need not be read at all.

Why `TextIntervalCounter` is right
    The safe cuts of a text are safe cuts of each of its parts, as their definition says. So a part
    is a beginning, whole stretches between safe cuts, whose counts are known, and an end.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import chain, pairwise

from bpe_ref.cutting.safe_cuts import TextCounter
from bpe_ref.errors import ParameterError
from bpe_ref.parameters import as_count, check_index, check_text


def count_till_limit(counter: TextCounter, text: str, limit: int) -> int | None:
    """Return the number of tokens of a text if it is at most `limit`, else None.

    Raises `ParameterError` for a limit below 0, and what the tokenizer raises.

    >>> from bpe_ref.cutting.safe_cuts import TextCounter
    >>> counter = TextCounter(len)
    >>> count_till_limit(counter, "abc", 3), count_till_limit(counter, "abcd", 3)
    (3, None)
    """
    checked_counter(counter)
    limit = as_count("limit", limit) - counter.added
    check_text("text", text)
    if limit < 0:
        return None
    if counter.longest is not None and len(text) > limit * counter.longest:
        return None
    counted = start = 0
    for cut in chain(safe_cuts(counter, text), [len(text)]):
        counted += counter.count_after(text[start - 1 : start], text[start:cut])
        start = cut
        if counted > limit:
            return None
    return counted + counter.added


def running_counts(counter: TextCounter, text: str, least: int) -> Iterator[tuple[int, int]]:
    """Yield, after each part of the text, where it ends and the number of tokens up to there.

    Those of a template are not among them. Parts end at safe cuts and have at least `least`
    characters, except for the last one.

    >>> from bpe_ref import load
    >>> list(running_counts(load("tiny").text_counter(), "to be or", 3))
    [(5, 2), (8, 3)]
    """
    counted = start = 0
    while start < len(text):
        stop = next(safe_cuts(counter, text, start + least - 1), len(text))
        counted += counter.count_after(text[start - 1 : start], text[start:stop])
        start = stop
        yield stop, counted


def safe_cuts(counter: TextCounter, text: str, start: int = 0) -> Iterator[int]:
    """Yield the safe cuts of a text behind `start`, in order.

    >>> from bpe_ref import load
    >>> from bpe_ref.cutting.safe_cuts import counter_of
    >>> list(safe_cuts(counter_of(load("tiny")), "to be or"))
    [2, 5]
    """
    is_safe_cut = counter.is_safe_cut
    for place in range(max(start, 0) + 1, len(text)):
        if is_safe_cut(text[place - 1], text[place]):
            yield place


class TextIntervalCounter:
    """Counts the tokens of any part of a text, in characters.

    Preparation takes time in proportion to the text, as far as its tokenizer
    does. A part is counted in a time that depends on how far its ends are from
    the next safe cut inside it, not on its length.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> from bpe_ref.cutting.safe_cuts import counter_of
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> counter = TextIntervalCounter(counter_of(tokenizer_of(vocabulary)), "abab")
    >>> counter.count(0, 4), counter.count(1, 4)
    (2, 2)
    """

    def __init__(self, counter: TextCounter, text: str) -> None:
        """Prepare to count parts of the text. Raises what the tokenizer raises."""
        self._counter = checked_counter(counter)
        check_text("text", text)
        self._text = text
        self._cuts = array("q", safe_cuts(counter, text))
        self._counts = array("q", [0])  # from the first safe cut to each of them
        total = 0
        for start, stop in pairwise(self._cuts):
            total += counter.count_after(text[start - 1], text[start:stop])
            self._counts.append(total)

    def __repr__(self) -> str:
        """Return the number of characters."""
        return f"<TextIntervalCounter, {len(self)} characters>"

    def __len__(self) -> int:
        """Return the number of characters of the text."""
        return len(self._text)

    def count(self, start: int, stop: int) -> int:
        """Return the number of tokens of the characters from `start` to `stop`, encoded alone.

        Raises `ParameterError` unless 0 <= start <= stop <= the text's length.
        """
        check_index("stop", stop, len(self._text))
        check_index("start", start, stop)
        first = bisect_right(self._cuts, start)
        last = bisect_left(self._cuts, stop) - 1
        text, counter = self._text, self._counter
        if first > last:
            return counter.count(text[start:stop])
        inner, outer = self._cuts[first], self._cuts[last]
        beginning = counter.count(text[start:inner])
        end = counter.count_after(text[outer - 1], text[outer:stop])
        return beginning + self._counts[last] - self._counts[first] + end


def checked_counter(counter: TextCounter) -> TextCounter:
    """Return the counter; raise `ParameterError` unless it is one.

    >>> checked_counter(len)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: counter must be a TextCounter, such as...
    """
    if not isinstance(counter, TextCounter):
        raise ParameterError(
            "counter", counter, "must be a TextCounter, such as counter_of returns"
        )
    return counter
