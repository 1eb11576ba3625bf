"""Epsilon filtering.

Hewitt, Manning and Liang, "Truncation Sampling as Language Model Desmoothing", Findings of
EMNLP 2022, section 4 (https://arxiv.org/abs/2210.15191). In our words:

    Keep the tokens whose probability is above epsilon.

Equality
    The paper's sign is "greater than" ("removed": a token exactly at epsilon is not kept).
    The one engine that has this filter keeps such a token, and so does the default here
    ("kept").
Least
    Where no probability is that large the paper keeps nothing. Never fewer than `least`
    tokens are kept here, the most probable first; `ties` says which of equals.
Impossible tokens
    A token of no weight is never kept.
Rounding
    There is none. Given logits, a probability can be exactly epsilon only if all possible
    logits are equal.
"""

from fractions import Fraction
from math import inf
from typing import Any, Literal, get_args

from sampling_ref.numbers.orders import Ties, largest
from sampling_ref.numbers.thresholds import probabilities_at_least
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Number, TokenId, read_possible_logits, read_weights

Equality = Literal["kept", "removed"]


def epsilon(
    weights: Any,
    cutoff: Number,
    *,
    equality: Equality = "kept",
    least: int = 1,
    ties: Ties = "lowest id",
) -> frozenset[TokenId]:
    """Return the ids of the tokens with at least the share `cutoff` of the total weight.

    >>> sorted(epsilon([0.5, 0.25, 0.125, 0.125], cutoff=0.25))
    [0, 1]
    >>> sorted(epsilon([0.5, 0.25, 0.125, 0.125], cutoff=0.75))
    [0]
    """
    row = read_weights(weights)
    threshold = _read_choices(cutoff, equality, least) * sum(
        (Fraction(weight) for weight in row), start=Fraction(0)
    )
    passing = {
        token
        for token, weight in enumerate(row)
        if weight > threshold or (weight == threshold and equality == "kept")
    }
    best = largest(row, least, ties) if len(passing) < least else []
    return frozenset(passing.union(token for token in best if row[token] > 0))


def epsilon_logits(
    logits: Any,
    cutoff: Number,
    *,
    equality: Equality = "kept",
    least: int = 1,
    ties: Ties = "lowest id",
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens whose probability is at least `cutoff`.

    >>> sorted(epsilon_logits([0.0, 0.0, float("-inf")], cutoff=0.5))
    [0, 1]
    """
    row = read_possible_logits(logits)
    share = _read_choices(cutoff, equality, least)
    strictly = equality == "removed"
    passing = set(probabilities_at_least(row, share, strictly=strictly, factor=factor))
    best = largest(row, least, ties) if len(passing) < least else []
    return frozenset(passing.union(token for token in best if row[token] > -inf))


def _read_choices(cutoff: Number, equality: Equality, least: int) -> Fraction:
    read_choice("equality", equality, get_args(Equality))
    read_whole("least", least, 0)
    return read_fraction("cutoff", cutoff, "(0, 1)")
