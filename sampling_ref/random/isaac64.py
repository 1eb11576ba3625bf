"""ISAAC-64: 256 words of 64 bits that look each other up.

Robert J. Jenkins Jr., "ISAAC", Fast Software Encryption 1996, and "ISAAC and RC4",
http://burtleburtle.net/bob/rand/isaacafa.html, the 64-bit variant. The algorithm:

    An accumulator is mixed by one of four shifts in turn and grows by the word half a
    table away. Each word of the table is replaced by the accumulator, the last result and a
    word that its own bits point at; the result is the old word plus one that the new word's
    bits point at.

Order of the results
    A round gives 256 results, and they are handed out last first, as Jenkins' program does.
Seeding (`isaac64_by_seed`)
    Rust's `Isaac64Rng::seed_from_u64` (crate rand_isaac 0.4, which mistral.rs uses): the seed
    is the first word of an otherwise zero table, mixed in one pass. Seed 0 gives the stream of
    Jenkins' unseeded program. Seeds as tables (`isaac64`) are mixed in two passes.
Half words
    In rand_isaac 0.4 a 32-bit word is the low half of the next word, then its high half
    (`low_then_high`); from 0.5 on it is the low half only (`low_halves`).
"""

from collections.abc import Iterator, Sequence

from sampling_ref.random.words import after, read_unsigned, read_words

LENGTH = 256
WORD = 2**64 - 1


def isaac64(key: Sequence[int], *, taken: int = 0) -> Iterator[int]:
    """Return the stream of 64-bit words of a key: up to 256 words, zeros after them.

    >>> next(isaac64([1, 23, 456, 7890]))
    15071495833797886820
    """
    count = len(key) if isinstance(key, list | tuple) and len(key) <= LENGTH else LENGTH
    words = read_words(key, count, 64, "key")
    return after(_words(_table([*words, *[0] * (LENGTH - count)], passes=2)), taken)


def isaac64_by_seed(seed: int, *, taken: int = 0) -> Iterator[int]:
    """Return the stream of 64-bit words of Rust's `Isaac64Rng::seed_from_u64(seed)`.

    >>> next(isaac64_by_seed(0)) == 0xF67DFBA498E4937C
    True
    """
    words = [read_unsigned(seed, 64, "seed")] + [0] * (LENGTH - 1)
    return after(_words(_table(words, passes=1)), taken)


def _table(table: list[int], *, passes: int) -> list[int]:
    """Return a table mixed so that all of the key is in all of it (after two passes)."""
    eight = [0x9E3779B97F4A7C13] * 8  # the golden ratio
    for _ in range(4):
        _mix(eight)
    for _ in range(passes):
        for start in range(0, LENGTH, 8):
            for i in range(8):
                eight[i] = (eight[i] + table[start + i]) & WORD
            _mix(eight)
            table[start : start + 8] = eight
    return table


def _mix(eight: list[int]) -> None:
    """Mix eight words, each with four others."""
    for i, (left, shift) in enumerate(
        [(0, 9), (1, 9), (0, 23), (1, 15), (0, 14), (1, 20), (0, 17), (1, 14)]
    ):
        before, after_four, last = (i - 1) % 8, (i + 4) % 8, (i + 5) % 8
        eight[i] = (eight[i] - eight[after_four]) & WORD
        other = eight[before]
        eight[last] ^= (other << shift & WORD) if left else other >> shift
        eight[before] = (other + eight[i]) & WORD


def _words(table: list[int]) -> Iterator[int]:
    accumulator = last = count = 0
    while True:
        count = (count + 1) & WORD
        last = (last + count) & WORD
        results = []
        for i in range(LENGTH):
            accumulator = _shifted(accumulator, i)
            accumulator = (accumulator + table[i - LENGTH // 2]) & WORD
            old = table[i]
            new = (accumulator + last + table[old >> 3 & LENGTH - 1]) & WORD
            table[i] = new
            last = (old + table[new >> 11 & LENGTH - 1]) & WORD
            results.append(last)
        yield from reversed(results)


def _shifted(word: int, i: int) -> int:
    """Return a word after the `i`-th of four mixing shifts."""
    if i % 4 == 0:
        return (word ^ word << 21) & WORD ^ WORD
    if i % 4 == 1:
        return word ^ word >> 5
    if i % 4 == 2:
        return (word ^ word << 12) & WORD
    return word ^ word >> 33
