"""Philox: random words as a function of a counter and a key.

John Salmon, Mark Moraes, Ron Dror, David Shaw, "Parallel Random Numbers: As Easy as
1, 2, 3", SC 2011, section 4 (https://doi.org/10.1145/2063384.2063405). The algorithm:

    Ten rounds. In each, two of the counter's four words are multiplied by constants; the
    high halves of the products, exclusive or the other words and the key, and the low
    halves become the new words. After each round the key grows by constants.

There is no state, so the order in which counters are used is the caller's. Here, by name:

torch on CUDA and cuRAND (`philox4x32_words`)
    Four words of 32 bits for each counter, in order. The key is the seed; the low half of
    the counter is the number of blocks before, the high half names a subsequence (a thread).
numpy (`philox4x64_words`, `philox4x64_by_seed_sequence`)
    Four words of 64 bits. numpy's `Philox` adds one to its counter *before* each block, so
    that `counter=0` begins with the block of counter 1.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from sampling_ref.parameters import read_whole
from sampling_ref.random.seed_sequence import seed_sequence_64
from sampling_ref.random.words import after, read_unsigned, read_words

Four: TypeAlias = tuple[int, int, int, int]
"""The words of one block, or of one counter, lowest first."""

ROUNDS = 10

CONSTANTS = {
    32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
    64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
}
"""Two factors, and by how much the two words of the key grow, for each width of the words."""


def philox_block(
    counter: Sequence[int], key: Sequence[int], bits: int = 32, *, rounds: int = ROUNDS
) -> Four:
    """Return the four words of a counter (four words) and a key (two words) of 32 or 64 bits.

    Ten rounds are the paper's default, and 7 the fewest that pass its tests.

    >>> [format(word, "08x") for word in philox_block([0, 0, 0, 0], [0, 0])]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    word = (1 << bits) - 1
    first, second, first_step, second_step = CONSTANTS[bits]
    a, b, c, d = read_words(counter, 4, bits, "counter")
    k, m = read_words(key, 2, bits, "key")
    for _ in range(rounds):
        ab, cd = first * a, second * c
        a, b, c, d = cd >> bits ^ b ^ k, cd & word, ab >> bits ^ d ^ m, ab & word
        k, m = (k + first_step) & word, (m + second_step) & word
    return a, b, c, d


def philox4x32_words(
    seed: int, *, subsequence: int = 0, offset: int = 0, taken: int = 0
) -> Iterator[int]:
    """Return the stream of 32-bit words of a 64-bit seed, in the order of torch on CUDA.

    `subsequence` (64 bits) is the high half of the counter, `offset` (64 bits) the number
    of blocks of four words before the first.

    >>> next(philox4x32_words(0)) == 0x6627E8D5
    True
    """
    seed = read_unsigned(seed, 64, "seed")
    read_unsigned(subsequence, 64, "subsequence")
    read_unsigned(offset, 64, "offset")
    blocks, rest = divmod(read_whole("taken", taken), 4)
    start = (subsequence << 64) + offset + blocks
    key = (seed % 2**32, seed >> 32)
    return after(_words(32, start, key), rest)


def _words(bits: int, counter: int, key: Sequence[int]) -> Iterator[int]:
    while True:
        yield from philox_block(
            [counter >> bits * place & 2**bits - 1 for place in range(4)], key, bits
        )
        counter += 1


def philox4x64_words(
    key: Sequence[int], *, counter: Sequence[int] = (0, 0, 0, 0), taken: int = 0
) -> Iterator[int]:
    """Return the stream of numpy's `Philox(key=key, counter=counter)`, 64-bit words.

    >>> next(philox4x64_words([0, 0])) == philox_block([1, 0, 0, 0], [0, 0], 64)[0]
    True
    """
    words = read_words(counter, 4, 64, "counter")
    blocks, rest = divmod(read_whole("taken", taken), 4)
    start = sum(word << 64 * place for place, word in enumerate(words)) + blocks
    # numpy adds one before the block
    return after(_words(64, start + 1, read_words(key, 2, 64, "key")), rest)


def philox4x64_by_seed_sequence(seed: int, *, taken: int = 0) -> Iterator[int]:
    """Return the stream of numpy's `Philox(seed)`, 64-bit words.

    >>> next(philox4x64_by_seed_sequence(0)) == next(philox4x64_words(seed_sequence_64(0, 2)))
    True
    """
    return philox4x64_words(seed_sequence_64(seed, 2), taken=taken)
