"""Adding strength * D to logits, with one rounding.

Definition: the new logit is the float nearest to the real number
logit + strength * D, whatever exact numbers logit and strength are. Minus infinity stays.

Why it is fast: the amount is kept as a float plus a float that is a little too small, or
a little too large, for the rest. `math.fsum` rounds a sum of floats correctly. If both
sums round to the same float, so does everything between them, the real number too. The
few logits for which they differ are decided with a computable real number.

Results no float can hold
    Above the largest float there is no logit: that is an error. Below the smallest, IEEE
    754 rounds to minus infinity, and so it is here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import repeat
from math import fsum, inf, isinf, nextafter

from sampling_ref.errors import RowError, shown
from sampling_ref.lz.changes import Change
from sampling_ref.numbers.reals import Real
from sampling_ref.row import Number, TokenId

PLACES = 192
"""Binary places that enclose an amount: enough that few sums stay open."""


@dataclass(frozen=True)
class Amount:
    """A real number, and floats around it: main + low <= number <= main + high."""

    real: Real
    main: float
    low: float
    high: float


@lru_cache(maxsize=16384)  # the same changes come up at every step
def amount_of(change: Change, strength: Number) -> Amount:
    """Return strength * D, for a change that is not minus infinity.

    >>> amount = amount_of(Change(Fraction(8)), 0.15)
    >>> amount.main, amount.low == amount.high  # 3 * 0.15 needs two floats
    (0.44999999999999996, True)
    """
    real = Real(strength) * change.real()
    main = float(real)
    if isinf(main):
        return Amount(real, main, main, main)
    bounds = real.bounds(PLACES)
    assert bounds is not None, "a divisor, log 2, is never near zero"  # noqa: S101 - our own
    low, high = (Fraction(bound, 1 << PLACES) - Fraction(main) for bound in bounds)
    below, above = float(low), float(high)
    if below > low:
        below = nextafter(below, -inf)
    if above < high:
        above = nextafter(above, inf)
    return Amount(real, main, below, above)


def exact_sum(token: TokenId, logit: Number, amount: Amount) -> float:
    """Return the float nearest to logit + amount, by the definition.

    >>> exact_sum(0, Fraction(1, 3), amount_of(Change(Fraction(4)), 1))  # 7/3
    2.3333333333333335
    """
    if logit == -inf:
        return -inf
    total = float(Real(logit) + amount.real)
    if total == inf:
        sentence = (
            f"the LZ penalty makes no finite number of the logit of token {token}, {shown(logit)}"
        )
        raise RowError(sentence)
    return total


def add_to_one(token: TokenId, logit: Number, amount: Amount) -> float:
    """Return the float nearest to logit + amount.

    >>> add_to_one(0, 1.5, amount_of(Change(Fraction(3)), 0.25))
    1.896240625180289
    """
    if isinstance(logit, float) and not isinf(amount.main):
        try:
            below = fsum((logit, amount.main, amount.low))
            above = fsum((logit, amount.main, amount.high))
        except OverflowError:
            return exact_sum(token, logit, amount)
        if below == above:
            return below
    return exact_sum(token, logit, amount)


def add_to_all(logits: Sequence[Number], amount: Amount) -> list[float]:
    """Return the row of the floats nearest to logit + amount.

    >>> add_to_all([1.5, float("-inf")], amount_of(Change(Fraction(3)), 0.25))
    [1.896240625180289, -inf]
    """
    if all(issubclass(kind, float) for kind in set(map(type, logits))) and not isinf(amount.main):
        try:
            below = list(map(fsum, zip(logits, repeat(amount.main), repeat(amount.low))))
            above = list(map(fsum, zip(logits, repeat(amount.main), repeat(amount.high))))
        except OverflowError:
            pass
        else:
            if below == above:
                return below
            return [
                one if one == other else exact_sum(token, logits[token], amount)
                for token, (one, other) in enumerate(zip(below, above, strict=True))
            ]
    return [add_to_one(token, logit, amount) for token, logit in enumerate(logits)]
