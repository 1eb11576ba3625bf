"""The LZ penalty by definition 8 itself: the change of the code's length, for every token.

Ginart et al., "LZ Penalty", 2025, definition 9 and equation 4
(https://arxiv.org/abs/2504.20131). The rule:

    D(a) = |C(a b | w)| - |C(b | w)| - 1

with C the compressor of definition 8 and the lengths of propositions 1 and 2. The 1, which
all tokens share, makes D(a) = log2(V) for a token that is new, as in the other variants.

This is what the case distinction of the paper abbreviates. It is the definition that
`corrected` is held against: they agree for every token that follows the nearest longest
match or is no continuation of any match.

Shorter matches
    A token may continue a match that is shorter than the longest (2 <= lambda <= l; the
    paper says that this cannot be). Then the greedy parse takes that match and goes on
    from its end with the rest of the buffer, which may cost less or more than before.
"""

from collections.abc import Sequence
from fractions import Fraction

from sampling_ref.lz.changes import Change, Changes
from sampling_ref.lz.compressor import literal_power, pair_power
from sampling_ref.lz.matches import Match, match_lengths, window_and_buffer
from sampling_ref.row import TokenId


def codelength(history: Sequence[TokenId], size: int, window: int, buffer: int) -> Changes:
    """Return the change that each next token brings, in bits.

    Why this is the same answer as compressing "a b" for each token a: its longest match
    begins at an occurrence of `a` and goes on with a match of `b`, whose lengths are
    known for every place. What the greedy parse does after it depends on where it ends
    only, so the rest of the buffer is measured once for each end.

    >>> codelength([1, 2, 3, 7, 1, 2, 4, 8, 1, 2], 16, window=8, buffer=2).of(3).power
    Fraction(3, 2)
    """
    before, last = (part[::-1] for part in window_and_buffer(history, window, buffer))
    lengths = [*match_lengths(last, before), 0]
    matches: dict[TokenId, Match] = {}
    for place, token in enumerate(before):
        length = lengths[place + 1] + 1
        if token not in matches or length > matches[token].length:
            matches[token] = Match(length, distance=place + 1)

    powers_from: dict[int, int] = {len(last): 1}

    def power_from(start: int) -> int:
        """Return 2 to the length of the code of the buffer from `start` on."""
        codes = []
        while start not in powers_from:
            found = match_lengths(last[start:], before)
            length = max(found, default=0)
            code = pair_power(length, found.index(length) + 1) if length else literal_power(size)
            codes.append((start, code))
            start += max(length, 1)
        power = powers_from[start]
        for place, code in reversed(codes):
            power *= code
            powers_from[place] = power
        return power

    powers = {
        token: Fraction(
            pair_power(match.length, match.distance) * power_from(match.length - 1),
            2 * power_from(0),
        )
        for token, match in matches.items()
    }
    by_token = {token: Change(power) for token, power in powers.items()}
    return Changes(by_token, otherwise=Change(Fraction(size)))
