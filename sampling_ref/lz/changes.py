"""By how much each next token would change the length of the code, exactly.

Ginart et al., "LZ Penalty", 2025, section 3 (https://arxiv.org/abs/2504.20131), call it
the marginal compression and add it to the logits: logit(a) + strength * D(a).

Sign
    Here a change is always what is *added*, in every variant. Published programs that
    subtract a penalty appear with the sign turned.
Exactness
    Each change is a logarithm of a rational number, divided by a whole number, plus a
    whole number. Those parts are kept, and rounding waits until the logit is known.
Adding
    The new logit is the float nearest to the real number logit + strength * D, whatever
    exact numbers logit and strength are. Minus infinity stays. Above the largest float there
    is no logit: that is an error. Below the smallest, IEEE 754 rounds to minus infinity, and
    so it is here.

Why adding is fast: the amount is kept as a float plus a float that is a little too small, or
a little too large, for the rest. `math.fsum` rounds a sum of floats correctly. If both
sums round to the same float, so does everything between them, the real number too. The
few logits for which they differ are decided with a computable real number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import repeat
from math import fsum, inf, isinf, nextafter
from typing import Literal, NamedTuple

from sampling_ref.errors import RowError, shown
from sampling_ref.numbers.reals import Real
from sampling_ref.row import Number, TokenId


@lru_cache(maxsize=4096)  # the same distances come up at every step
def logarithm_of(number: int) -> Real:
    """Return the natural logarithm of a whole number above zero."""
    return Real(number).log()


@dataclass(frozen=True)
class Change:
    """The number log(power) / root + offset, the logarithm to base two or e.

    `power` is a rational number of at least 0. At 0 the change is minus infinity, which
    makes a token impossible.

    >>> float(Change(Fraction(1, 8)))
    -3.0
    >>> float(Change(Fraction(8), root=2, offset=1))
    2.5
    """

    power: Fraction
    root: int = 1
    offset: int = 0
    base: Literal["two", "e"] = "two"

    def rational(self) -> Fraction | None:
        """Return the change if it is a rational number, else None.

        log2 of a rational number is rational for powers of two only: from q^r = 2^p with
        whole p, r and the unique factors of q. The natural logarithm of a rational number
        is rational for 1 only (Hermite and Lindemann).

        >>> Change(Fraction(1, 8), root=2).rational(), Change(Fraction(3)).rational()
        (Fraction(-3, 2), None)
        """
        numerator, denominator = self.power.as_integer_ratio()
        if self.power == 1:
            return Fraction(self.offset)
        if self.base == "e" or numerator < 1 or (numerator & (numerator - 1)):
            return None
        if denominator & (denominator - 1):
            return None
        logarithm = numerator.bit_length() - denominator.bit_length()
        return Fraction(logarithm, self.root) + self.offset

    def real(self) -> Real:
        """Return the change as a computable real number; `power` must not be 0.

        >>> float(Change(Fraction(3)).real())
        1.584962500721156
        """
        known = self.rational()
        if known is not None:
            return Real(known)
        numerator, denominator = self.power.as_integer_ratio()
        logarithm = logarithm_of(numerator) - logarithm_of(denominator)
        if self.base == "two":
            logarithm = logarithm / logarithm_of(2)
        return logarithm / self.root + self.offset

    def __float__(self) -> float:
        """Return the float nearest to the change."""
        return float(self.real()) if self.power else -inf


@dataclass(frozen=True)
class Changes:
    """The change that each next token brings: some tokens by name, one value for the rest.

    >>> changes = Changes({4: Change(Fraction(1, 2))}, otherwise=Change(Fraction(8)))
    >>> changes.row(6)
    [3.0, 3.0, 3.0, 3.0, -1.0, 3.0]
    """

    by_token: Mapping[TokenId, Change]
    otherwise: Change

    def of(self, token: TokenId) -> Change:
        """Return the change that one token brings."""
        return self.by_token.get(token, self.otherwise)

    def row(self, size: int) -> list[float]:
        """Return all changes, each rounded to the nearest float."""
        values = [float(self.otherwise)] * size
        for token, change in self.by_token.items():
            values[token] = float(change)
        return values


PLACES = 192
"""Binary places that enclose an amount: enough that few sums stay open."""


class Amount(NamedTuple):
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


def add_to_all(
    logits: Sequence[Number], amount: Amount, tokens: Sequence[TokenId] | None = None
) -> list[float]:
    """Return the floats nearest to logit + amount; `tokens` have these logits, or all in order.

    >>> add_to_all([1.5, float("-inf")], amount_of(Change(Fraction(3)), 0.25))
    [1.896240625180289, -inf]
    """
    tokens = range(len(logits)) if tokens is None else tokens
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
                one if one == other else exact_sum(token, logit, amount)
                for token, logit, one, other in zip(tokens, logits, below, above, strict=True)
            ]
    if len(logits) == 1:
        return [exact_sum(tokens[0], logits[0], amount)]
    each = zip(tokens, logits, strict=True)  # some are no floats, or some sum is too large
    return [add_to_all([logit], amount, [token])[0] for token, logit in each]
