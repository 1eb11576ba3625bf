"""Threefry: random words as a function of a counter and a key, without multiplication.

John Salmon, Mark Moraes, Ron Dror, David Shaw, "Parallel Random Numbers: As Easy as
1, 2, 3", SC 2011, section 3.2 (https://doi.org/10.1145/2063384.2063405), after the cipher
Threefish. The algorithm:

    Twenty rounds of adding one word to another and turning the other by a fixed number of
    bits. Before the first round and after every fourth one, the key is added, each time
    beginning at its next word; its last word is the exclusive or of the others and a constant.

There is no state, so the order in which counters are used is the caller's. Here, by name:

mlx (`threefry2x32_bits`)
    n words come from counters that count two halves at once: the first words of the
    blocks fill the first half of the result, their second words the second. Where n is odd,
    the middle word is the first word of one block more, with the counter (n // 2, 0). (JAX,
    in its older order, pads instead.) A seed of 64 bits is a key, high word first.
"""

from collections.abc import Sequence

from sampling_ref.random.words import read_unsigned, read_words

TURNS_2X32 = ((13, 15, 26, 6), (17, 29, 16, 24))
TURNS_4X64 = (((14, 16), (52, 57), (23, 40), (5, 37)), ((25, 33), (46, 12), (58, 22), (32, 32)))


def threefry2x32(counter: Sequence[int], key: Sequence[int]) -> tuple[int, int]:
    """Return the two 32-bit words of a counter (two words) and a key (two words).

    >>> [format(word, "08x") for word in threefry2x32([0, 0], [0, 0])]
    ['6b200159', '99ba4efe']
    """
    word = 2**32 - 1
    k, m = read_words(key, 2, 32, "key")
    keys = (k, m, k ^ m ^ 0x1BD11BDA)
    a, b = read_words(counter, 2, 32, "counter")
    a, b = (a + k) & word, (b + m) & word
    for four in range(5):
        for turn in TURNS_2X32[four % 2]:
            a = (a + b) & word
            b = (b << turn | b >> (32 - turn)) & word ^ a
        a = (a + keys[(four + 1) % 3]) & word
        b = (b + keys[(four + 2) % 3] + four + 1) & word
    return a, b


def threefry4x64(counter: Sequence[int], key: Sequence[int]) -> tuple[int, int, int, int]:
    """Return the four 64-bit words of a counter (four words) and a key (four words).

    >>> format(threefry4x64([0, 0, 0, 0], [0, 0, 0, 0])[0], "016x")
    '09218ebde6c85537'
    """
    word = 2**64 - 1
    k, m, n, o = read_words(key, 4, 64, "key")
    keys = (k, m, n, o, k ^ m ^ n ^ o ^ 0x1BD11BDAA9FC1A22)
    words = read_words(counter, 4, 64, "counter")
    a, b, c, d = ((x + y) & word for x, y in zip(words, keys[:4], strict=True))
    for four in range(5):
        for first, second in TURNS_4X64[four % 2]:
            a, c = (a + b) & word, (c + d) & word
            b = (b << first | b >> (64 - first)) & word ^ a
            d = (d << second | d >> (64 - second)) & word ^ c
            b, d = d, b  # the pairs cross after each round, and are back after two
        a, b, c, d = ((x + keys[(four + 1 + i) % 5]) & word for i, x in enumerate((a, b, c, d)))
        d = (d + four + 1) & word
    return a, b, c, d


def threefry2x32_bits(key: Sequence[int], count: int) -> list[int]:
    """Return `count` 32-bit words of a key (two words), in the order of mlx.

    >>> threefry2x32_bits([0, 7], 3)[1] == threefry2x32([1, 0], [0, 7])[0]
    True
    """
    half, odd = divmod(read_unsigned(count, 32, "count"), 2)
    blocks = [threefry2x32([i, half + odd + i], key) for i in range(half)]
    middle = [threefry2x32([half, 0], key)[0]] if odd else []
    return [first for first, _ in blocks] + middle + [second for _, second in blocks]


def threefry2x32_key(seed: int) -> tuple[int, int]:
    """Return the key of a 64-bit seed, in the order of mlx: the high word first.

    >>> threefry2x32_key(5)
    (0, 5)
    """
    seed = read_unsigned(seed, 64, "seed")
    return seed >> 32, seed % 2**32
