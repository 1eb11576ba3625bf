"""Put the random numbers of a record into an engine's own MT19937.

If an engine allows setting its generator's state, it can be made to draw with any given words. The
state contains the next 624 words before tempering, and tempering can be inverted. No more than one
state's words can be chosen.

Source: Makoto Matsumoto and Takuji Nishimura, "Mersenne Twister", 1998, section 2.1.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

WORDS: Final = 624
"""Number of words in a state."""

_ALL: Final = 0xFFFFFFFF


def untempered(word: int) -> int:
    """Return the state word whose tempered output is this word.

    >>> hex(untempered(3499211612))  # the first word for the seed 5489
    '0x9b0afa27'
    """
    word = _undone(word, 18, _ALL, left=False)
    word = _undone(word, 15, 0xEFC60000, left=True)
    word = _undone(word, 7, 0x9D2C5680, left=True)
    return _undone(word, 11, _ALL, left=False)


def _undone(word: int, shift: int, mask: int, *, left: bool) -> int:
    """Return x, given x ^ (x shifted & mask): each round makes `shift` more bits correct."""
    found = word
    for _ in range(32 // shift):
        moved = found << shift if left else found >> shift
        found = word ^ (moved & mask & _ALL)
    return found


def in_bits(uniforms: Sequence[float], bits: int = 53) -> list[int] | None:
    """Return k for each uniform number k / 2**bits, or None if one is not of this form.

    >>> in_bits([0.5, 2.0**-53]), in_bits([1.0]), in_bits([2.0**-54])
    ([4503599627370496, 1], None, None)
    """
    if not all(0 <= uniform < 1 for uniform in uniforms):
        return None
    scaled = [Fraction(uniform) * (1 << bits) for uniform in uniforms]
    if any(number.denominator != 1 for number in scaled):
        return None
    return [int(number) for number in scaled]


def state_of(words: Sequence[int]) -> list[int]:
    """Return the state whose next words are these, at most 624, padded with zeros.

    >>> len(state_of([1, 2, 3]))
    624
    """
    state = [untempered(word) for word in words]
    return state + [0] * (WORDS - len(state))
