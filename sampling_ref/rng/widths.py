"""32-bit words out of 64-bit words, and 64-bit words out of 32-bit words.

Generators give words of one width, and engines ask for the other. Which half comes first,
and whether the second half is kept, changes every number after it, so each way has a name.
A half that is kept is lost where a whole word is asked for next (Rust's `BlockRng64`);
these functions serve streams from which only one width is read.
"""

from collections.abc import Iterable, Iterator


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
