"""SplitMix64: one 64-bit word for each step of a counter, mixed until it looks random.

Guy Steele, Doug Lea, Christine Flood, "Fast Splittable Pseudorandom Number Generators",
OOPSLA 2014, figures 16 and 17; in the form with fixed increment of Sebastiano Vigna,
https://prng.di.unimi.it/splitmix64.c.

    The state grows by a fixed odd number, the golden ratio in 64 bits. Each word is the
    new state, mixed by two multiplications and three shifted exclusive ors.

It is a generator of its own, and it seeds others (xoshiro256++ in Rust and elsewhere).

The first word
    The state grows before it is mixed, so seed 0 does not give the word 0.
Half words
    The crate rand_xoshiro has another mixer for 32-bit words. It is not this function cut
    in half, and it is not offered here.
"""

from collections.abc import Iterator

from sampling_ref.parameters import read_whole
from sampling_ref.random.words import read_unsigned

WORD = 2**64 - 1
GOLDEN_RATIO = 0x9E3779B97F4A7C15


def splitmix64(seed: int, *, taken: int = 0) -> Iterator[int]:
    """Return the stream of 64-bit words of a 64-bit seed, without its first `taken` words.

    >>> next(splitmix64(0)) == 0xE220A8397B1DCDAF
    True
    """
    return _words(read_unsigned(seed, 64, "seed"), read_whole("taken", taken))


def _words(seed: int, taken: int) -> Iterator[int]:
    state = (seed + taken * GOLDEN_RATIO) & WORD
    while True:
        state = (state + GOLDEN_RATIO) & WORD
        word = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & WORD
        word = ((word ^ word >> 27) * 0x94D049BB133111EB) & WORD
        yield word ^ word >> 31
