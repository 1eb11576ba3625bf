"""Min-p filtering.

Nguyen et al., "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs",
ICLR 2025, section 3 (https://arxiv.org/abs/2407.01082). In our words:

    Keep the tokens whose probability is at least m times the largest one.

Equality
    A token exactly at the threshold is kept in the definition ("kept"); some programs
    remove it ("removed"), and then m = 1 leaves nothing but what `least` keeps.
m above 1
    An error in the definition. One program accepts it, and keeps what `least` keeps, but at
    least one token, whatever `least` is: "best". (Its logit threshold lies above the largest
    logit.)
m = 0
    Every possible token is kept.
Least
    Never fewer than so many tokens, the most probable first; `ties` says which of equals.
Impossible tokens
    A token of no weight is never kept.
Rounding
    There is none. Given logits, the comparison is that of factor * (l - max) with log m. A
    logarithm of a rational number other than 1 is irrational, so a token can lie exactly
    at the threshold only for m = 1.
"""

from fractions import Fraction
from math import inf
from typing import Any, Literal, get_args

from sampling_ref.numbers.orders import Ties, largest
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.thresholds import logits_at_least
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Number, TokenId, possible, read_possible_logits, read_weights

Equality = Literal["kept", "removed"]
AboveOne = Literal["error", "best"]


def min_p(
    weights: Any,
    m: Number,
    *,
    equality: Equality = "kept",
    above_one: AboveOne = "error",
    least: int = 1,
    ties: Ties = "lowest id",
) -> frozenset[TokenId]:
    """Return the ids of the tokens of at least m times the largest weight.

    >>> sorted(min_p([0.5, 0.25, 0.125, 0.125], m=0.5))
    [0, 1]
    >>> sorted(min_p([0.5, 0.25, 0.125, 0.125], m=0.5, equality="removed"))
    [0]
    """
    row = read_weights(weights)
    threshold = _read_choices(m, equality, above_one, least) * Fraction(max(row))
    least = max(least, int(above_one == "best"))
    passing = {
        token
        for token, weight in enumerate(row)
        if weight > 0 and (weight > threshold or (weight == threshold and equality == "kept"))
    }
    best = largest(row, least, ties) if len(passing) < least else []
    return frozenset(passing.union(token for token in best if row[token] > 0))


def min_p_logits(
    logits: Any,
    m: Number,
    *,
    equality: Equality = "kept",
    above_one: AboveOne = "error",
    least: int = 1,
    ties: Ties = "lowest id",
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens of at least m times the largest e**(factor * logit).

    >>> sorted(min_p_logits([3.0, 2.0, 1.0], m=0.25))
    [0, 1]
    >>> sorted(min_p_logits([3.0, 2.0, 1.0], m=0.25, factor=0.5))
    [0, 1, 2]
    """
    row = read_possible_logits(logits)
    share = _read_choices(m, equality, above_one, least)
    least = max(least, int(above_one == "best"))
    scale = read_fraction("factor", factor, "(0, inf)")
    if share == 0:
        return frozenset(possible(row))
    threshold = Real(share).log() + scale * Fraction(max(row))
    passing = set(logits_at_least(row, threshold, strictly=equality == "removed", factor=scale))
    best = largest(row, least, ties) if len(passing) < least else []
    return frozenset(passing.union(token for token in best if row[token] > -inf))


def _read_choices(m: Number, equality: Equality, above_one: AboveOne, least: int) -> Fraction:
    read_choice("equality", equality, get_args(Equality))
    read_choice("above_one", above_one, get_args(AboveOne))
    read_whole("least", least, 0)
    return read_fraction("m", m, "[0, 1]" if above_one == "error" else "[0, inf)")
