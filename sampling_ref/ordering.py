"""The tie rules: in which order equals are taken.

Engines differ in this more than in anything else, so each order has a name here.
Sorting in Python keeps equals in the order they had, also where `reverse` is set.
"""

from typing import Literal, TypeAlias, get_args

from sampling_ref.parameters import read_choice
from sampling_ref.row import Row, TokenId

Ties: TypeAlias = Literal["lowest id", "highest id", "all"]
"""Which equals of the last token taken are taken: those of the lowest ids, the highest, all."""


def largest_first(row: Row, ties: Ties = "lowest id") -> list[TokenId]:
    """Return all token ids by falling value, equals in the order in which ties take them.

    The order of this package is by rising id, also where ties are all taken. That by falling
    id is a stable ascending sort read from its end, as PyTorch programs do it.

    >>> largest_first([0.25, 0.5, 0.25]), largest_first([0.25, 0.5, 0.25], "highest id")
    ([1, 0, 2], [1, 2, 0])
    """
    if read_choice("ties", ties, get_args(Ties)) == "highest id":
        return sorted(range(len(row)), key=row.__getitem__)[::-1]
    return sorted(range(len(row)), key=row.__getitem__, reverse=True)


def first_largest(row: Row) -> TokenId:
    """Return the lowest id among the largest values: the usual argmax.

    >>> first_largest([0.25, 0.5, 0.5])
    1
    """
    return row.index(max(row))


def last_largest(row: Row) -> TokenId:
    """Return the highest id among the largest values: what Rust's `max_by` returns.

    >>> last_largest([0.5, 0.5, 0.25])
    1
    """
    return len(row) - 1 - row[::-1].index(max(row))
