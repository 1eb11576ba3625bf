"""MT19937, the Mersenne Twister with 32-bit words.

Makoto Matsumoto, Takuji Nishimura, "Mersenne Twister: A 623-Dimensionally Equidistributed
Uniform Pseudo-Random Number Generator", ACM TOMACS 8(1), 1998; seeding of their program of
2002, http://www.math.sci.hiroshima-u.ac.jp/m-mat/MT/MT2002/emt19937ar.html. The algorithm:

    The state is 624 words. When all are used, each is replaced by the word 397 places
    on, exclusive or the top bit of itself and the other bits of its neighbour, shifted by
    one (and exclusive or a constant if a one was shifted out). Each word that is read goes
    through four shifted exclusive ors, the tempering.

The paper leaves the seeding open. Here, by name:

From one word (`mt19937`)
    The program's `init_genrand`: `std::mt19937` in C++, torch on a CPU, numpy's
    `RandomState(int)`. A seed has 32 bits. torch accepts longer ones and drops all bits but
    the low 32; here they are an error.
From several words (`mt19937_by_array`)
    The program's `init_by_array`: numpy's `RandomState(list)`, and Python's
    `random.seed(int)` with the 32-bit words of the number, lowest first.
From numpy's SeedSequence (`mt19937_by_seed_sequence`)
    numpy's `MT19937(seed)`. The state is filled from the sequence, its first word is the
    top bit alone, and reading begins at the *last* word of this state, not at a new one.
From a state (`mt19937_words`)
    Whatever `get_state()` or `get_rng_state()` gave.
"""

from collections.abc import Iterator, Sequence

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_whole
from sampling_ref.random.seed_sequence import seed_sequence
from sampling_ref.random.words import after, read_unsigned, read_words

LENGTH = 624
DISTANCE = 397
WORD = 2**32 - 1


def mt19937(seed: int, *, taken: int = 0) -> Iterator[int]:
    """Return the stream of 32-bit words of a 32-bit seed, without its first `taken` words.

    >>> next(mt19937(5489))
    3499211612
    """
    return after(mt19937_words(mt19937_state(seed)), taken)


def mt19937_by_array(key: Sequence[int], *, taken: int = 0) -> Iterator[int]:
    """Return the stream of 32-bit words of a key: one or more 32-bit words.

    >>> next(mt19937_by_array([0x123, 0x234, 0x345, 0x456]))
    1067595299
    """
    return after(mt19937_words(mt19937_state_by_array(key)), taken)


def mt19937_by_seed_sequence(seed: int, *, taken: int = 0) -> Iterator[int]:
    """Return the stream of numpy's `MT19937(seed)`; a seed is an integer of any size from 0.

    >>> next(mt19937_by_seed_sequence(0))
    2058676884
    """
    state = [2**31, *seed_sequence(seed, LENGTH)[1:]]
    return after(mt19937_words(state, LENGTH - 1), taken)


def mt19937_state(seed: int) -> list[int]:
    """Return the 624 words that a 32-bit seed gives.

    >>> mt19937_state(1)[:2]
    [1, 1812433254]
    """
    state = [read_unsigned(seed, 32, "seed")]
    for i in range(1, LENGTH):
        last = state[-1]
        state.append((1812433253 * (last ^ last >> 30) + i) & WORD)
    return state


def mt19937_state_by_array(key: Sequence[int]) -> list[int]:
    """Return the 624 words that a key of one or more 32-bit words gives.

    >>> mt19937_state_by_array([1])[0]
    2147483648
    """
    if not isinstance(key, list | tuple) or not key:
        raise ParameterError("key", key, "must be at least one whole number")
    words = read_words(key, len(key), 32, "key")
    state = mt19937_state(19650218)
    i = 1
    for step in range(max(LENGTH, len(words))):
        j = step % len(words)
        last = state[i - 1]
        state[i] = ((state[i] ^ (last ^ last >> 30) * 1664525) + words[j] + j) & WORD
        i = _next_place(state, i)
    for _ in range(LENGTH - 1):
        last = state[i - 1]
        state[i] = ((state[i] ^ (last ^ last >> 30) * 1566083941) - i) & WORD
        i = _next_place(state, i)
    state[0] = 2**31  # not all zero, whatever the key
    return state


def _next_place(state: list[int], i: int) -> int:
    """Return the place after `i`; past the end, place 0 is made the last word."""
    if i < LENGTH - 1:
        return i + 1
    state[0] = state[-1]
    return 1


def mt19937_words(state: Sequence[int], position: int = LENGTH) -> Iterator[int]:
    """Return the stream of a state of 624 words of which `position` have been read.

    >>> next(mt19937_words(mt19937_state(5489)))
    3499211612
    """
    words = list(read_words(state, LENGTH, 32, "state"))
    return _words(words, read_whole("position", position, most=LENGTH))


def _words(state: list[int], position: int) -> Iterator[int]:
    for word in state[position:]:
        yield _tempered(word)
    while True:
        _twist(state)
        for word in state:
            yield _tempered(word)


def _twist(state: list[int]) -> None:
    """Replace all words of a state, in order; words 227 on already see new ones."""
    for i in range(LENGTH):
        joined = state[i] & 2**31 | state[i + 1 - LENGTH] & 2**31 - 1
        state[i] = state[i + DISTANCE - LENGTH] ^ joined >> 1 ^ (joined & 1) * 0x9908B0DF


def _tempered(word: int) -> int:
    word ^= word >> 11
    word ^= word << 7 & 0x9D2C5680
    word ^= word << 15 & 0xEFC60000
    return word ^ word >> 18
