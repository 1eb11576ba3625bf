"""The parameters of exact decisions, checked once: a share of a total, a factor of logits."""

from fractions import Fraction
from typing import Any

from sampling_ref.arithmetic.reals import is_finite_number
from sampling_ref.errors import ParameterError


def read_share(share: Any, name: str = "share") -> Fraction:  # noqa: ANN401 - checked here
    """Return a share of a total as a fraction.

    >>> read_share(0.5)
    Fraction(1, 2)
    """
    if not is_finite_number(share) or not 0 <= share <= 1:
        raise ParameterError(name, share, "must be in [0, 1]")
    return Fraction(share)


def read_factor(factor: Any, name: str = "factor") -> Fraction:  # noqa: ANN401 - checked here
    """Return a factor of logits (the inverse of a temperature) as a fraction.

    >>> read_factor(1.25)
    Fraction(5, 4)
    """
    if not is_finite_number(factor) or factor <= 0:
        raise ParameterError(name, factor, "must be positive and finite")
    return Fraction(factor)
