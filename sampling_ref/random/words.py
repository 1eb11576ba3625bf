"""Words: what a seed, a key or a counter may be, where a stream begins, and halves of words.

A generator here is an iterator of words, each an int of 32 or 64 bits. Its whole state is
the pair (what it was seeded with, how many words were taken), so every stream takes
`taken` and continues there.

Generators give words of one width, and some engines need the other. Which half comes first,
and whether the second half is kept, changes every number after it, so each way has a name.
A half that is kept is lost where a whole word is read next (Rust's `BlockRng64`). These
functions serve streams from which only one width is read.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_whole


def read_unsigned(value: object, bits: int, name: str) -> int:
    """Return the number; raise `ParameterError` unless it is an int of at most `bits` bits.

    >>> read_unsigned(5, 32, "seed")
    5
    >>> read_unsigned(-1, 32, "seed")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: seed must be a whole number from 0 to 2**32 - 1, got -1
    """
    return read_whole(name, value, most=2**bits - 1)


def read_words(values: object, count: int, bits: int, name: str) -> tuple[int, ...]:
    """Return `count` words of `bits` bits, each checked.

    >>> read_words([1, 2], 2, 32, "key")
    (1, 2)
    >>> read_words([1], 2, 32, "key")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: key must be 2 whole numbers, got [1]
    """
    if not isinstance(values, list | tuple) or len(values) != count:
        raise ParameterError(name, values, f"must be {count} whole numbers")
    return tuple(read_unsigned(value, bits, f"{name}[{i}]") for i, value in enumerate(values))


def after(words: Iterator[int], taken: object) -> Iterator[int]:
    """Return a stream without its first words.

    >>> next(after(iter([7, 8, 9]), 2))
    9
    """
    return islice(words, read_whole("taken", taken), None)


def low_then_high(words: Iterable[int]) -> Iterator[int]:
    """Yield both halves of each 64-bit word, low first: numpy; Rust's ISAAC-64 (0.4).

    >>> list(low_then_high([2**32 * 7 + 5]))
    [5, 7]
    """
    for word in words:
        yield word & 2**32 - 1
        yield word >> 32


def low_halves(words: Iterable[int]) -> Iterator[int]:
    """Yield the low half of each 64-bit word: Rust's ISAAC-64 from 0.5 on.

    >>> list(low_halves([2**32 * 7 + 5]))
    [5]
    """
    return (word & 2**32 - 1 for word in words)


def high_halves(words: Iterable[int]) -> Iterator[int]:
    """Yield the high half of each 64-bit word: Rust's xoshiro256++.

    >>> list(high_halves([2**32 * 7 + 5]))
    [7]
    """
    return (word >> 32 for word in words)


def pairs_low_first(words: Iterable[int]) -> Iterator[int]:
    """Yield 64-bit words of two 32-bit words, the low one first: Rust's ChaCha; libstdc++.

    >>> list(pairs_low_first([5, 7])) == [2**32 * 7 + 5]
    True
    """
    words = iter(words)
    return (low | high << 32 for low, high in zip(words, words, strict=False))


def pairs_high_first(words: Iterable[int]) -> Iterator[int]:
    """Yield 64-bit words of two 32-bit words, the high one first: torch on a CPU.

    >>> list(pairs_high_first([7, 5])) == [2**32 * 7 + 5]
    True
    """
    words = iter(words)
    return (high << 32 | low for high, low in zip(words, words, strict=False))
