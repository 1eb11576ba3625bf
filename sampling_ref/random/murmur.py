"""MurmurHash3 in 32 bits, and noise that is keyed by it instead of drawn from a stream.

Austin Appleby, MurmurHash3_x86_32, 2011,
https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp. The algorithm:

    Each 32-bit word is multiplied, turned and multiplied, then mixed into the hash by
    exclusive or, a turn and five times plus a constant. At the end the number of bytes is
    mixed in, and two more multiplications spread every bit.

Keyed noise
    SGLang (with a seed per request) and vLLM (its second model runner) give each token
    of a row its own random word: the hash of the seed's low half, its high half, the position
    in the sequence and the token id. No state is kept, and a token's noise does not
    depend on what else is in the batch. In SGLang's filtered path the last word is the place
    of the token after sorting, not its id.
Domain
    vLLM's 64-bit noise takes a second word with another initial hash, 0x9E3779B9.
Partial words
    Only whole words are hashed here; nothing keyed needs more.
"""

from collections.abc import Sequence

from sampling_ref.random.words import read_unsigned, read_words

WORD = 2**32 - 1
SECOND_DOMAIN = 0x9E3779B9
"""The initial hash of the high word of vLLM's 64-bit noise."""


def murmur3_32(words: Sequence[int], seed: int = 0) -> int:
    """Return the 32-bit hash of 32-bit words (bytes read in little-endian order).

    >>> import struct
    >>> format(murmur3_32(struct.unpack("<I", b"test")), "08x")
    'ba6bd213'
    """
    count = len(words) if isinstance(words, list | tuple) else 1
    hashed = read_unsigned(seed, 32, "seed")
    for word in read_words(words, count, 32, "words"):
        mixed = word * 0xCC9E2D51 & WORD
        mixed = (mixed << 15 | mixed >> 17) & WORD
        hashed ^= mixed * 0x1B873593 & WORD
        hashed = (hashed << 13 | hashed >> 19) & WORD
        hashed = (hashed * 5 + 0xE6546B64) & WORD
    hashed ^= 4 * count
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & WORD
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & WORD
    return hashed ^ hashed >> 16


def murmur_noise(seed: int, position: int, column: int, *, domain: int = 0) -> int:
    """Return the 32-bit word of a token: 64-bit seed, 32-bit position and token id (or place).

    >>> murmur_noise(0, 0, 0) == murmur3_32([0, 0, 0, 0])
    True
    """
    seed = read_unsigned(seed, 64, "seed")
    read_unsigned(position, 32, "position")
    read_unsigned(column, 32, "column")
    read_unsigned(domain, 32, "domain")
    return murmur3_32([seed & WORD, seed >> 32, position, column], domain)
