"""The LZ penalty as its published script computes it.

Source: github.com/tginart/lz-penalty, commit 027d2378, test_script.py, class
LZPenaltyVectorizedOptimizedCallable. What it does:

    Look for the beginning of the buffer, oldest token first, from every place of the
    window on; a match may run on into the buffer. For the buffer with the next token `a`
    at its end, let (m, e) be the length and the distance of the longest match. Then

    pen(a) = ln( (l - 1)(d + 1) / (l d) ) - 1   if the whole buffer matches, `a` follows,
                                                and l is not 1
           = ln(e)                              if m is 1, or `a` follows and l is 1
           = ln(size of the vocabulary)         otherwise

    where (l, d) are length and distance for the buffer alone, and *subtract*
    strength * pen(a) from the logit.

Where it departs from its paper
    It subtracts what the paper adds, so it rewards repetition. Its logarithms are
    natural, but the 1 is still a 1. Its matches begin with the oldest token of the
    buffer, so the next token matters only where the whole buffer, 32 tokens, occurred
    before. A token of the window that extends nothing gets the value of a new token, or,
    where a single token matched, the distance of *that* token. The distance is counted
    from the end of the window to the oldest token of the match. The farthest of equals
    wins. The formula is the printed one, without its minus infinity.
Shortest match
    Matches shorter than a smallest length are none. It is the smallest L with
    log2(n) + log2(L) <= L log2(V) for a window of n tokens, which is n L <= V^L; 3 if there
    is none up to 99 (a vocabulary of one token). At least that many tokens must lie in
    the window.
Precision
    The script computes in 32-bit floats. Here the real numbers are given.
"""

from collections.abc import Sequence
from fractions import Fraction

from sampling_ref.lz.changes import Change, Changes
from sampling_ref.lz.matches import match_lengths, window_and_buffer
from sampling_ref.row import TokenId

LONGEST_TRIED = 99
WITHOUT_ANY = 3


def shortest_match(size: int, window: int) -> int:
    """Return the smallest length of a match, for a window that is not empty.

    >>> shortest_match(size=128_256, window=512), shortest_match(size=256, window=512)
    (1, 2)
    """
    for length in range(1, LONGEST_TRIED + 1):
        if window * length <= size**length:
            return length
    return WITHOUT_ANY


def subtracted(power: Fraction, offset: int = 0) -> Change:
    """Return the change that subtracts the natural logarithm of `power`, plus an offset."""
    return Change(1 / power, offset=-offset, base="e")


def script(history: Sequence[TokenId], size: int, window: int, buffer: int) -> Changes:
    """Return the change that each next token brings, in natural units, to be added.

    >>> changes = script([1, 2, 3, 4, 5, 1, 2, 3], size=8, window=8, buffer=3)
    >>> changes.of(4).power, changes.of(4).offset, changes.of(4).base  # l = 3, d = 5
    (Fraction(5, 4), 1, 'e')
    >>> changes.of(0).power, float(changes.of(0))
    (Fraction(1, 8), -2.0794415416798357)
    """
    before, last = window_and_buffer(history, window, buffer)
    new = subtracted(Fraction(size))
    if not before:
        return Changes({}, otherwise=new)

    shortest = shortest_match(size, len(before))
    extended = before + last
    # One length for each place of the window at which enough of it is left.
    lengths = match_lengths(last, extended)[: max(0, len(before) - shortest + 1)]
    length = max(lengths, default=0)
    if length < shortest:
        return Changes({}, otherwise=new)

    distance = len(before) - lengths.index(length)
    by_token: dict[TokenId, Change] = {}
    if length == 1:  # the value of a single token, for all that is in sight
        by_token = dict.fromkeys(extended, subtracted(Fraction(distance)))
    if length == len(last):
        # From the nearest place to the farthest, so that the farthest has the last word.
        for place in reversed(range(len(lengths))):
            if lengths[place] == length:
                power, offset = Fraction(len(before) - place), 0
                if length > 1:
                    power = Fraction((length - 1) * (distance + 1), length * distance)
                    offset = -1
                by_token[extended[place + length]] = subtracted(power, offset)
    return Changes(by_token, otherwise=new)
