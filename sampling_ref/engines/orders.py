"""How engines sort their candidates before a step, and leave them sorted.

llama.cpp sorts within its steps, in an order of its own: see `llama_cpp_order`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from heapq import heapify, heapreplace
from types import MappingProxyType

from sampling_ref.numbers.orders import largest
from sampling_ref.row import Candidates


def _as_they_stand(candidates: Candidates, count: int) -> Candidates:
    return candidates


def _stably(candidates: Candidates, count: int) -> Candidates:
    return replace(candidates.at(largest(candidates.logits, count)), is_sorted=True)


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
    pairs = zip(candidates.logits, candidates.tokens, strict=True)
    items = [(logit, token, place) for place, (logit, token) in enumerate(pairs)]
    heap = items[:count]
    heapify(heap)
    for item in items[count:]:
        if item[0] > heap[0][0]:
            heapreplace(heap, item)
    places = [place for _, _, place in sorted(heap, reverse=True)]
    return replace(candidates.at(places), is_sorted=True)


ORDERS: Mapping[str, Callable[[Candidates, int], Candidates]] = MappingProxyType(
    {
        "as they stand": _as_they_stand,
        "sorted": _stably,
        "sorted if cut": _stably_if_cut,
        "heap": _as_exllamav2,
    }
)
"""Each takes candidates and how many of the largest are wanted, and returns them sorted."""
