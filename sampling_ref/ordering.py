"""The tie rules: in which order equals are taken.

Engines differ in this more than in anything else, so each order has a name here.
Sorting in Python keeps equals in the order they had, also where `reverse` is set.
"""

from sampling_ref.row import Row, TokenId


def largest_first(row: Row) -> list[TokenId]:
    """Return all token ids by falling value, equals by rising id: the order of this package.

    >>> largest_first([0.25, 0.5, 0.25])
    [1, 0, 2]
    """
    return sorted(range(len(row)), key=row.__getitem__, reverse=True)


def largest_first_highest_id_first(row: Row) -> list[TokenId]:
    """Return all token ids by falling value, equals by falling id.

    This is a stable ascending sort read from its end, as PyTorch programs do it.

    >>> largest_first_highest_id_first([0.25, 0.5, 0.25])
    [1, 2, 0]
    """
    return sorted(range(len(row)), key=row.__getitem__)[::-1]


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
