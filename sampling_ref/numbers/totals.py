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
from fractions import Fraction
from functools import lru_cache
from math import inf

from sampling_ref.numbers.exponential_sums import exponential_bounds, scaled_difference
from sampling_ref.numbers.reals import Real, formula
from sampling_ref.row import Number, Row


def sums_over(row: Row, factor: Fraction | int = 1) -> tuple[Real, Real]:
    """Return Z and the gap sum of a row.

    >>> sums_over([2.0, 2.0]), float(sums_over([3.0, 2.0])[1])
    ((Real(2), Real(0)), 0.36787944117144233)
    """
    counts, scale = counts_of_possible(row), Fraction(factor)
    logits, largest = list(counts), max(counts)
    if len(counts) == 1:
        return Real(counts[largest]), Real(0)
    distances = [scaled_difference(largest, logit, scale) for logit in logits]

    @lru_cache(maxsize=1)  # both sums ask in turn
    def weights(bits: int) -> list[tuple[int, int]]:
        return exponential_bounds(logits, largest, scale, bits)

    def total(bits: int) -> tuple[int, int]:
        low = high = 0
        for count, bounds in zip(counts.values(), weights(bits), strict=True):
            low += count * bounds[0]
            high += count * bounds[1]
        return low, high

    def gaps(bits: int) -> tuple[int, int]:
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

    return formula(total), formula(gaps)


def total_weight(row: Row, factor: Fraction | int = 1) -> Real:
    """Return Z, the sum of e**(factor * (logit - largest logit)).

    >>> total_weight([1.0, 1.0, float("-inf")])
    Real(2)
    """
    return sums_over(row, factor)[0]


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
    total, gaps = sums_over(row, factor)
    return total.log() + gaps / total


def counts_of_possible(row: Row) -> Counter[Number]:
    """Return how often each finite logit occurs.

    >>> counts_of_possible([0.5, float("-inf"), 0.5])
    Counter({0.5: 2})
    """
    counts: Counter[Number] = Counter(row)
    del counts[-inf]
    return counts


def mean_logit(logits: Row, factor: Fraction) -> Real:
    """Return the mean of the logits, each weighted with its probability.

    >>> mean_logit([2.0, 2.0], Fraction(1)), float(mean_logit([0.0, 1.0], Fraction(1)))
    (Real(2), 0.7310585786300049)
    """
    total, gaps = sums_over(logits, factor)
    return Real(Fraction(max(logits))) - gaps / (total * factor)
