"""Top-a filtering.

BlinkDL, "RWKV-LM", readme, 2022 (https://github.com/BlinkDL/RWKV-LM). In our words:

    Remove the tokens whose probability is below a times the square of the largest one.

Equality
    A token exactly at the threshold is kept.
a
    At least 0; with 0 every possible token is kept. For a up to 1 the most probable token
    lies above its own threshold. For a larger a it need not.
Least
    Never fewer tokens than so many, the most probable first; `ties` says which of equals.
Impossible tokens
    A token of no weight is never kept.
Rounding
    There is none. With the largest weight as 1 and Z the sum of the weights, the question
    is whether weight * Z is at least a. Given logits, the two can be equal only if all
    possible logits are equal, and then Z is their number.
"""

from fractions import Fraction
from math import inf
from typing import Any

from sampling_ref.numbers.orders import Ties, largest
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.thresholds import logits_at_least
from sampling_ref.numbers.totals import log_of_sum
from sampling_ref.parameters import read_fraction, read_whole
from sampling_ref.row import Number, TokenId, possible, read_possible_logits, read_weights


def top_a(
    weights: Any,
    a: Number,
    *,
    least: int = 1,
    ties: Ties = "lowest id",
) -> frozenset[TokenId]:
    """Return the ids of the tokens of at least a times the squared largest probability.

    >>> sorted(top_a([0.5, 0.25, 0.125, 0.125], a=1))
    [0, 1]
    >>> sorted(top_a([0.5, 0.25, 0.125, 0.125], a=0.5))
    [0, 1, 2, 3]
    """
    row = read_weights(weights)
    square = read_fraction("a", a, "[0, inf)") * Fraction(max(row)) ** 2
    read_whole("least", least, 0)
    total = sum((Fraction(weight) for weight in row), start=Fraction(0))
    passing = {
        token
        for token, weight in enumerate(row)
        if weight > 0 and Fraction(weight) * total >= square
    }
    best = largest(row, least, ties) if len(passing) < least else []
    return frozenset(passing.union(token for token in best if row[token] > 0))


def top_a_logits(
    logits: Any,
    a: Number,
    *,
    least: int = 1,
    ties: Ties = "lowest id",
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens of at least a times the squared largest probability.

    >>> sorted(top_a_logits([4.0, 2.0, 0.0], a=0.25))
    [0]
    >>> sorted(top_a_logits([4.0, 2.0, 0.0], a=0.125))
    [0, 1]
    """
    row = read_possible_logits(logits)
    share = read_fraction("a", a, "[0, inf)")
    read_whole("least", least, 0)
    scale = read_fraction("factor", factor, "(0, inf)")
    tokens = possible(row)
    highest = max(row)
    if share == 0 or all(row[token] == highest for token in tokens):
        passing = set(tokens if share <= len(tokens) else ())
    else:
        top = scale * Fraction(highest)
        threshold = Real(share).log() + 2 * top - log_of_sum(row, scale)
        passing = set(logits_at_least(row, threshold, factor=scale))
    best = largest(row, least, ties) if len(passing) < least else []
    return frozenset(passing.union(token for token in best if row[token] > -inf))
