"""Cuts and chunks by their definition: every place is tried, and counted from scratch."""

from collections.abc import Callable
from dataclasses import replace

from bpe_ref.cutting.safe_cuts import TextCounter
from bpe_ref.cutting.splitting import Chunk, each_chunk


def chunks(counter: TextCounter, text: str, most: int, overlap: int = 0) -> list[Chunk]:
    """Return all chunks of a text."""
    return list(each_chunk(counter, text, most, overlap))


def allowed_places(counter: TextCounter, text: str) -> list[int]:
    """Return the places that are not inside of what must not be cut."""
    inside = {
        place for first, last in counter.unbreakable(text) for place in range(first + 1, last)
    }
    return [place for place in range(len(text) + 1) if place not in inside]


def split_by_definition(counter: TextCounter, text: str, n: int) -> int:
    """Return the last place with at most n tokens before it."""
    places = allowed_places(counter, text)
    return max(place for place in places if counter.count(text[:place]) <= n)


def chunks_by_definition(
    counter: TextCounter, text: str, n: int, overlap: int
) -> list[Chunk] | None:
    """Return the chunks, or None where one would be empty."""
    places, start, found = allowed_places(counter, text), 0, list[Chunk]()

    def stop_of(start: int) -> int:
        stops = [place for place in places if place >= start]
        return max(stop for stop in stops if counter.count(text[start:stop]) <= n)

    while start < len(text):
        stop = stop_of(start)
        if stop == start:
            return None
        found.append(Chunk(start, stop, counter.count(text[start:stop])))
        if stop == len(text):
            break
        starts = [
            place
            for place in places
            if overlap
            and start < place < stop
            and counter.count(text[place:stop]) <= overlap
            and stop_of(place) > stop
        ]
        start = min(starts, default=stop)
    return found


class Watched:
    """A counter; how many characters it was asked to count, and how often with a memory."""

    def __init__(self, counter: TextCounter) -> None:
        self.counted = self.remembered = 0
        self._original = counter
        self.counter = replace(counter, count=self._watched, remembering=self._remembering)

    def _watched(self, text: str) -> int:
        self.counted += len(text)
        return self._original.count(text)

    def _remembering(self, forwards: bool) -> Callable[[str], int] | None:
        count = self._original.remembering(forwards)

        def watched(text: str) -> int:
            assert count is not None
            self.remembered += 1
            return count(text)

        return None if count is None else watched
