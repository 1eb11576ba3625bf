"""The largest numbers of a row, without sorting the row.

Several steps take "the k most probable tokens": top-k is nothing else, and others never
keep fewer than some least number. The k-th largest value may occur more than k times, and
then the number alone does not say which tokens are meant. Engines answer in the three ways
of `ordering.Ties`.

The definition is the first k of `ordering.largest_first`. But sorting 128,256 numbers takes
ten times as long as looking at them, and k is usually small. So the row is cut into
chunks, of which only the largest numbers are taken.

Why this is the same answer
    Let t be the k-th largest of the chunks' largest numbers. At least k numbers of the row
    are t or more, so the k largest are, and so are all equals of the k-th. A number that is
    t or more stands in a chunk whose largest number is. Sorting the numbers of those chunks
    that are t or more, in the order of the row, is sorting the part of the row that counts.
"""

from typing import get_args

from sampling_ref.ordering import Ties, largest_first
from sampling_ref.parameters import read_choice, read_whole
from sampling_ref.row import Row, TokenId

_CHUNKS_PER_NUMBER = 6


def largest(row: Row, k: int, ties: Ties = "lowest id") -> list[TokenId]:
    """Return the ids of the k largest numbers, largest first; all ids if the row has fewer.

    Equals are in order of id, lowest first or highest first. With "all" they are lowest
    first, and the equals of the last one are taken too. The row must not be empty.

    >>> largest([0.25, 0.5, 0.25, 0.25], 2), largest([0.25, 0.5, 0.25, 0.25], 2, "all")
    ([1, 0], [1, 0, 2, 3])
    >>> largest([0.25, 0.5, 0.25, 0.25], 2, "highest id")
    [1, 3]
    """
    read_choice("ties", ties, get_args(Ties))
    if not read_whole("k", k):
        return []
    ordered = in_order(row, _large(row, k), ties)
    if ties == "all":
        while k < len(ordered) and row[ordered[k]] == row[ordered[k - 1]]:
            k += 1
    return ordered[:k]


def in_order(row: Row, tokens: list[TokenId], ties: Ties) -> list[TokenId]:
    """Return some tokens of a row, given by rising id, largest first.

    >>> in_order([0.25, 0.5, 0.25], [0, 2], "lowest id")
    [0, 2]
    """
    if len(tokens) == len(row):
        return largest_first(row, ties)
    return [tokens[place] for place in largest_first([row[token] for token in tokens], ties)]


def _large(row: Row, k: int) -> list[TokenId]:
    """Return the ids, rising, of all numbers that are at least some t which k numbers reach."""
    size = len(row) // (_CHUNKS_PER_NUMBER * k)
    if size < 2:
        return list(range(len(row)))
    size = min(size, 64)  # longer chunks find their largest number no sooner
    starts = range(0, len(row), size)
    tops = [max(row[start : start + size]) for start in starts]
    limit = sorted(tops, reverse=True)[k - 1]
    return [
        token
        for start, top in zip(starts, tops, strict=True)
        if top >= limit
        for token, number in enumerate(row[start : start + size], start)
        if number >= limit
    ]
