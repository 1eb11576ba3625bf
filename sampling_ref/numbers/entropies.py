"""Decisions about entropies, without rounding.

Nearest to the mean
    How typical a candidate is, is how far its logit lies from the mean logit (see `totals`).
    On which side of the mean the middle of two values lies says which of them is farther.
Entropy of the first candidates
    grows with every candidate that is taken, so the last one within a bound is found by
    bisection. Given weights, every comparison is the sign of a sum of logarithms of rational
    numbers, and decided. Given logits, a float with a bound decides nearly always; where the
    two entropies agree to 200 digits and are not equal for one of the known reasons (the
    whole, all logits equal), that is an `UndecidedError`. So it is where all candidates but
    one have less than 2**-8192 of the weight together, which leaves no entropy to speak of.
Share of the largest entropy
    is rational where all logits are equal and one number of candidates is a power of the
    other.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import exp, log
from typing import TypeVar

from sampling_ref.numbers.logarithm_sums import Term, sign_of_logarithms
from sampling_ref.numbers.mass import WEIGHT_ERROR, float_gaps
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.totals import entropy_of, sums_over, total_weight
from sampling_ref.row import Number

Value = TypeVar("Value")


def nearest_first(
    values: Sequence[Value], side: Callable[[Value, Value], int]
) -> list[list[Value]]:
    """Return rising values by their distance from a mean, equally far ones together.

    `side(a, b)` is the sign of (a + b) / 2 - mean: positive if b is the farther one.

    >>> nearest_first([1, 2, 4], lambda one, two: (one + two > 5) - (one + two < 5))
    [[2], [1, 4]]
    """
    above = bisect_left(values, 0, key=lambda value: side(value, value))
    below = above - 1
    groups: list[list[Value]] = []
    while below >= 0 and above < len(values):
        sign = side(values[below], values[above])
        groups.append([values[below]] * (sign >= 0) + [values[above]] * (sign <= 0))
        below -= sign >= 0
        above += sign <= 0
    groups += [[value] for value in values[below::-1] if below >= 0]
    groups += [[value] for value in values[above:]]
    return groups


def entropies_within(
    line: Sequence[Number], share: Fraction, entropy: str, factor: Fraction
) -> int:
    """Return how many of the first logits have at most a share of the entropy of all.

    `entropy` is "own" (of the first, scaled to sum 1) or "shared" (their terms of the whole).

    >>> entropies_within([3.0, 2.0, 1.0, 0.0], Fraction(3, 4), "own", Fraction(1))
    2
    """
    if line[0] == line[-1]:
        return entropies_within_of_weights([Fraction(1)] * len(line), share, entropy)
    if share == 1:
        return len(line)
    return _last_within(len(line), _entropy_test(line, share, entropy, factor))


def entropies_within_of_weights(line: Sequence[Fraction], share: Fraction, entropy: str) -> int:
    """Return how many of the first weights have at most a share of the entropy of all.

    >>> sixteen = [Fraction(1)] * 16
    >>> [entropies_within_of_weights(sixteen, Fraction(1, 2), one) for one in ("own", "shared")]
    [4, 8]
    """
    total = sum(line, start=Fraction(0))
    # -sum of w log w over the first, as terms; their entropy is that over W, plus log W.
    terms: list[Term] = [(-weight, weight) for weight in line]
    sums = list(accumulate(line))

    def is_within(count: int) -> bool:
        mass = sums[count - 1]
        bound = [(share * c / total, a) for c, a in [*terms, (total, total)]]
        if entropy == "own":
            found = [(c / mass, a) for c, a in [*terms[:count], (mass, mass)]]
        else:
            found = [(c / total, a) for c, a in [*terms[:count], (mass, total)]]
        return sign_of_logarithms([*found, *((-c, a) for c, a in bound)]) <= 0

    return _last_within(len(line), is_within)


def _entropy_test(
    line: Sequence[Number], share: Fraction, entropy: str, factor: Fraction
) -> Callable[[int], bool]:
    """Return a test whether the entropy of the first tokens is within the bound.

    The logits are not all equal, so there is an entropy, and the share is below 1.
    """
    gaps = float_gaps(line, factor)
    weights = [exp(-gap) for gap in gaps]
    sums = list(accumulate(weights))
    gap_sums = list(accumulate(gap * weight for gap, weight in zip(gaps, weights, strict=True)))
    relative = 64 * WEIGHT_ERROR + len(line) * 2.0**-50
    log_total = log(sums[-1])
    whole = log_total + gap_sums[-1] / sums[-1]

    def floats(count: int) -> tuple[float, float]:
        """Return entropy less bound, and how far off that may be."""
        mass, gap_sum = sums[count - 1], gap_sums[count - 1]
        if entropy == "own":
            found = log(mass) + gap_sum / mass
        else:
            found = (mass * log_total + gap_sum) / sums[-1]
        return found - float(share) * whole, relative * (2 + found + whole)

    def is_within(count: int) -> bool:
        if count == len(line):
            return False  # the whole entropy is not within less than itself
        if count == 1 and entropy == "own":
            return True  # no entropy, however little the bound
        distance, error = floats(count)
        if abs(distance) > error:
            return distance < 0
        bound = _entropy_of_part(line, line, factor) * share
        own = line[:count] if entropy == "own" else line
        return bool(_entropy_of_part(line[:count], own, factor) <= bound)

    return is_within


def _entropy_of_part(part: Sequence[Number], whole: Sequence[Number], factor: Fraction) -> Real:
    """Return the sum of -p log p over a part, where p are probabilities in the whole.

    Both begin with their largest logit. With g = factor * (largest - l), -log p is g plus
    the logarithm of the total weight.
    """
    total, (weight, gaps) = total_weight(whole, factor), sums_over(part, factor)
    return (weight * total.log() + gaps) / total


def _last_within(size: int, is_within: Callable[[int], bool]) -> int:
    """Return the largest number of tokens whose entropy is within the bound, or 0."""
    return bisect_left(range(1, size + 1), True, key=lambda count: not is_within(count))


def share_of_entropy(possible: Sequence[Number], count: int) -> Real:
    """Return the entropy as a share of what it can be at most with `count` tokens.

    >>> share_of_entropy([1.0, 1.0], 2), share_of_entropy([1.0], 2)
    (Real(1), Real(0))
    """
    if min(possible) < max(possible):
        return entropy_of(possible) / Real(count).log()
    # Here the entropy is the logarithm of a whole number, and the share may be rational.
    return log_ratio(len(possible), count)


def log_ratio(part: int, whole: int) -> Real:
    """Return ln part / ln whole, as a rational number where it is one.

    >>> log_ratio(4, 8), log_ratio(1, 8)
    (Real(2/3), Real(0))
    """
    # ln a / ln b is rational exactly if a**q == b**p for whole p and q, and then the powers
    # of one prime in a and b have the ratio p / q.
    for denominator in range(1, whole.bit_length() + 1):
        for numerator in range(denominator + 1):
            if part**denominator == whole**numerator:
                return Real(Fraction(numerator, denominator))
    return Real(part).log() / Real(whole).log()
