"""Equation 14 of the LZ penalty with its algebra done right, the variant to use, and as printed.

Ginart et al., "LZ Penalty", 2025, section 3 (https://arxiv.org/abs/2504.20131).
The rule, for a next token `a`, with the longest match of length l:

    a extends a longest match      D(a) = log2( (l + 1) delta / (l d) ) - 1,  d = delta + 1
    otherwise, a is in the window  D(a) = log2( distance of its nearest occurrence )
    otherwise                      D(a) = log2( size of the vocabulary )

The first line is equation 12 less what all lines have in common, log(l d) + 1.

As printed (`paper`)
    The paper prints another result, D(a) = log2( 1 - (d - l + 1) / (l d) ) - 1. That is
    (l - 1)(d + 1) / (l d) under the logarithm; the two agree for l = d only. For l = 1 it is
    log2(0), minus infinity: every token that follows the nearest occurrences of the last token
    is made impossible, whatever the strength, so long as that is not zero. It rises with l, so
    longer repetitions are punished less.

Which rule comes first
    Extending comes first, also where the same token has a nearer occurrence elsewhere.
Which d
    The paper takes l and d as the same for all tokens. Here each token has the distance of
    the match that *it* extends. `codelength` has the other reading; the two differ by
    log2(d(a) / d) where equally long matches compete, and nowhere else.
Shorter matches
    According to the paper, a token that does not extend the longest match is a match of at
    most one token. It can continue a shorter one. The second line takes it then.
Small vocabularies
    The paper wants more tokens in the vocabulary than in the window. Otherwise a token
    seen long ago may count as newer than one never seen. Nothing else happens.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from sampling_ref.lz.changes import Change, Changes
from sampling_ref.lz.matches import look_around, window_and_buffer
from sampling_ref.row import TokenId


def _by_equation(
    history: Sequence[TokenId],
    size: int,
    window: int,
    buffer: int,
    extending: Callable[[int, int], Fraction],
) -> Changes:
    """Return the changes, where `extending(l, delta)` is the power of the first line."""
    before, last = window_and_buffer(history, window, buffer)
    found = look_around(last[::-1], before[::-1])
    powers = {token: Fraction(distance) for token, distance in found.own.items()}
    powers |= {token: extending(found.length, delta) for token, delta in found.following.items()}
    by_token = {token: Change(power) for token, power in powers.items()}
    return Changes(by_token, otherwise=Change(Fraction(size)))


def corrected(history: Sequence[TokenId], size: int, window: int, buffer: int) -> Changes:
    """Return the change that each next token brings, in bits.

    >>> changes = corrected([1, 2, 3, 4, 1, 2, 3], size=8, window=4, buffer=3)
    >>> changes.of(4).power  # follows 1 2 3: l = 3, delta = 1, d = 2
    Fraction(1, 3)
    >>> changes.row(8)  # log2(1/3), log2 of the distances 4, 3, 2; log2(8)
    [3.0, 2.0, 1.584962500721156, 1.0, -1.584962500721156, 3.0, 3.0, 3.0]
    """

    def extending(length: int, delta: int) -> Fraction:
        return Fraction((length + 1) * delta, 2 * length * (delta + 1))

    return _by_equation(history, size, window, buffer, extending)


def paper(history: Sequence[TokenId], size: int, window: int, buffer: int) -> Changes:
    """Return the change that each next token brings, in bits.

    >>> changes = paper([1, 2, 3, 4, 1, 2, 3], size=8, window=4, buffer=3)
    >>> changes.of(4).power  # follows 1 2 3: l = 3, d = 2
    Fraction(1, 2)
    >>> float(paper([1, 2, 1], size=8, window=2, buffer=1).of(2))  # follows 1: l = 1
    -inf
    """

    def extending(length: int, delta: int) -> Fraction:
        d = delta + 1
        return (1 - Fraction(d - length + 1, length * d)) / 2

    return _by_equation(history, size, window, buffer, extending)
