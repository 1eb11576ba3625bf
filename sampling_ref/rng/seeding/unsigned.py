"""Unsigned words: what a seed, a key or a counter may be, and where a stream begins.

A generator here is an iterator of words, each an int of 32 or 64 bits. Its whole state is
the pair (what it was seeded with, how many words were taken), so every stream takes
`taken` and continues there.
"""

from collections.abc import Iterator
from itertools import islice

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_whole


def read_unsigned(value: object, bits: int, name: str) -> int:
    """Return a number after checking that it is an int of at most so many bits.

    >>> read_unsigned(5, 32, "seed")
    5
    >>> read_unsigned(-1, 32, "seed")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: seed must be a whole number from 0 to 2**32 - 1, got -1
    """
    return read_whole(name, value, most=2**bits - 1)


def read_words(values: object, count: int, bits: int, name: str) -> tuple[int, ...]:
    """Return so many words of so many bits, each checked.

    >>> read_words([1, 2], 2, 32, "key")
    (1, 2)
    >>> read_words([1], 2, 32, "key")
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: key must be 2 whole numbers, got [1]
    """
    if not isinstance(values, list | tuple) or len(values) != count:
        raise ParameterError(name, values, f"must be {count} whole numbers")
    return tuple(read_unsigned(value, bits, f"{name}[{i}]") for i, value in enumerate(values))


def read_taken(taken: object) -> int:
    """Return the number of words already taken from a stream, after checking it.

    >>> read_taken(3)
    3
    """
    return read_whole("taken", taken)


def after(words: Iterator[int], taken: object) -> Iterator[int]:
    """Return a stream without its first words.

    >>> next(after(iter([7, 8, 9]), 2))
    9
    """
    return islice(words, read_taken(taken), None)
