"""Top-k filtering.

Fan, Lewis and Dauphin, "Hierarchical Neural Story Generation", ACL 2018, section 5.1
(https://arxiv.org/abs/1805.04833). In our words:

    Keep the k most probable tokens.

Ties
    Tokens as probable as the k-th may be more than there is room for. Either exactly k
    stay, those of the lowest ids or of the highest, or all of them stay, which makes more
    than k. Programs that compare with the k-th value keep all; programs that sort keep
    exactly k, and if their sort is not stable it is an accident which ones.
k larger than the row
    Every possible token is kept. Some programs call it an error, also where k is the
    whole length (`beyond="error"`).
k = 0
    No such filter, an empty set, or an error: engines have all three.
Least
    Never fewer than so many tokens: k is raised to it, as transformers does.
Impossible tokens
    A token of no weight is never kept, even if fewer than k tokens are left then.

Weights and logits have the same order, so it does not matter which are given.
"""

from typing import Any, Literal, get_args

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.orders import Ties, largest
from sampling_ref.parameters import read_choice, read_whole
from sampling_ref.row import TokenId, possible, read_possible_logits, read_weights

Zero = Literal["error", "off", "none"]
Beyond = Literal["all", "error"]


def top_k(
    weights: Any,
    k: int,
    *,
    ties: Ties = "lowest id",
    zero: Zero = "error",
    beyond: Beyond = "all",
    least: int = 1,
) -> frozenset[TokenId]:
    """Return the ids of the k tokens of the largest weight.

    >>> sorted(top_k([0.125, 0.5, 0.25, 0.125], k=3))
    [0, 1, 2]
    >>> sorted(top_k([0.125, 0.5, 0.25, 0.125], k=3, ties="highest id"))
    [1, 2, 3]
    >>> sorted(top_k([0.125, 0.5, 0.25, 0.125], k=3, ties="all"))
    [0, 1, 2, 3]
    """
    row = read_weights(weights)
    count = _read_k(k, len(row), zero, beyond, least)
    return frozenset(token for token in largest(row, count, ties) if row[token] > 0)


def top_k_logits(
    logits: Any,
    k: int,
    *,
    ties: Ties = "lowest id",
    zero: Zero = "error",
    beyond: Beyond = "all",
    least: int = 1,
) -> frozenset[TokenId]:
    """Return the ids of the k tokens of the largest logit.

    >>> sorted(top_k_logits([1.0, 2.0, 2.0, 2.0, 3.0], k=3, ties="all"))
    [1, 2, 3, 4]
    >>> sorted(top_k_logits([1.0, float("-inf")], k=2))
    [0]
    """
    row = read_possible_logits(logits)
    count = _read_k(k, len(row), zero, beyond, least)
    return frozenset(largest(row, count, ties)).intersection(possible(row))


def _read_k(k: int, size: int, zero: Zero, beyond: Beyond, least: int) -> int:
    read_choice("zero", zero, get_args(Zero))
    read_choice("beyond", beyond, get_args(Beyond))
    count = read_whole("k", k, 1 if zero == "error" else 0)
    if beyond == "error" and count >= size:
        raise ParameterError("k", k, f"must be below the length of the row, {size}")
    if count == 0 and zero == "off":
        return size
    if count == 0:
        return 0
    return max(count, read_whole("least", least, 1))
