"""xoshiro256++: four 64-bit words, exclusive or, shift and rotation.

David Blackman, Sebastiano Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM
TOMS 47(4), 2021, https://prng.di.unimi.it/xoshiro256plusplus.c. The algorithm:

    A word is the sum of the first and last words of the state, turned left by 23 and added
    to the first. Then the state is mixed by exclusive ors, a shift by 17 and a turn by 45.

Seeding
    From four words that are not all zero (all zero would stay so for ever: an error here,
    while Rust takes seed 0 for it), or from a 64-bit seed through SplitMix64, as Rust's
    `SmallRng::seed_from_u64` does on 64-bit platforms (rand 0.8 and 0.9).
Half words
    Rust takes the *high* half of a word where 32 bits are wanted (`high_halves`).
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from sampling_ref.errors import ParameterError
from sampling_ref.random.splitmix64 import splitmix64
from sampling_ref.random.words import after, read_words

WORD = 2**64 - 1


def xoshiro256plusplus(state: Sequence[int], *, taken: int = 0) -> Iterator[int]:
    """Return the stream of 64-bit words of a state: four 64-bit words, not all zero.

    >>> list(islice(xoshiro256plusplus([1, 2, 3, 4]), 2))
    [41943041, 58720359]
    """
    a, b, c, d = read_words(state, 4, 64, "state")
    if not any((a, b, c, d)):
        raise ParameterError("state", state, "must hold a word that is not 0")
    return after(_words(a, b, c, d), taken)


def xoshiro256plusplus_by_seed(seed: int, *, taken: int = 0) -> Iterator[int]:
    """Return the stream of 64-bit words of Rust's `SmallRng::seed_from_u64(seed)`.

    >>> next(xoshiro256plusplus_by_seed(0))
    5987356902031041503
    """
    return xoshiro256plusplus(list(islice(splitmix64(seed), 4)), taken=taken)


def _words(a: int, b: int, c: int, d: int) -> Iterator[int]:
    while True:
        total = (a + d) & WORD
        yield ((total << 23 | total >> 41) + a) & WORD
        shifted = b << 17 & WORD
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = (d << 45 | d >> 19) & WORD
