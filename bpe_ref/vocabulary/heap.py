"""Byte-pair encoding with a priority queue, in O(n log n).

The naive encoder looks at every pair again after every merge, yet a merge changes only the pairs
that its two tokens were part of. This encoder remembers the others.

Representation
    Slot `i` starts out holding symbol `i` of the input. Merging two slots stores the result in the
    left one and empties the right one. `previous` and `following` link the slots still in use, as a
    doubly linked list.

Invariant
    The heap holds every adjacent pair that has a merge. It may also hold *stale* entries, whose
    slots have since merged with something else; nobody removes those early, they are recognised
    when they are popped.

Why this is the same answer
    Entries compare by rank, then by slot. A result stays in its left slot, so slot order is text
    order, and the smallest valid entry is the lowest-ranked, leftmost pair: the one the definition
    asks for. That an entry is valid is seen from its two tokens, not from its slots being in use:
    with the tokens a, aa, aaa, aaaa the text aaaaa shows the difference.
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final, TypeAlias

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId

MergeOf: TypeAlias = Callable[[Any, Any], tuple[float, Any] | None]
"""From two neighbours to their rank and what they become, or None; tokens may be ids or strings."""

_NOWHERE: Final = -1  # in a link: there is no such neighbour


def encode_heap(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge until no adjacent pair has a merge. O(n log n).

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"aba": 3})
    >>> encode_heap(vocabulary, vocabulary.symbols(b"ababa"))
    [2, 3]
    """
    vocabulary.spell(symbols)  # raises for what is not a symbol
    slots: list[TokenId | None] = [*symbols]
    for _ in merge_slots(vocabulary.rule.merge, slots):
        pass
    return [token for token in slots if token is not None]


def merge_slots(
    merge_of: MergeOf, slots: list[Any], dropped: Callable[[], bool] | None = None
) -> Iterator[tuple[tuple[Any, Any], int]]:
    """Merge in place; yield each pair as it merges, with its left slot. Emptied slots are None.

    With `dropped`, each entry that is popped is set aside if that returns true. Otherwise
    everything that was set aside goes back to the heap first.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1, b"aaa": 2})
    >>> list(merge_slots(vocabulary.rule.merge, [0, 0, 0]))
    [((0, 0), 0), ((1, 0), 0)]
    """
    previous = [_NOWHERE, *range(len(slots) - 1)]
    following = [*range(1, len(slots)), _NOWHERE]
    heap = [
        (merge[0], slot, slots[slot], slots[slot + 1], merge[1])
        for slot in range(len(slots) - 1)
        if (merge := merge_of(slots[slot], slots[slot + 1])) is not None
    ]
    heapify(heap)
    aside: list[tuple[float, int, Any, Any, Any]] = []

    def remember(slot: int) -> None:
        """Restore the invariant for the pair whose left half is in `slot`, if there is one."""
        if slot == _NOWHERE or following[slot] == _NOWHERE:
            return
        left, right = slots[slot], slots[following[slot]]
        merge = merge_of(left, right)
        if merge is not None:
            heappush(heap, (merge[0], slot, left, right, merge[1]))

    while heap:
        entry = heappop(heap)
        if dropped is not None:
            if dropped():
                aside.append(entry)
                continue
            while aside:
                heappush(heap, aside.pop())
        _, slot, left, right, result = entry
        gone = following[slot]
        if slots[slot] != left or gone == _NOWHERE or slots[gone] != right:
            continue  # stale

        slots[slot], slots[gone] = result, None
        following[slot] = following[gone]
        if following[slot] != _NOWHERE:
            previous[following[slot]] = slot
        yield (left, right), slot
        remember(previous[slot])
        remember(slot)
