"""Cut a text by a number of tokens: one cut, or chunks that cover it.

    `split_at(text, most)` is the largest k such that the first k characters, encoded alone and
    without template tokens, have at most `most` tokens. Only places are considered that cut no code
    point and no special token.

    `chunks(text, most, overlap)` covers the text in order with chunks of at most `most` tokens
    each, counted as if the chunk were alone. The first one starts at 0, each ends where `split_at`
    says, and the last one at the end of the text. The next one starts where this one ends, or, with
    an overlap, as far before that as at most `overlap` tokens reach (encoded alone): but behind the
    start of this one, and no further than lets the next one end behind this one.

Source: GitHub's `bpe` crate (README, "split text after exactly n tokens at a character boundary").
It tells why the naive way fails: encode the text, take n tokens, and drop tokens until the rest is
made of whole characters. There are tokens that neither start nor end at a character boundary; in a
row of them everything is dropped, and whoever goes on from there goes on for ever.

What the source leaves open
    Counts fall as well as rise with k: "ab" may have more tokens than "abc", and the last character
    of a special token turns all of its tokens into one. So the *largest* k is defined, and no
    binary search finds it. A code point or special token that alone has more than n tokens is an
    error, unless a longer beginning of the text has at most n tokens again.

Why it may stop before the end of the text
    Let `place` be a safe cut (see `safe_cuts`) whose first characters have more than n tokens.
    Counts add up there, and none is negative: so every longer beginning has more than n tokens as
    well. And the last safe cut `base` before it qualifies, if it has at most n, so only the places
    from there to `place` are tried. Where no token stands for more than `longest` characters and c
    tokens are before `base`, a beginning of more than `base + (n - c) * longest` characters has
    more than n tokens. Without safe cuts and without such a bound every place is tried.

    Where a `window` is known (see `longest`), a few places are enough however long the word is: any
    place that fits, found by halving, and the places after it until `window` in a row do not fit.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from bpe_ref.cutting.counting import checked_counter, safe_cuts
from bpe_ref.cutting.growing import AppendCounter, PrependCounter
from bpe_ref.cutting.safe_cuts import TextCounter
from bpe_ref.errors import ParameterError
from bpe_ref.parameters import as_count, check_text

WORD: Final = 64
"""Words of no more characters are tried at every place."""


class Chunk(NamedTuple):
    """A part of a text."""

    start: int
    """Its first character in the text."""

    stop: int
    """The character behind its last one."""

    tokens: int
    """The number of its tokens, encoded alone."""


def split_at(counter: TextCounter, text: str, most: int, *, added: int = 0) -> int:
    """Return the largest k such that the first k characters have at most `most` tokens.

    `added` is the number of tokens that a template adds to every text. Raises `ParameterError` if
    `most` leaves no token for the text, and if the first code point or special token alone has more
    tokens and no longer beginning has fewer.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> from bpe_ref.cutting.safe_cuts import counter_of
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"abab": 3})
    >>> counter = counter_of(tokenizer_of(vocabulary))
    >>> [counter.count("ababab"[:k]) for k in range(7)]
    [0, 1, 1, 2, 1, 2, 2]
    >>> split_at(counter, "ababab", 1)
    4
    """
    return _Cutter(counter, text, most, added).farthest(0).stop


def chunks(
    counter: TextCounter, text: str, most: int, overlap: int = 0, *, added: int = 0
) -> list[Chunk]:
    """Return chunks of at most `most` tokens that cover the text, in order.

    `added` is the number of tokens that a template adds to every text; an overlap does not count
    them. Raises `ParameterError` if `most` leaves no token for the text, for an overlap that leaves
    none of them, and for a code point or special token that alone has more than `most` tokens.

    >>> from bpe_ref.cutting.safe_cuts import TextCounter
    >>> [tuple(chunk) for chunk in chunks(TextCounter(len), "abcdefg", 3, overlap=1)]
    [(0, 3, 3), (2, 5, 3), (4, 7, 3)]
    """
    return list(each_chunk(counter, text, most, overlap, added=added))


def each_chunk(
    counter: TextCounter, text: str, most: int, overlap: int = 0, *, added: int = 0
) -> Iterator[Chunk]:
    """Yield the chunks that `chunks` returns, each as soon as it is known.

    >>> from bpe_ref.cutting.safe_cuts import TextCounter
    >>> next(each_chunk(TextCounter(len), "abcdefg", 3)).stop
    3
    """
    cutter = _Cutter(counter, text, most, added)
    overlap = as_count("overlap", overlap)
    if overlap >= cutter.most:
        rule = f"must be less than {cutter.most}, the number of tokens of the text in a chunk"
        raise ParameterError("overlap", overlap, rule)
    start = 0
    while start < len(text):
        chunk = cutter.farthest(start)
        yield chunk._replace(tokens=chunk.tokens + added)
        if chunk.stop == len(text):
            return
        starts = cutter.starts_before(chunk, overlap) if overlap else []
        start = next((at for at in starts if cutter.reaches_beyond(at, chunk.stop)), chunk.stop)


class _Cutter:
    """A text, with the places where it must not be cut, and its safe cuts as far as looked for."""

    def __init__(self, counter: TextCounter, text: str, most: int, added: int) -> None:
        self.counter = checked_counter(counter)
        check_text("text", text)
        self.text = text
        self.most = as_count("most", most, 1) - added
        if self.most < 1:
            rule = f"must be at least {added + 1}, {added} for the template and 1 for the text"
            raise ParameterError("most", most, rule)
        self.added = added
        self.spans = counter.unbreakable(text)
        self.forbidden = bytearray(len(text) + 1)
        for first, last in self.spans:
            self.forbidden[first + 1 : last] = b"\1" * (last - first - 1)
        self.cuts: list[int] = []
        self._more = safe_cuts(counter, text)
        self._looked = 0

    def cuts_behind(self, start: int) -> Iterator[int]:
        """Yield the safe cuts behind `start`, then the end of the text."""
        at = bisect_right(self.cuts, start)
        while True:
            while at >= len(self.cuts):
                cut = next(self._more, None)
                if cut is None:
                    yield len(self.text)
                    return
                self.cuts.append(cut)
                at = bisect_right(self.cuts, start)
            yield self.cuts[at]
            start = self.cuts[at]
            at += 1

    def farthest(self, start: int) -> Chunk:
        """Return the longest chunk from `start` on. Raises `ParameterError` if there is none."""
        base, counted = start, 0
        for cut in self.cuts_behind(start):
            bound = self._bound(base, self.most - counted)
            if cut > bound:
                break
            left = "" if base == start else self.text[base - 1]
            more = self.counter.count_after(left, self.text[base:cut])
            if counted + more > self.most:
                break
            base, counted = cut, counted + more
            if cut == len(self.text):
                return Chunk(start, cut, counted)
        best = Chunk(start, base, counted)
        after = "" if base == start else self.text[base - 1]
        last = min(cut, self._bound(base, self.most - counted))
        for place, more in self._counts(base, last, after, self.most - counted):
            if counted + more <= self.most and not self.forbidden[place]:
                best = Chunk(start, place, counted + more)
        if best.stop == start:
            raise self._too_long(start)
        return best

    def _counts(self, base: int, last: int, after: str, most: int) -> Iterator[tuple[int, int]]:
        """Yield places from `base` to `last` with the tokens up to there, the last that fits too.

        There is a safe cut behind the character `after` at `base`, or `after` is empty.
        """
        window = self.counter.window
        if window is None or last - base <= WORD or self._has_span(base, last):
            growing = AppendCounter(self.counter, after=after)
            for place in range(base + 1, last + 1):
                growing.push(self.text[place - 1])
                yield place, growing.count
            return

        def tokens(place: int) -> int:
            return self.counter.count_after(after, self.text[base:place])

        fits, beyond = base, last + 1
        while beyond - fits > 1:
            middle = (fits + beyond) // 2
            if tokens(middle) <= most:
                fits = middle
            else:
                beyond = middle
        place = fits
        while place <= min(last, fits + window):
            count = tokens(place)
            if count <= most:
                fits = place
                yield place, count
            place += 1

    def _has_span(self, start: int, stop: int) -> bool:
        """Return whether something between two places must not be cut."""
        at = bisect_left(self.spans, (stop, stop))
        return at > 0 and self.spans[at - 1][1] > start

    def starts_before(self, chunk: Chunk, overlap: int) -> list[int]:
        """Return each start inside the chunk from which at most `overlap` tokens remain of it."""
        growing = PrependCounter(self.counter)
        found: list[int] = []
        inside = set(self.cuts[bisect_right(self.cuts, chunk.start) :])
        reach = overlap * (self.counter.longest or len(self.text))
        for place in range(chunk.stop - 1, max(chunk.start, chunk.stop - reach - 1), -1):
            growing.push(self.text[place])
            if growing.count > overlap:
                if place in inside and growing.count_after(self.text[place - 1]) > overlap:
                    break  # counts add up here: whatever starts before has more
            elif not self.forbidden[place]:
                found.append(place)
        found.reverse()
        return found

    def reaches_beyond(self, start: int, stop: int) -> bool:
        """Return whether a chunk that starts there would end behind `stop`."""
        try:
            return self.farthest(start).stop > stop
        except ParameterError:
            return False

    def _bound(self, base: int, tokens: int) -> int:
        """Return the last place that so many tokens can reach from `base`."""
        if self.counter.longest is None:
            return len(self.text)
        return min(len(self.text), base + tokens * self.counter.longest)

    def _too_long(self, start: int) -> ParameterError:
        stop = next(
            place for place in range(start + 1, len(self.text) + 1) if not self.forbidden[place]
        )
        unit = self.text[start:stop]
        least = self.counter.count(unit) + self.added
        template = f" ({self.added} for the template)" if self.added else ""
        return ParameterError(
            "most",
            self.most + self.added,
            f"must be at least {least}{template}, the number of tokens of {unit!r} at character "
            f"{start}, which must not be cut",
        )
