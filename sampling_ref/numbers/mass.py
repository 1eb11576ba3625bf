"""The total weight of a row, as closely as a decision needs it.

Several steps of a sampler ask about shares of one total: a filter, then a draw. A `Mass`
holds the row and the factor, and computes on demand

    the weights and their sum as floats (with the bound of `float_weights`), and
    the sum as a computable real number (see `totals`).

The reference
    Float weights are relative to a reference logit. It is 0, which saves work, while the
    largest exponent is small; otherwise it is the largest logit. So the float total is at
    least e**-64 and never infinite.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf

from sampling_ref.numbers.float_weights import float_total, float_weights
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.totals import total_weight
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, Row, read_logits, read_possible_logits

_PLAIN = 64


@dataclass(frozen=True)
class Mass:
    """All the weights e**(factor * logit) of a row. Make one with `mass_of`, which checks.

    >>> mass_of([0.0, 0.0, float("-inf")]).total
    2.0
    """

    row: Sequence[Number]
    """The logits: checked, at least one of them finite, and not to be changed."""

    factor: Fraction

    @cached_property
    def largest(self) -> Number:
        """The largest logit."""
        return max(self.row)

    @cached_property
    def reference(self) -> Number:
        """The logit whose float weight is 1.0."""
        is_small = abs(Fraction(self.largest) * self.factor) <= _PLAIN
        return 0 if is_small else self.largest

    @cached_property
    def weights(self) -> list[float] | None:
        """The float weights; None if floats do not hold them."""
        return float_weights(self.row, self.reference, self.factor)

    @cached_property
    def total(self) -> float:
        """The sum of the float weights; infinity if floats do not hold them."""
        known: list[float] | None = self.__dict__.get("weights")  # if it was asked for
        if known is not None:
            return sum(known)
        return float_total(self.row, self.reference, self.factor)

    def weights_of(self, logits: Sequence[Number]) -> list[float] | None:
        """Return the float weights of other logits, relative to the same reference.

        None if floats hold neither them nor the total.

        >>> mass_of([0.0, 0.0]).weights_of([0.0, float("-inf")])
        [1.0, 0.0]
        """
        if logits is self.row:
            return self.weights
        return float_weights(logits, self.reference, self.factor) if self.total < inf else None

    @cached_property
    def exact(self) -> Real:
        """The sum of e**(factor * (logit - largest))."""
        return total_weight(self.row, self.factor)


def mass_of(logits: Row, *, factor: Number = 1, name: str = "logits") -> Mass:
    """Return the mass of a row of logits.

    >>> mass_of([1.0, 1.0]).exact
    Real(2)
    """
    mass = Mass(read_logits(logits, name), read_fraction("factor", factor, "(0, inf)"))
    if mass.largest == -inf:
        read_possible_logits(mass.row, name)  # which says so
    return mass
