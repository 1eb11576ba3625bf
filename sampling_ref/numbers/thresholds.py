"""Which entries of a row lie at or above a threshold.

Probabilities
    `e**(factor * l) / Z >= share`, with Z the sum over the whole row, is the sign of a sum
    of exponentials (see `exponential_sums`). Equality is possible only where all finite
    logits are equal.

Logits
    `factor * l >= threshold` with a threshold that may be any computable real number, such
    as an entropy. Where the two cannot be told apart, `UndecidedError` is raised.

Minus infinity
    has no weight. It lies below every threshold, also below a share of zero.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import exp, fsum, inf, log, nextafter

from sampling_ref.numbers.exponential_sums import sign_of_sum
from sampling_ref.numbers.mass import SMALLEST_SUM, WEIGHT_ERROR, Mass, relative_error
from sampling_ref.numbers.reals import Real, nearest
from sampling_ref.numbers.totals import counts_of_possible, mean_logit
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, Row, TokenId, read_logits

_BITS = 128


def probabilities_at_least(
    logits: Row, share: Number, *, strictly: bool = False, factor: Number = 1
) -> list[TokenId]:
    """Return the indices whose softmax probability is at least `share`, rising.

    >>> probabilities_at_least([0.0, 0.0, float("-inf")], 0.5)
    [0, 1]
    >>> probabilities_at_least([0.0, 0.0, float("-inf")], 0.5, strictly=True)
    []
    """
    part, whole = read_fraction("share", share, "[0, 1]").as_integer_ratio()
    mass = Mass(logits, factor)
    row = mass.row
    weights, low, high = [0.0] * len(row), 0.0, inf
    if mass.weights is not None:
        weights = mass.weights
        # One weight has less of an error than a sum of all.
        target = part / whole * mass.total
        error = 2 * relative_error(len(row)) * target + SMALLEST_SUM
        low, high = target - error, target + error
    found = [token for token, weight in enumerate(weights) if weight >= low]
    # What the floats leave open, each value once. Probabilities rise with the logits.
    unsure = sorted({row[token] for token in found if weights[token] <= high} - {-inf})
    demanded = {logit: -part * count for logit, count in Counter(row if unsure else ()).items()}

    def reaches(logit: Number) -> bool:
        sign = sign_of_sum({**demanded, logit: demanded[logit] + whole}, mass.factor)
        return sign > 0 or (sign == 0 and not strictly)

    least = _first_reaching(unsure, reaches)
    return [token for token in found if weights[token] > high or row[token] >= least]


def _first_reaching(rising: list[Number], reaches: Callable[[Number], bool]) -> Number:
    place = bisect_left(rising, True, key=reaches)
    return rising[place] if place < len(rising) else inf


def logits_at_least(
    logits: Row, threshold: Real, *, strictly: bool = False, factor: Number = 1
) -> list[TokenId]:
    """Return the indices with factor * logit at least `threshold`, rising.

    >>> logits_at_least([0.5, 1.0, float("-inf")], Real(2).log())
    [1]
    """
    scale = read_fraction("factor", factor, "(0, inf)")
    row = read_logits(logits)
    low, high = _floats_around(threshold, scale)
    found = [token for token, logit in enumerate(row) if logit >= low]
    unsure = sorted({row[token] for token in found if row[token] <= high} - {-inf})

    def reaches(logit: Number) -> bool:
        scaled = Fraction(logit) * scale
        return threshold < scaled if strictly else threshold <= scaled

    least = _first_reaching(unsure, reaches)
    return [token for token in found if row[token] > high or row[token] >= least]


def _floats_around(threshold: Real, factor: Fraction) -> tuple[float, float]:
    """Return floats surely below and surely above threshold / factor."""
    bounds = threshold.bounds(_BITS)
    if bounds is None:
        return -inf, inf
    low, high = ((Fraction(bound, 2**_BITS) / factor).as_integer_ratio() for bound in bounds)
    return nextafter(nearest(*low), -inf), nextafter(nearest(*high), inf)


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
