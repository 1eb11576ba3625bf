"""Sums over a row as real numbers: the total weight, its logarithm, the entropy.

With the largest logit m, weights e**(factor * (l - m)) and their sum Z:

    log of the sum of e**(factor * l)  =  factor * m + log Z
    entropy  =  - sum of p log p  =  log Z + (sum of factor * (m - l) * weight) / Z

The second line is the entropy of the probabilities p = weight / Z in nats (Shannon, "A
Mathematical Theory of Communication", 1948, section 6), with 0 log 0 = 0. Written so,
nothing cancels. Rows are those of `row.read_possible_logits`.
"""

from collections import Counter
from fractions import Fraction
from math import inf

from sampling_ref.arithmetic.exponential_sums import exponential_bounds
from sampling_ref.arithmetic.reals import Real, formula
from sampling_ref.row import Number, Row


def total_weight(row: Row, factor: Fraction | int = 1) -> Real:
    """Return Z, the sum of e**(factor * (logit - largest logit)).

    >>> total_weight([1.0, 1.0, float("-inf")])
    Real(2)
    """
    counts = _counts(row)
    if len(counts) == 1:
        return Real(sum(counts.values()))
    largest, logits = max(counts), list(counts)

    def enclose(bits: int) -> tuple[int, int]:
        bounds = exponential_bounds(logits, largest, Fraction(factor), bits)
        numbers = counts.values()
        return (
            sum(count * low for count, (low, _) in zip(numbers, bounds, strict=True)),
            sum(count * high for count, (_, high) in zip(numbers, bounds, strict=True)),
        )

    return formula(enclose)


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
    total = total_weight(row, factor)
    counts = _counts(row)
    if len(counts) == 1:
        return total.log()
    largest, logits = max(counts), list(counts)
    distances = [(Fraction(largest) - Fraction(logit)) * factor for logit in logits]

    def enclose(bits: int) -> tuple[int, int]:
        bounds = exponential_bounds(logits, largest, Fraction(factor), bits)
        low = high = 0
        for count, distance, (below, above) in zip(counts.values(), distances, bounds, strict=True):
            if 2 * distance > 3 * bits:  # d e**-d <= e**(-d/2), which is below 2**-bits
                high += count
                continue
            scaled = (distance.numerator << bits) // distance.denominator
            low += count * (scaled * below >> bits)
            high += count * (((scaled + 1) * above >> bits) + 1)
        return low, high

    return total.log() + formula(enclose) / total


def _counts(row: Row) -> Counter[Number]:
    counts: Counter[Number] = Counter(row)
    del counts[-inf]
    return counts
