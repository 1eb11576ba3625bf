"""The leading tokens of a row: the largest entries, and what becomes of their equals.

Several steps take "the n most probable tokens": top-k is nothing else, and others never
keep fewer than some least number. The n-th largest value may occur more than n times, and
then the number alone does not say which tokens are meant. Engines answer in three ways.
"""

from math import inf
from typing import Final, Literal, TypeAlias, get_args

from sampling_ref.arithmetic import selecting
from sampling_ref.ordering import largest_first, largest_first_highest_id_first
from sampling_ref.parameters import read_choice
from sampling_ref.row import Row, TokenId

Ties: TypeAlias = Literal["lowest id", "highest id", "all"]
"""Which of the equals of the last kept token are kept: the lowest ids, the highest, all."""

NAMES_OF_TIES: Final[dict[Ties, selecting.Ties]] = {
    "lowest id": "lowest_id_first",
    "highest id": "highest_id_first",
    "all": "all",
}
"""What the arithmetic calls them."""


def in_order(row: Row, ties: Ties) -> list[TokenId]:
    """Return all token ids by falling value, equals in the order in which ties take them.

    >>> in_order([0.25, 0.5, 0.25], "lowest id"), in_order([0.25, 0.5, 0.25], "highest id")
    ([1, 0, 2], [1, 2, 0])
    """
    read_choice("ties", ties, get_args(Ties))
    return largest_first_highest_id_first(row) if ties == "highest id" else largest_first(row)


def leading(row: Row, count: int, ties: Ties) -> list[TokenId]:
    """Return the ids of the `count` largest entries, largest first; all of a shorter row.

    With ties "all", the equals of the last one follow.

    >>> leading([1.0, 2.0, 2.0, 2.0], 2, "lowest id")
    [1, 2]
    >>> leading([1.0, 2.0, 2.0, 2.0], 2, "highest id")
    [3, 2]
    >>> leading([1.0, 2.0, 2.0, 2.0], 2, "all")
    [1, 2, 3]
    """
    read_choice("ties", ties, get_args(Ties))
    return selecting.largest(row, count, ties=NAMES_OF_TIES[ties])


def possible(logits: Row) -> list[TokenId]:
    """Return the ids of the tokens whose logit is finite.

    >>> possible([0.0, float("-inf"), 1.0])
    [0, 2]
    """
    return [token for token, logit in enumerate(logits) if logit != -inf]
