"""PCG64: a 128-bit linear congruential generator whose state is folded into 64-bit words.

Melissa O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms
for Random Number Generation", Harvey Mudd College HMC-CS-2014-0905, 2014, section 6.3.3, the
variant XSL RR 128/64 (https://www.pcg-random.org/paper.html). The algorithm:

    The state is multiplied by a constant and an odd increment is added. A word is the
    exclusive or of the state's halves, turned right by the state's top six bits.

The first word
    The state is advanced before each word is read, as in O'Neill's 128-bit program and numpy.
Seeding
    A stream is chosen by the increment, twice its number plus one. The state begins at the
    increment plus the initial state, advanced once. numpy's `PCG64(seed)` takes both from
    its SeedSequence, the high halves first.
"""

from collections.abc import Iterator

from sampling_ref.random.seed_sequence import seed_sequence_64
from sampling_ref.random.words import after, read_unsigned

MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def pcg64(initial_state: int, stream: int, *, taken: int = 0) -> Iterator[int]:
    """Return the stream of 64-bit words of an initial state and a stream number (128 bits).

    >>> next(pcg64(42, 54)) == 0x86B1DA1D72062B68
    True
    """
    read_unsigned(initial_state, 128, "initial_state")
    increment = (2 * read_unsigned(stream, 128, "stream") + 1) % 2**128
    state = ((increment + initial_state) * MULTIPLIER + increment) % 2**128
    return after(_words(state, increment), taken)


def pcg64_by_seed_sequence(seed: int, *, taken: int = 0) -> Iterator[int]:
    """Return the stream of numpy's `PCG64(seed)`, which is that of `default_rng(seed)`.

    >>> (next(pcg64_by_seed_sequence(0)) >> 11) / 2**53
    0.6369616873214543
    """
    a, b, c, d = seed_sequence_64(seed, 4)
    return pcg64(a << 64 | b, c << 64 | d, taken=taken)


def _words(state: int, increment: int) -> Iterator[int]:
    while True:
        state = (state * MULTIPLIER + increment) % 2**128
        folded = (state >> 64 ^ state) % 2**64
        turn = state >> 122
        yield (folded >> turn | folded << (64 - turn)) % 2**64
