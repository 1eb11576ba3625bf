"""Cut a text by a number of tokens: one cut, or chunks that cover it.

    `split_at(text, most)` is the largest k such that the first k characters, encoded alone and
    without template tokens, have at most `most` tokens. Only places are considered that cut no code
    point and no special token.

    `each_chunk(text, most, overlap)` covers the text in order with chunks of at most `most` tokens
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
    from there to `place` are tried, the last one first.

    In a long stretch between two safe cuts, `fewest` tells the places up to which a beginning may
    have so few tokens at all. These are few more than the right one, however long the stretch is.
    Each is counted, but what it has in common with those tried before is not encoded again
    (`CountingModel`). Where nothing is known of the fewest tokens, every place is tried.

    The starts of the next chunk are found likewise, from the end of this one to the front.

Text that repeats
    The next chunk depends on the text behind this one, as far as it was looked at to find it, and
    with an overlap on this one. Where that is the text at one of the last steps, so is the next
    one, moved. So a long run of one character or word is cut a few times and at its end, whatever
    its length. (Not if the text has added tokens, which may take what is before them.)
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from bpe_ref.cutting.counting import checked_counter, safe_cuts
from bpe_ref.cutting.safe_cuts import TextCounter
from bpe_ref.errors import ParameterError, shown
from bpe_ref.given_text import any_surrogate
from bpe_ref.parameters import as_count, check_text

WORD: Final = 64
"""In stretches of no more characters every place is tried."""

STEPS: Final = 8
"""The steps from chunk to chunk that are remembered. Words may have another place in each."""


class Chunk(NamedTuple):
    """A part of a text."""

    start: int
    """Its first character in the text."""

    stop: int
    """The character behind its last one."""

    tokens: int
    """The number of its tokens, encoded alone."""


def split_at(counter: TextCounter, text: str, most: int) -> int:
    """Return the largest k such that the first k characters have at most `most` tokens.

    Raises `ParameterError` if `most` leaves no token for the text beside those of a template, and
    if the first code point or special token alone has more tokens and no longer beginning fewer.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> from bpe_ref.cutting.safe_cuts import counter_of
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"abab": 3})
    >>> counter = counter_of(tokenizer_of(vocabulary))
    >>> [counter.count("ababab"[:k]) for k in range(7)]
    [0, 1, 1, 2, 1, 2, 2]
    >>> split_at(counter, "ababab", 1)
    4
    """
    return _Cutter(counter, text, most).farthest(0).stop


def each_chunk(counter: TextCounter, text: str, most: int, overlap: int = 0) -> Iterator[Chunk]:
    """Yield chunks of at most `most` tokens that cover the text, each as soon as it is known.

    An overlap does not count the tokens of a template. Raises `ParameterError`, for wrong arguments
    at once, if a template leaves none of `most` for the text, for an overlap that leaves none of
    them, and for a code point or special token that alone has more than `most` tokens.

    >>> from bpe_ref.cutting.safe_cuts import TextCounter
    >>> [tuple(chunk) for chunk in each_chunk(TextCounter(len), "abcdefg", 3, overlap=1)]
    [(0, 3, 3), (2, 5, 3), (4, 7, 3)]
    """
    cutter = _Cutter(counter, text, most)
    overlap = as_count("overlap", overlap)
    if overlap >= cutter.most:
        less = shown(cutter.most)
        rule = f"must be less than {less}, the number of tokens of the text in a chunk"
        raise ParameterError("overlap", overlap, rule)
    return cutter.chunks(overlap)


class _Cutter:
    """A text, with the places where it must not be cut, and its safe cuts as far as looked for."""

    def __init__(self, counter: TextCounter, text: str, most: int) -> None:
        self.counter = checked_counter(counter)
        check_text("text", text)
        self.text, added = text, counter.added
        self.most = as_count("most", most, 1) - added
        if self.most < 1:
            rule = f"must be at least {added + 1}, {added} for the template and 1 for the text"
            raise ParameterError("most", most, rule)
        self.spans = counter.unbreakable(text)
        self.forbidden = bytearray(len(text) + 1)
        for first, last in self.spans:
            self.forbidden[first + 1 : last] = b"\1" * (last - first - 1)
        self.cuts: list[int] = []
        self._more = safe_cuts(counter, text)
        self._has_surrogates = not text.isascii() and any_surrogate(text)
        self._remembering: dict[bool, Callable[[str], int] | None] = {}
        self._looked = 0  # the end of the text on which answers depend
        self._steps: list[tuple[int, int, Chunk, int]] = []
        """Where the last steps began, the end of the chunk before, the chunk, and that end."""

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
        stop, counted = start, 0
        for cut in self.cuts_behind(start):
            after = "" if stop == start else self.text[stop - 1]
            most = self.most - counted
            count = self._counting(cut - stop, forwards=True)
            for place in self._places(stop, cut, most, forwards=True):
                more = self.counter.count_after(after, self.text[stop:place], count)
                if more <= most:
                    stop, counted = place, counted + more
                    break
            if stop < cut:
                break
        if stop == start < len(self.text):
            raise self._too_long(start)
        return Chunk(start, stop, counted)

    def chunks(self, overlap: int) -> Iterator[Chunk]:
        """Yield the chunks of the text."""
        chunk = self.following(Chunk(0, 0, 0), overlap)
        while chunk.stop > chunk.start:
            yield chunk._replace(tokens=chunk.tokens + self.counter.added)
            chunk = self.following(chunk, overlap)

    def following(self, chunk: Chunk, overlap: int) -> Chunk:
        """Return the chunk after a chunk; an empty one after the last one."""
        begin = chunk.start if overlap else chunk.stop
        for old, old_stop, found, looked in () if self.spans else self._steps:
            moved = begin - old
            same = self.text.startswith(self.text[old:looked], begin)
            if same and chunk.stop == old_stop + moved:
                return Chunk(found.start + moved, found.stop + moved, found.tokens)
        self._looked = 0
        found = self._following(chunk, overlap)
        self._steps = [(begin, chunk.stop, found, self._looked), *self._steps[: STEPS - 1]]
        return found

    def _following(self, chunk: Chunk, overlap: int) -> Chunk:
        if overlap and chunk.stop < len(self.text):
            for start in self._starts_before(chunk, overlap):
                try:
                    found = self.farthest(start)
                except ParameterError:
                    continue
                if found.stop > chunk.stop:
                    return found
        return self.farthest(chunk.stop)

    def _starts_before(self, chunk: Chunk, overlap: int) -> Iterator[int]:
        """Yield each start inside the chunk from which at most `overlap` tokens remain of it."""
        text, left = self.text, chunk.start + 1
        behind = [(chunk.stop, 0)]  # safe cuts, and how many tokens are added from there on
        next(self.cuts_behind(chunk.stop))  # so that those inside are known
        inside = bisect_right(self.cuts, chunk.start), bisect_left(self.cuts, chunk.stop)
        for cut in reversed(self.cuts[slice(*inside)]):
            stop, tokens = behind[-1]
            tokens += self.counter.count_after(text[cut - 1], text[cut:stop])
            if tokens > overlap:
                left = cut
                break
            behind.append((cut, tokens))
        for stop, tokens in reversed(behind):
            count = self._counting(stop - left, forwards=False) or self.counter.count
            for start in self._places(left, stop, overlap - tokens, forwards=False):
                if count(text[start:stop]) + tokens <= overlap:
                    yield start
            left = stop

    def _places(self, start: int, stop: int, most: int, *, forwards: bool) -> Iterator[int]:
        """Yield the places up to which there may be at most `most` tokens, the last one first.

        Unless `forwards`, yield those from which there may be, the first one first.
        """
        places: Iterable[int] = range(stop, start, -1) if forwards else range(start, stop)
        fewest = self.counter.fewest if stop - start > WORD and not self._has_surrogates else None
        read = stop
        if fewest is not None:
            at = bisect_left(self.spans, (stop, stop))
            has_added = at > 0 and self.spans[at - 1][1] > start
            places, read = fewest.places(
                self.text, start, stop, most, forwards=forwards, has_added=has_added
            )
        if forwards:  # a safe cut depends on the character behind it, too
            self._looked = max(self._looked, read + (read == stop))
        return (place for place in places if not self.forbidden[place])

    def _counting(self, length: int, *, forwards: bool) -> Callable[[str], int] | None:
        """Return what counts long parts of a long stretch fast, if there is anything."""
        if length <= WORD:
            return None
        if forwards not in self._remembering:
            self._remembering[forwards] = self.counter.remembering(forwards)
        return self._remembering[forwards]

    def _too_long(self, start: int) -> ParameterError:
        stop = next(
            place for place in range(start + 1, len(self.text) + 1) if not self.forbidden[place]
        )
        unit = self.text[start:stop]
        added = self.counter.added
        least = self.counter.count(unit) + added
        template = f" ({added} for the template)" if added else ""
        return ParameterError(
            "most",
            self.most + added,
            f"must be at least {least}{template}, the number of tokens of {unit!r} at character "
            f"{start}, which must not be cut",
        )
