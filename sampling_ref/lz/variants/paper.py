"""The LZ penalty as its paper prints it: equation 14.

Ginart et al., "LZ Penalty", 2025, section 3, equation 14
(https://arxiv.org/abs/2504.20131). The rule, with the longest match of length l:

    a extends a longest match      D(a) = log2( 1 - (d - l + 1) / (l d) ) - 1
    otherwise, a is in the window  D(a) = log2( distance of its nearest occurrence )
    otherwise                      D(a) = log2( size of the vocabulary )

The first line is no identity. The paper wants (l + 1)(d - 1) / (l d) under the logarithm
and prints what is (l - 1)(d + 1) / (l d); the two agree for l = d only. All that
`corrected` says of open points holds here too.

Matches of one token
    For l = 1 the printed number is log2(0): minus infinity. Every token that follows the
    nearest occurrences of the last token is made impossible, whatever the strength, so
    long as that is not zero.
Longer matches
    The printed number rises with l: longer repetitions are punished less.
"""

from collections.abc import Sequence
from fractions import Fraction

from sampling_ref.lz.changes import Change, Changes
from sampling_ref.lz.matches import look_around, window_and_buffer
from sampling_ref.row import TokenId


def paper(history: Sequence[TokenId], size: int, window: int, buffer: int) -> Changes:
    """Return the change that each next token brings, in bits.

    >>> changes = paper([1, 2, 3, 4, 1, 2, 3], size=8, window=4, buffer=3)
    >>> changes.of(4).power  # follows 1 2 3: l = 3, d = 2
    Fraction(1, 2)
    >>> float(paper([1, 2, 1], size=8, window=2, buffer=1).of(2))  # follows 1: l = 1
    -inf
    """
    before, last = window_and_buffer(history, window, buffer)
    found = look_around(last[::-1], before[::-1])
    powers = {token: Fraction(distance) for token, distance in found.own.items()}
    length = found.length
    for token, delta in found.following.items():
        d = delta + 1
        powers[token] = (1 - Fraction(d - length + 1, length * d)) / 2
    by_token = {token: Change(power) for token, power in powers.items()}
    return Changes(by_token, otherwise=Change(Fraction(size)))
