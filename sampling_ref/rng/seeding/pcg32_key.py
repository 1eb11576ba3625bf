"""A 64-bit seed spread over a 256-bit key, as Rust's rand does it.

The crate rand_core, `SeedableRng::seed_from_u64` (versions 0.5 to 0.9,
https://docs.rs/rand_core/0.9). In our words:

    Run the generator PCG32 (Melissa O'Neill, "PCG: A Family of Simple Fast Space-Efficient
    Statistically Good Algorithms for Random Number Generation", 2014, XSH RR) from the
    seed, with an increment of its own, and take its words as the key.

The first word
    The state is advanced before its first word is read, unlike in O'Neill's own program,
    so that a small seed is not seen in the key.
Who uses it
    Every generator of the crates that has no `seed_from_u64` of its own: ChaCha (and so
    `StdRng`), but neither ISAAC-64 nor xoshiro256++.
"""

from sampling_ref.rng.seeding.unsigned import read_unsigned


def pcg32_key(seed: int) -> tuple[int, ...]:
    """Return the eight 32-bit words of the key for a 64-bit seed.

    >>> [format(word, "08x") for word in pcg32_key(0)][:2]
    ['f973f2ec', '45cdb581']
    """
    state = read_unsigned(seed, 64, "seed")
    key = []
    for _ in range(8):
        state = (state * 6364136223846793005 + 11634580027462260723) % 2**64
        mixed = ((state >> 18 ^ state) >> 27) % 2**32
        turn = state >> 59
        key.append((mixed >> turn | mixed << (32 - turn)) % 2**32)
    return tuple(key)
