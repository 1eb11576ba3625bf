"""What the tests of all filters need: weights for logits, sums over kept tokens, bad numbers."""

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import inf, nan

DIGITS = Context(prec=80, Emin=-999999, Emax=999999)

NO_NUMBERS = [nan, inf, -inf, True, "0.5", None, [0.5]]
"""What is no number for any parameter."""


def weights_of(logits: Sequence[float], factor: float = 1.0) -> list[Fraction]:
    """Return rational weights with 80 right digits for each logit of a row.

    A decision on them is the one on the real numbers, unless the two sides of a comparison
    agree to nearly 80 digits; and equal logits have equal weights.
    """
    return [
        Fraction(0)
        if logit == -inf
        else Fraction(DIGITS.exp(DIGITS.multiply(Decimal(logit), Decimal(factor))))
        for logit in logits
    ]


def total(row: Sequence[float | Fraction], tokens: Iterable[int]) -> Fraction:
    return sum((Fraction(row[token]) for token in tokens), start=Fraction(0))


def everything(row: Sequence[float | Fraction]) -> frozenset[int]:
    return frozenset(range(len(row)))


def possible(row: Sequence[float | Fraction]) -> frozenset[int]:
    return frozenset(token for token, weight in enumerate(row) if weight > 0)
