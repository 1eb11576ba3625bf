"""From logits to probabilities.

The softmax of a row is e**(factor * l) divided by the sum of that over the row. `factor`
is the inverse of a temperature (Hinton, Vinyals, Dean, "Distilling the Knowledge in a
Neural Network", 2015, section 2, https://arxiv.org/abs/1503.02531).

Rounding
    Each number returned is the float nearest to the real number. It does not depend on a
    C library, nor on the order of summation, and its last bit is the same everywhere. So
    the probabilities of a row need not sum to 1.0 in floats.

Impossible tokens
    A logit of minus infinity has the probability 0.0 and the logarithm minus infinity. A row
    without a possible token is an error.

Ties
    log p = l - m - log Z with the largest logit m. The difference l - m may lie exactly in
    the middle of two floats, and log Z may be smaller than any number of digits shows:
    2**16 and -2**-37 differ by such a middle, and log Z is below 10**-28000. But log Z is
    positive, unless only one token is possible, so log p lies below the middle.

The end of the search
    What 16,384 binary places leave open raises `UndecidedError`.
"""

from collections.abc import Callable, Sequence
from math import inf

from sampling_ref.numbers.enclosures import SLACK, exp_mantissa
from sampling_ref.numbers.exponential_sums import scaled_difference
from sampling_ref.numbers.reals import Real, nearest, nearest_below, nearest_to_enclosed, next_bits
from sampling_ref.numbers.totals import total_weight
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

    def rounded(logit: Number, total: tuple[int, int], bits: int) -> float | None:
        """Return e**(scale * (logit - largest)) / total; None if too few bits are known."""
        numerator, denominator = scaled_difference(logit, largest, scale)
        if numerator < -746 * denominator:  # below half the smallest float; the total is above 1
            return 0.0
        mantissa, exponent = exp_mantissa(numerator, denominator, bits)
        low = (mantissa << bits) // total[1]
        high = (mantissa + SLACK << bits) // total[0] + 1
        return nearest_to_enclosed(low, high, bits - exponent)

    return _each(row, total_weight(row, scale), rounded, impossible=0.0)


def log_softmax(logits: Row, *, factor: Number = 1) -> list[float]:
    """Return the natural logarithm of each token's probability, each the nearest float.

    >>> log_softmax([3.0, float("-inf")]), log_softmax([0.0, 0.0])[0]
    ([0.0, -inf], -0.6931471805599453)
    """
    scale = read_fraction("factor", factor, "(0, inf)")
    row = read_possible_logits(logits)
    largest = max(row)

    def rounded(logit: Number, log_total: tuple[int, int], bits: int) -> float | None:
        numerator, denominator = scaled_difference(logit, largest, scale)
        scaled = (numerator << bits) // denominator
        low, high = scaled - log_total[1], scaled + 1 - log_total[0]
        found = nearest_to_enclosed(low, high, bits)
        if found is None and log_total[0] <= 0:
            below = nearest_below(numerator, denominator)
            return below if below == nearest(low, 1 << bits) else None
        return found

    return _each(row, total_weight(row, scale).log(), rounded, impossible=-inf)


def _each(
    row: Sequence[Number],
    total: Real,
    rounded: Callable[[Number, tuple[int, int], int], float | None],
    impossible: float,
) -> list[float]:
    """Return the float of each logit, given ever closer enclosures of a total."""
    found: dict[Number, float] = {-inf: impossible}
    left = set(row) - {-inf}
    bits = _FIRST_BITS
    while left:
        bounds = total.bounds(bits)
        assert bounds is not None  # noqa: S101 - a sum that is at least 1, or its logarithm
        numbers = ((logit, rounded(logit, bounds, bits)) for logit in left)
        found |= {logit: number for logit, number in numbers if number is not None}
        left -= found.keys()
        bits = next_bits(bits)
    return [found[logit] for logit in row]
