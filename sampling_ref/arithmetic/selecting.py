"""The k largest numbers of a row, without sorting the row.

The definition is the first k of `ordering.largest_first`. Sorting 128,256 numbers takes
ten times as long as looking at them, and k is usually small. So the row is cut into
chunks, of which only the largest numbers are taken.

Why this is the same answer
    Let t be the k-th largest of the chunks' largest numbers. At least k numbers of the row
    are t or more, so the k largest are, and so are all equals of the k-th. A number that is
    t or more stands in a chunk whose largest number is. Sorting the numbers of those chunks
    that are t or more, in the order of the row, is sorting the part of the row that counts.
"""

from typing import Literal, TypeAlias, get_args

from sampling_ref.errors import ParameterError
from sampling_ref.ordering import largest_first, largest_first_highest_id_first
from sampling_ref.parameters import read_whole
from sampling_ref.row import Row, TokenId

Ties: TypeAlias = Literal["lowest_id_first", "highest_id_first", "all"]
"""Which equals of the last one are taken: those with the lowest ids, the highest, or all."""

_CHUNKS_PER_NUMBER = 6


def check_ties(ties: str) -> None:
    """Raise ParameterError if there is no such tie rule.

    >>> check_ties("none")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: ties must be one of lowest_id_first, highest_id_first, \
all, got 'none'
    """
    if ties not in get_args(Ties):
        raise ParameterError("ties", ties, f"must be one of {', '.join(get_args(Ties))}")


def largest(row: Row, k: int, *, ties: Ties = "lowest_id_first") -> list[TokenId]:
    """Return the ids of the k largest numbers, largest first; all ids if the row has fewer.

    Equals are in order of id, lowest first or highest first. With "all" they are lowest
    first, and the equals of the last one are taken too. The row must not be empty.

    >>> largest([0.25, 0.5, 0.25, 0.25], 2), largest([0.25, 0.5, 0.25, 0.25], 2, ties="all")
    ([1, 0], [1, 0, 2, 3])
    >>> largest([0.25, 0.5, 0.25, 0.25], 2, ties="highest_id_first")
    [1, 3]
    """
    check_ties(ties)
    if not read_whole("k", k):
        return []
    ordered = in_order(row, _large(row, k), ties)
    if ties == "all":
        while k < len(ordered) and row[ordered[k]] == row[ordered[k - 1]]:
            k += 1
    return ordered[:k]


def in_order(row: Row, tokens: list[TokenId], ties: Ties) -> list[TokenId]:
    """Return some tokens of a row, given by rising id, largest first.

    >>> in_order([0.25, 0.5, 0.25], [0, 2], "lowest_id_first")
    [0, 2]
    """
    order = largest_first_highest_id_first if ties == "highest_id_first" else largest_first
    if len(tokens) == len(row):
        return order(row)
    return [tokens[place] for place in order([row[token] for token in tokens])]


def _large(row: Row, k: int) -> list[TokenId]:
    """Return the ids, rising, of all numbers that are at least some t which k numbers reach."""
    size = len(row) // (_CHUNKS_PER_NUMBER * k)
    if size < 2:  # noqa: PLR2004 - chunks of one number save nothing
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
