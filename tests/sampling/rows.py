"""Hypothesis strategies for rows: where samplers go wrong, not where numbers are many.

Independent random floats hardly ever tie, are never minus infinity and never lie on a
threshold, and mutants survived on them. So rows are drawn in kinds: few distinct values,
peaked, flat, with impossible tokens, and any.
"""

from decimal import Context, Decimal
from fractions import Fraction
from math import inf
from typing import TypedDict

from hypothesis import strategies as st

TIED = st.sampled_from([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0])
SMALL = st.floats(-20, 20, width=32)
WIDE = st.floats(-200, 200, width=32)


def is_possible(row: list[float]) -> bool:
    return max(row) > -inf


@st.composite
def rows(draw: st.DrawFn, *, most: int = 20, impossible: bool = True) -> list[float]:
    """Draw a row of 1 to `most` logits, 32-bit numbers, at least one of them finite."""
    value = draw(st.sampled_from([TIED, SMALL, WIDE, TIED | SMALL]))
    if impossible and draw(st.booleans()):
        value |= st.just(-inf)
    row = draw(st.lists(value, min_size=1, max_size=most).filter(is_possible))
    if draw(st.integers(0, 4)) == 0:  # a peak, as real models have it
        row[draw(st.integers(0, len(row) - 1))] = draw(st.sampled_from([30.0, 60.0]))
    return row


def weights(most: int = 20) -> st.SearchStrategy[list[float]]:
    """Draw a row of weights in which at least one token is possible."""
    weight = st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0]) | st.floats(0, 1, width=32)
    return st.lists(weight, min_size=1, max_size=most).filter(any)


def shares() -> st.SearchStrategy[float]:
    """Draw a share of a total, in (0, 1]; often one that sums of weights can hit."""
    dyadic = st.sampled_from([0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0])
    return dyadic | st.floats(0, 1, exclude_min=True)


def uniforms() -> st.SearchStrategy[float]:
    """Draw a random number in [0, 1), its ends included."""
    ends = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1 - 2.0**-24, 1 - 2.0**-53])
    return ends | st.floats(0, 1, exclude_max=True)


def histories(size: int, most: int = 12) -> st.SearchStrategy[list[int]]:
    """Draw a history over a row of `size` tokens; repeats are common."""
    return st.lists(st.integers(0, min(size, 4) - 1) | st.integers(0, size - 1), max_size=most)


def exactly(row: list[float]) -> list[Fraction]:
    """Return the numbers of a finite row as the rationals they are."""
    return [Fraction(number) for number in row]


# ---- decisions against a witness of 300 digits

WITNESS = Context(prec=300, Emin=-(10**6), Emax=10**6)


class Options(TypedDict):
    """The keyword parameters of a decision."""

    strictly: bool
    factor: float | Fraction


OPTIONS: st.SearchStrategy[Options] = st.builds(
    Options, strictly=st.booleans(), factor=st.sampled_from([1, 1.25, 0.5, Fraction(10, 7), 3])
)
REACHING: Options = {"strictly": False, "factor": 1}
EXCEEDING: Options = {"strictly": True, "factor": 1}


def weights_of(row: list[float], factor: float | Fraction) -> list[Decimal]:
    """Return the weights to 300 digits; call it in the context of the witness."""
    found = []
    for logit in row:
        x = None if logit == -inf else Fraction(logit) * Fraction(factor)
        found.append(Decimal(0) if x is None else (Decimal(x.numerator) / x.denominator).exp())
    return found
