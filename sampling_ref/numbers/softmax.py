"""From logits to probabilities.

The softmax of a row is e**(factor * l) divided by the sum of that over the row. `factor`
is the inverse of a temperature (Hinton, Vinyals, Dean, "Distilling the Knowledge in a
Neural Network", 2015, section 2, https://arxiv.org/abs/1503.02531).

Rounding
    Each number returned is the float nearest to the real number. It does not depend on a
    C library, nor on the order of summation, and its last bit is the same everywhere. So
    the probabilities of a row need not sum to 1.0 in floats.

Impossible tokens
    A logit of minus infinity has the probability 0.0 and the logarithm minus infinity, and
    adds nothing to the entropy. A row without a possible token is an error.

Units
    Logarithms are natural; the entropy is in nats.

Ties
    log p = l - m - log Z with the largest logit m. The difference l - m may lie exactly in
    the middle of two floats, and log Z may be smaller than any number of digits shows:
    2**16 and -2**-37 differ by such a middle, and log Z is below 10**-28000. But log Z is
    positive, unless only one token is possible, so log p lies below the middle.

The end of the search
    What 16,384 binary places leave open raises `UndecidedError`.
"""

from fractions import Fraction
from math import inf

from sampling_ref.numbers.enclosures import SLACK, exp_mantissa
from sampling_ref.numbers.exponential_sums import scaled_difference
from sampling_ref.numbers.reals import nearest, nearest_below, nearest_to_enclosed, next_bits
from sampling_ref.numbers.totals import entropy_of, total_weight
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, Row, read_possible_logits

_FIRST_BITS = 96


def softmax(logits: Row, *, factor: Number = 1) -> list[float]:
    """Return the probability of each token, each the nearest float.

    >>> softmax([0.0, 0.0, float("-inf"), 0.0, 0.0])
    [0.25, 0.25, 0.0, 0.25, 0.25]
    """
    scale = read_fraction("factor", factor, "(0, inf)")
    row = read_possible_logits(logits)
    largest = max(row)
    left: set[Number] = set(row) - {-inf}
    found: dict[Number, float] = {-inf: 0.0}
    total = total_weight(row, scale)
    bits = _FIRST_BITS
    while left:
        bounds = total.bounds(bits)
        assert bounds is not None  # noqa: S101 - a sum of positive terms has an enclosure
        for logit in left:
            found_now = _probability(logit, largest, scale, bounds, bits)
            if found_now is not None:
                found[logit] = found_now
        left -= found.keys()
        bits = next_bits(bits)
    return [found[logit] for logit in row]


def _probability(
    logit: Number, largest: Number, scale: Fraction, total: tuple[int, int], bits: int
) -> float | None:
    """Return e**(scale * (logit - largest)) / total, rounded, or None if too few bits are known."""
    numerator, denominator = scaled_difference(logit, largest, scale)
    if numerator < -746 * denominator:  # below half the smallest float, and the total is at least 1
        return 0.0
    mantissa, exponent = exp_mantissa(numerator, denominator, bits)
    low = (mantissa << bits) // total[1]
    high = (mantissa + SLACK << bits) // total[0] + 1
    return nearest_to_enclosed(low, high, bits - exponent)


def log_softmax(logits: Row, *, factor: Number = 1) -> list[float]:
    """Return the natural logarithm of each token's probability, each the nearest float.

    >>> log_softmax([3.0, float("-inf")]), log_softmax([0.0, 0.0])[0]
    ([0.0, -inf], -0.6931471805599453)
    """
    scale = read_fraction("factor", factor, "(0, inf)")
    row = read_possible_logits(logits)
    largest = max(row)
    left: set[Number] = set(row) - {-inf}
    found: dict[Number, float] = {-inf: -inf}
    total = total_weight(row, scale).log()
    bits = _FIRST_BITS
    while left:
        bounds = total.bounds(bits)
        assert bounds is not None  # noqa: S101 - a sum that is at least 1 has a logarithm
        for logit in left:
            numerator, denominator = scaled_difference(logit, largest, scale)
            scaled = (numerator << bits) // denominator
            found_now = nearest_to_enclosed(scaled - bounds[1], scaled + 1 - bounds[0], bits)
            if found_now is None and bounds[0] <= 0:
                below = nearest_below(numerator, denominator)
                if below == nearest(scaled - bounds[1], 1 << bits):
                    found_now = below
            if found_now is not None:
                found[logit] = found_now
        left -= found.keys()
        bits = next_bits(bits)
    return [found[logit] for logit in row]


def entropy(logits: Row, *, factor: Number = 1) -> float:
    """Return the entropy of the softmax in nats, the nearest float.

    >>> entropy([0.0, 0.0]), entropy([5.0, float("-inf")])
    (0.6931471805599453, 0.0)
    """
    return float(
        entropy_of(read_possible_logits(logits), read_fraction("factor", factor, "(0, inf)"))
    )
