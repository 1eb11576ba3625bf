"""How an engine orders its candidates: before a step, and for a draw that walks them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from heapq import heapify, heapreplace
from types import MappingProxyType

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.falling_order import falling_positions
from sampling_ref.numbers.orders import largest
from sampling_ref.steps.step import with_places


def _as_they_stand(candidates: Candidates, count: int) -> Candidates:
    return candidates


def _stably(candidates: Candidates, count: int) -> Candidates:
    return _placed(candidates, largest(candidates.logits, count))


def _stably_if_cut(candidates: Candidates, count: int) -> Candidates:
    """Sort as programs do that touch nothing where all candidates are wanted."""
    return candidates if count == len(candidates.tokens) else _stably(candidates, count)


def _as_exllamav2(candidates: Candidates, count: int) -> Candidates:
    """Hold the largest in a heap, as the candidates come, and let them out the largest first.

    A newcomer must be larger than the smallest one held; of equals the one of the lowest id
    leaves first, and comes out last.
    """
    if count == len(candidates.tokens):
        return candidates
    items = [
        (logit, token, place)
        for place, (logit, token) in enumerate(
            zip(candidates.logits, candidates.tokens, strict=True)
        )
    ]
    heap = items[:count]
    heapify(heap)
    for item in items[count:]:
        if item[0] > heap[0][0]:
            heapreplace(heap, item)
    return _placed(candidates, [place for _, _, place in sorted(heap, reverse=True)])


def _as_llama_cpp(candidates: Candidates, count: int) -> Candidates:
    """Sort as llama.cpp does: the first `count` are in order, and only they are needed."""
    if candidates.is_sorted:
        return candidates
    floats = [float(logit) for logit in candidates.true_logits()]
    return _placed(candidates, falling_positions(floats, count))


def _placed(candidates: Candidates, places: list[int]) -> Candidates:
    """Return the candidates at these places; the others are out of play, but were there."""
    return replace(with_places(candidates, places), is_sorted=True)


def walk(candidates: Candidates, order: str) -> list[int]:
    """Return the places of the candidates in the order in which a draw walks.

    >>> walk(Candidates([2, 0], [1.0, 3.0]), "vocabulary")
    [1, 0]
    """
    places = list(range(len(candidates.tokens)))
    if order == "vocabulary":
        return sorted(places, key=candidates.tokens.__getitem__)
    if order == "sorted":
        return sorted(places, key=candidates.logits.__getitem__, reverse=True)
    return places


ORDERS: Mapping[str, Callable[[Candidates, int], Candidates]] = MappingProxyType(
    {
        "as they stand": _as_they_stand,
        "sorted": _stably,
        "sorted if cut": _stably_if_cut,
        "libstdc++": _as_llama_cpp,
        "heap": _as_exllamav2,
    }
)
"""Each takes candidates and how many of the largest are wanted, and returns them sorted."""
