"""numpy's SeedSequence: any integer becomes as many well mixed words as a generator needs.

Robert Kern, NumPy, `numpy/random/bit_generator.pyx`, after Melissa O'Neill's `seed_seq_fe`
("Developing a seed_seq Alternative", 2015,
https://www.pcg-random.org/posts/developing-a-seed_seq-alternative.html). The algorithm:

    Write the seed as 32-bit words, lowest first. Hash them into a pool of four words,
    each word of the pool with each other one, words beyond the fourth with all four. Then
    hash the pool's words, again and again in turn, into the words that are wanted.

Left out
    Spawned children (`spawn_key`) and pools of another size, which no engine here needs.
64-bit words
    Two 32-bit words, the low one first.
"""

from itertools import cycle, islice

from sampling_ref.parameters import read_whole

WORD = 2**32 - 1
POOL = 4


def seed_sequence(seed: int, count: int) -> list[int]:
    """Return `count` 32-bit words for a seed, an integer of any size from 0.

    >>> seed_sequence(0, 2)
    [2968811710, 3677149159]
    """
    pool = _mixed(_words_of(read_whole("seed", seed)))
    constant = 0x8B51F9DD
    made = []
    for word in islice(cycle(pool), count):
        hashed = word ^ constant
        constant = constant * 0x58F38DED & WORD
        hashed = hashed * constant & WORD
        made.append(hashed ^ hashed >> 16)
    return made


def seed_sequence_64(seed: int, count: int) -> list[int]:
    """Return `count` 64-bit words for a seed.

    >>> seed_sequence_64(0, 1) == [2968811710 + 3677149159 * 2**32]
    True
    """
    words = seed_sequence(seed, 2 * count)
    return [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]


def _words_of(seed: int) -> list[int]:
    """Return the 32-bit words of a number, lowest first, at least one."""
    words = [seed & WORD]
    while seed := seed >> 32:
        words.append(seed & WORD)
    return words


def _mixed(entropy: list[int]) -> list[int]:
    """Return the pool after all entropy has gone into it."""
    constant = 0x43B0D7E5

    def hashed(word: int) -> int:
        nonlocal constant  # each word is hashed with the next constant
        word ^= constant
        constant = constant * 0x931E8875 & WORD
        word = word * constant & WORD
        return word ^ word >> 16

    def mixed(x: int, y: int) -> int:
        result = (0xCA01F9DD * x - 0x4973F715 * y) & WORD
        return result ^ result >> 16

    first = entropy[:POOL] + [0] * (POOL - len(entropy))
    pool = [hashed(word) for word in first]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    for word in entropy[POOL:]:
        for target in range(POOL):
            pool[target] = mixed(pool[target], hashed(word))
    return pool
