"""Sums over a row as real numbers: the total weight, its logarithm, the entropy.

With the largest logit m, weights e**(factor * (l - m)) and their sum Z:

    log of the sum of e**(factor * l)  =  factor * m + log Z
    gap sum  =  sum of factor * (m - l) * weight
    entropy  =  - sum of p log p  =  log Z + gap sum / Z

The last line is the entropy of the probabilities p = weight / Z in nats (Shannon, "A
Mathematical Theory of Communication", 1948, section 6), with 0 log 0 = 0. Written so,
nothing cancels. Rows are those of `row.read_possible_logits`.

The mean logit
    is the sum of p * l. Entropy and surprise are simple with it:

        surprise of a token   -log p             = log Z - factor * l
        entropy               sum of -p log p    = log Z - factor * mean
        their difference      surprise - entropy = factor * (mean - l)

    So how typical a token is, is how far its logit lies from the mean logit. On which side of
    the mean a number c lies is the sign of the sum of (c - l) * e**(factor * l), which is zero
    only if every possible logit is c (the theorem in `exponential_sums`). So the question
    always has an answer. Floats with a bound answer it nearly always.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import TypeAlias

from sampling_ref.numbers.exponential_sums import exponential_bounds, scaled_difference
from sampling_ref.numbers.reals import Real, formula
from sampling_ref.row import Number, Row


def total_weight(row: Row, factor: Fraction | int = 1) -> Real:
    """Return Z, the sum of e**(factor * (logit - largest logit)).

    >>> total_weight([1.0, 1.0, float("-inf")])
    Real(2)
    """
    counts = counts_of_possible(row)
    if len(counts) == 1:
        return Real(sum(counts.values()))
    return _total(counts, _weights(counts, Fraction(factor)))


def log_of_sum(row: Row, factor: Fraction | int = 1) -> Real:
    """Return the logarithm of the sum of e**(factor * logit).

    >>> log_of_sum([1.5, float("-inf")])
    Real(3/2)
    """
    return total_weight(row, factor).log() + Fraction(max(row)) * factor


def entropy_of(row: Row, factor: Fraction | int = 1) -> Real:
    """Return the entropy of the softmax of factor * row, in nats.

    >>> entropy_of([1.5, float("-inf")]), float(entropy_of([0.0, 0.0]))
    (Real(0), 0.6931471805599453)
    """
    counts = counts_of_possible(row)
    if len(counts) == 1:
        return Real(sum(counts.values())).log()
    scale = Fraction(factor)
    weights = _weights(counts, scale)
    total = _total(counts, weights)
    return total.log() + _gap_sum(counts, scale, weights) / total


def gap_sum(row: Row, factor: Fraction | int = 1) -> Real:
    """Return the sum of factor * (largest - logit) * e**(factor * (logit - largest)).

    >>> gap_sum([2.0, 2.0]), float(gap_sum([3.0, 2.0]))
    (Real(0), 0.36787944117144233)
    """
    counts = counts_of_possible(row)
    if len(counts) == 1:
        return Real(0)
    scale = Fraction(factor)
    return _gap_sum(counts, scale, _weights(counts, scale))


def counts_of_possible(row: Row) -> Counter[Number]:
    """Return how often each finite logit occurs.

    >>> counts_of_possible([0.5, float("-inf"), 0.5])
    Counter({0.5: 2})
    """
    counts: Counter[Number] = Counter(row)
    del counts[-inf]
    return counts


Weights: TypeAlias = Callable[[int], list[tuple[int, int]]]
"""From a number of binary places to enclosures of the weights of different logits."""


def _gap_sum(counts: Counter[Number], factor: Fraction, weights: Weights) -> Real:
    largest = max(counts)
    distances = [scaled_difference(largest, logit, factor) for logit in counts]

    def enclose(bits: int) -> tuple[int, int]:
        low = high = 0
        for count, (above, below), bounds in zip(
            counts.values(), distances, weights(bits), strict=True
        ):
            if 2 * above > 3 * bits * below:  # d e**-d <= e**(-d/2), which is below 2**-bits
                high += count
                continue
            distance = (above << bits) // below
            low += count * (distance * bounds[0] >> bits)
            high += count * (((distance + 1) * bounds[1] >> bits) + 1)
        return low, high

    return formula(enclose)


def _weights(counts: Counter[Number], factor: Fraction) -> Weights:
    """Return the function that encloses the weight of each logit to some binary places."""
    logits, largest = list(counts), max(counts)

    @lru_cache(maxsize=1)  # a sum and another one over the same weights ask in turn
    def weights(bits: int) -> list[tuple[int, int]]:
        return exponential_bounds(logits, largest, factor, bits)

    return weights


def _total(counts: Counter[Number], weights: Weights) -> Real:
    def enclose(bits: int) -> tuple[int, int]:
        low = high = 0
        for count, bounds in zip(counts.values(), weights(bits), strict=True):
            low += count * bounds[0]
            high += count * bounds[1]
        return low, high

    return formula(enclose)


def mean_logit(logits: Row, factor: Fraction) -> Real:
    """Return the mean of the logits, each weighted with its probability.

    >>> mean_logit([2.0, 2.0], Fraction(1)), float(mean_logit([0.0, 1.0], Fraction(1)))
    (Real(2), 0.7310585786300049)
    """
    below = gap_sum(logits, factor) / (total_weight(logits, factor) * factor)
    return Real(Fraction(max(logits))) - below
