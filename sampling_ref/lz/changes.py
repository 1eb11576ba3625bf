"""By how much each next token would change the length of the code, exactly.

Ginart et al., "LZ Penalty", 2025, section 3 (https://arxiv.org/abs/2504.20131), call it
the marginal compression and add it to the logits: logit(a) + strength * D(a).

Sign
    Here a change is always what is *added*, in every variant. Published programs that
    subtract a penalty appear with the sign turned.
Exactness
    Each change is a logarithm of a rational number, divided by a whole number, plus a
    whole number. Those parts are kept, and rounding waits until the logit is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import Literal

from sampling_ref.numbers.reals import Real
from sampling_ref.row import TokenId


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
