"""ChaCha with 8, 12 or 20 rounds, as a generator of 32-bit words.

Daniel J. Bernstein, "ChaCha, a variant of Salsa20", SASC 2008
(https://cr.yp.to/chacha/chacha-20080128.pdf). The algorithm:

    A block is 16 words: four constants, eight words of key, a counter, a nonce. Quarter
    rounds of adding, exclusive or and turning go over the columns of the 4 x 4 square, then
    over its diagonals. After the last round the block before is added.

Counter and nonce
    Bernstein's: two words of counter, two of nonce, low words first. (RFC 8439 has one
    and three: its counter is the low half of this one, its first nonce word the high half.)
Rust
    The crate rand_chacha calls the nonce a stream and begins at 0. `StdRng` is ChaCha with
    12 rounds (rand 0.8 and 0.9), its key made by `pcg32_key` from a 64-bit seed. A 64-bit word
    is the next two words, low first, also where they lie in two blocks.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import is_whole, read_whole
from sampling_ref.random.words import after, read_unsigned, read_words

Rounds: TypeAlias = Literal[8, 12, 20]
"""How many rounds: 20 as published, 12 and 8 for speed."""

WORD = 2**32 - 1
CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)  # "expand 32-byte k"
COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def chacha_block(key: Sequence[int], counter: int, nonce: int, rounds: Rounds) -> list[int]:
    """Return the 16 words of a block: key of eight 32-bit words, 64-bit counter and nonce.

    >>> format(chacha_block([0] * 8, 0, 0, 20)[0], "08x")
    'ade0b876'
    """
    if not is_whole(rounds) or rounds not in get_args(Rounds):
        raise ParameterError("rounds", rounds, "must be 8, 12 or 20")
    read_unsigned(counter, 64, "counter")
    read_unsigned(nonce, 64, "nonce")
    before = [*CONSTANTS, *read_words(key, 8, 32, "key")]
    before += [counter & WORD, counter >> 32, nonce & WORD, nonce >> 32]
    block = list(before)
    for _ in range(rounds // 2):
        for places in COLUMNS + DIAGONALS:
            _quarter_round(block, *places)
    return [(x + y) & WORD for x, y in zip(block, before, strict=True)]


def _quarter_round(block: list[int], a: int, b: int, c: int, d: int) -> None:
    for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        block[x] = (block[x] + block[y]) & WORD
        turned = block[z] ^ block[x]
        block[z] = (turned << turn | turned >> (32 - turn)) & WORD


def chacha(key: Sequence[int], *, rounds: Rounds, nonce: int = 0, taken: int = 0) -> Iterator[int]:
    """Return the stream of 32-bit words of a key (eight 32-bit words), counters from 0.

    >>> format(next(chacha([0] * 8, rounds=12)), "08x")
    '6a9af49b'
    """
    blocks, rest = divmod(read_whole("taken", taken), 16)
    words = read_words(key, 8, 32, "key")
    chacha_block(words, 0, nonce, rounds)  # an error comes now, not with the first word
    return after(_words(words, blocks % 2**64, nonce, rounds), rest)


def _words(key: Sequence[int], counter: int, nonce: int, rounds: Rounds) -> Iterator[int]:
    while True:
        yield from chacha_block(key, counter, nonce, rounds)
        counter = (counter + 1) % 2**64


def chacha_by_seed(seed: int, *, rounds: Rounds = 12, taken: int = 0) -> Iterator[int]:
    """Return the stream of Rust's `seed_from_u64(seed)`: `StdRng` where `rounds` is 12.

    >>> next(chacha_by_seed(0))
    3442241407
    """
    return chacha(pcg32_key(seed), rounds=rounds, taken=taken)


def pcg32_key(seed: int) -> tuple[int, ...]:
    """Return the eight 32-bit words of the key for a 64-bit seed, as Rust's rand makes them.

    The crate rand_core, `SeedableRng::seed_from_u64` (versions 0.5 to 0.9,
    https://docs.rs/rand_core/0.9), runs the generator PCG32 (Melissa O'Neill, "PCG: A Family
    of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
    Generation", 2014, XSH RR) from the seed, with an increment of its own, and takes its
    words as the key. The state is advanced before its first word is read, unlike in O'Neill's
    program, so that a small seed is not visible in the key. Every generator of the crates that
    has no `seed_from_u64` of its own is seeded so: ChaCha, but neither ISAAC-64 nor
    xoshiro256++.

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
