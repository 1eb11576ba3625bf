"""The total weight of a row, as closely as a decision needs it.

Several steps of a sampler ask about shares of one total: a filter, then a draw. A `Mass`
holds the row and the factor, and computes the weights and their sum on demand, as floats with
a bound of their errors.

The reference
    Float weights are relative to a reference logit. It is 0, which saves work, while the
    largest exponent is small; otherwise it is the largest logit. So the float total is at
    least e**-64 and never infinite.

Weights as floats
    A row of a hundred thousand weights is decided by floats where they are far enough from a
    threshold, and by integers where they are not. This module says how far is enough.

    The weight of a logit l is e**x with x = factor * (l - reference). Its float is exp(y), where
    y differs from x by less than 3.1 u |x| (u = 2**-53: the factor, the difference and the
    product are each rounded once).

    What is assumed of the C library
        exp(y) is within 16 units in the last place of e**y. Those of glibc, musl, macOS and
        Windows stay below 1; a test compares with correctly rounded values. Nothing else is
        assumed, not even that exp never falls.

    One weight
        For |x| <= 746 the float is wrong by a relative 3.1 * 746 u + 32 u, which is less than
        2**-41 together, or by less than 2**-1070 where it is subnormal. For smaller x, weight
        and float are both less than 2**-1070.

    Sums
        Adding n numbers that are not negative, one after the other, adds a relative (n - 1) u
        (Higham, "Accuracy and Stability of Numerical Algorithms", SIAM 2002, section 4.2; a
        compensated sum, as Python has from 3.12 on, adds less). So a float sum of n weights is
        wrong by less than half of `relative_error(n)` times itself, plus `SMALLEST_SUM` (far
        more than n times 2**-1070). The other half pays for the few roundings of a comparison
        with a share of another sum.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import exp, inf
from typing import Final, cast

from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, ReadRow, Row, read_possible_logits

WEIGHT_ERROR: Final = 2.0**-41
"""Bound of the relative error of one float weight."""

SMALLEST_SUM: Final = 1e-250
"""Far more than weights that are too small for floats add to a sum; far from subnormal."""


LARGEST_OFFSET: Final = 512
"""The largest factor * reference if the reference is not a float: it is wrong by at most 512 u."""


_FAR: Final = Fraction(746)


def relative_error(count: int) -> float:
    """Return twice the relative error of a float sum of `count` weights, at least.

    >>> relative_error(2**12) == 2.0**-39
    True
    """
    return 2 * WEIGHT_ERROR + count * 2.0**-52


def float_gaps(logits: Sequence[Number], factor: Fraction) -> list[float]:
    """Return factor * (first - logit) for finite logits, the first of them the largest.

    What lies farther than 746 lies at 746: its weight e**-gap is less than any float there.

    >>> float_gaps([2.0, 1.5, -1e300], Fraction(1))
    [0.0, 0.5, 746.0]
    """
    top = Fraction(logits[0])
    return [float(min((top - Fraction(logit)) * factor, _FAR)) for logit in logits]


def float_weights(
    logits: Sequence[Number], reference: Number, factor: Fraction
) -> list[float] | None:
    """Return exp(factor * (logit - reference)) for each logit, as described above.

    None where floats do not hold the numbers.

    >>> float_weights([2.0, float("-inf")], 2.0, Fraction(1))
    [1.0, 0.0]
    >>> float_weights([1000.0], 0, Fraction(1)) is None
    True
    """
    try:
        return list(map(exp, _exponents(logits, reference, factor)))
    except OverflowError:
        return None


def _exponents(logits: Sequence[Number], reference: Number, factor: Fraction) -> Sequence[float]:
    """Return factor * (logit - reference) as floats; OverflowError if one is too large."""
    scale = float(factor)
    if scale < SMALLEST_SUM:  # near the subnormal numbers its relative error is larger
        raise OverflowError
    offset = float(reference)
    if not reference and scale == 1:
        return cast("Sequence[float]", logits)  # exp rounds other numbers to floats itself
    if offset != reference and abs(offset) * scale > LARGEST_OFFSET:
        # The offset is wrong by u |offset|; within the limit the bound above has room for it.
        return [_exponent(logit, Fraction(reference), factor) for logit in logits]
    places = _others(logits)
    if len(places) * 8 > len(logits):
        return [_exponent(logit, Fraction(reference), factor) for logit in logits]
    # A fraction has no float of its own, and a subclass of float may round more coarsely; and
    # Python multiplies a list fast only if all of it is floats.
    floats = cast("list[float]", list(logits) if places else logits)
    for place in places:
        floats[place] = 0.0
    if offset:
        exponents = [(logit - offset) * scale for logit in floats]
    else:
        exponents = [logit * scale for logit in floats]
    for place in places:
        number = float(logits[place])
        if abs(number) * scale <= LARGEST_OFFSET:
            exponents[place] = (number - offset) * scale
        else:
            exponents[place] = _exponent(logits[place], Fraction(reference), factor)
    return exponents


def _others(logits: Sequence[Number]) -> Sequence[int]:
    """Return the places of whatever is no plain float."""
    if isinstance(logits, ReadRow) and logits.others is not None:
        return logits.others
    kinds = list(map(type, logits))
    if kinds.count(float) == len(kinds):
        return ()
    return [place for place, kind in enumerate(kinds) if kind is not float]


def _exponent(logit: Number, reference: Fraction, factor: Fraction) -> float:
    if logit == -inf:
        return -inf
    exact = (Fraction(logit) - reference) * factor
    return float(exact) if exact > -(10**6) else -inf


_PLAIN = 64


class Mass:
    """All the weights e**(factor * logit) of a row of which one token at least is possible.

    `largest` is the largest logit, `reference` the logit whose float weight is 1.0. The row
    must not be changed later.

    >>> Mass([0.0, 0.0, float("-inf")]).total
    2.0
    """

    def __init__(self, logits: Row, factor: Number = 1, name: str = "logits") -> None:
        self.row = read_possible_logits(logits, name)
        self.factor = read_fraction("factor", factor, "(0, inf)")
        self.largest = self.row.largest
        is_small = abs(Fraction(self.largest) * self.factor) <= _PLAIN
        self.reference: Number = 0 if is_small else self.largest

    @cached_property
    def weights(self) -> list[float] | None:
        """The float weights; None if floats do not hold them. The row remembers them."""
        remembered = self.row.weights
        if remembered is None or remembered[0] != self.factor:
            weights = float_weights(self.row, self.reference, self.factor)
            remembered = self.row.weights = self.factor, weights
        return remembered[1]

    @cached_property
    def total(self) -> float:
        """The sum of the float weights; infinity if floats do not hold them."""
        return inf if self.weights is None else sum(self.weights)

    def weights_of(self, logits: Sequence[Number]) -> list[float] | None:
        """Return the float weights of other logits, relative to the same reference.

        None if floats hold neither them nor the total.

        >>> Mass([0.0, 0.0]).weights_of([0.0, float("-inf")])
        [1.0, 0.0]
        """
        if logits is self.row:
            return self.weights
        return float_weights(logits, self.reference, self.factor) if self.total < inf else None
