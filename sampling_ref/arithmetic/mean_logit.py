"""The mean logit of a row, and on which side of it a number lies.

With weights w = e**(factor * l), Z their sum and p = w / Z, the mean logit is the sum of
p * l. It is worth a name because entropy and surprise become simple with it:

    surprise of a token   -log p             = log Z - factor * l
    entropy               sum of -p log p    = log Z - factor * mean
    their difference      surprise - entropy = factor * (mean - l)

So how typical a token is, is how far its logit lies from the mean logit.

Which side
    c - mean has the sign of the sum of (c - l) * e**(factor * l), which is zero only if
    every possible logit is c (the theorem in `exponential_sums`). So the question always
    has an answer. Floats with a bound answer it nearly always.
"""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import exp, fsum, inf, log

from sampling_ref.arithmetic.exponential_sums import sign_of_sum
from sampling_ref.arithmetic.float_weights import WEIGHT_ERROR
from sampling_ref.arithmetic.reals import Real
from sampling_ref.arithmetic.thresholds import logits_at_least
from sampling_ref.arithmetic.totals import counts_of_possible, gap_sum, total_weight
from sampling_ref.row import Number, Row, TokenId


def mean_logit(logits: Row, factor: Fraction) -> Real:
    """Return the mean of the logits, each weighted with its probability.

    >>> mean_logit([2.0, 2.0], Fraction(1)), float(mean_logit([0.0, 1.0], Fraction(1)))
    (Real(2), 0.7310585786300049)
    """
    below = gap_sum(logits, factor) / (total_weight(logits, factor) * factor)
    return Real(Fraction(max(logits))) - below


def side_of_mean(logits: Row, factor: Fraction) -> Callable[[Number, Number], int]:
    """Return a function that says where the middle of two numbers lies.

    It returns -1 below the mean logit, 0 on it and 1 above.

    >>> side = side_of_mean([0.0, 1.0], Fraction(1))
    >>> side(0.75, 0.75), side(0.0, 1.0)
    (1, -1)
    """
    counts = counts_of_possible(logits)
    middle, error = float_mean(counts, factor)

    def side(one: Number, two: Number) -> int:
        if error < inf:
            halves = float(one) / 2, float(two) / 2
            distance = halves[0] + halves[1] - middle
            size = abs(halves[0]) + abs(halves[1]) + abs(middle)
            if abs(distance) > error + size * 2.0**-50:
                return 1 if distance > 0 else -1
        number = (Fraction(one) + Fraction(two)) / 2
        terms = {logit: (number - Fraction(logit)) * n for logit, n in counts.items()}
        return sign_of_sum(terms, factor)

    return side


def above_mean(
    logits: Row, coefficient: Fraction, argument: Fraction, factor: Fraction, *, strictly: bool
) -> list[TokenId]:
    """Return the ids with factor * (logit - mean logit) at least coefficient * log(argument).

    `UndecidedError` if the two cannot be told apart.

    >>> above_mean([0.0, 1.0], Fraction(1), Fraction(1, 2), Fraction(1), strictly=False)
    [1]
    """
    possible = counts_of_possible(logits)
    middle, error = float_mean(possible, factor)
    passing: set[Number] = set()
    doubtful = set(possible)
    if error < inf:
        offset = float(coefficient) * (log(argument.numerator) - log(argument.denominator))
        offset /= float(factor)
        slack = error + (abs(middle) + abs(offset) + abs(float(coefficient / factor))) * 2.0**-40
        low, high = middle + offset - slack, middle + offset + slack
        # A comparison of a float with a rational number is exact in Python.
        passing = {logit for logit in possible if logit > high}
        doubtful = {logit for logit in possible if low <= logit <= high}
    if doubtful:
        threshold = mean_logit(logits, factor) * factor + Real(argument).log() * coefficient
        row = list(doubtful)
        places = logits_at_least(row, threshold, strictly=strictly, factor=factor)
        passing.update(row[place] for place in places)
    return [token for token, logit in enumerate(logits) if logit in passing]


def float_mean(counts: Counter[Number], factor: Fraction) -> tuple[float, float]:
    """Return the mean logit as a float, and a bound of its error; infinite if there is none.

    >>> float_mean(Counter([1.0, 1.0]), Fraction(1))[0]
    1.0
    """
    try:
        scale, top = float(factor), max(counts)
        largest = float(top)
        if set(map(type, counts)) == {float}:
            gaps = [(largest - logit, count) for logit, count in counts.items()]
        else:
            exact = Fraction(top)
            gaps = [(float(exact - Fraction(logit)), count) for logit, count in counts.items()]
        weights = [(gap, count * exp(-scale * gap)) for gap, count in gaps]
        total = fsum(weight for _, weight in weights)
        below = fsum(gap * weight for gap, weight in weights if weight)
    except OverflowError:  # numbers that no float can hold
        return 0.0, inf
    distance = below / total
    # A product and two sums by `fsum` are wrong by far less than 30 weights.
    # What is less than any float is left out: less than 1e-290 for every possible row.
    error = 32 * WEIGHT_ERROR * distance + 2.0**-51 * abs(largest) + 1e-290
    return largest - distance, error
