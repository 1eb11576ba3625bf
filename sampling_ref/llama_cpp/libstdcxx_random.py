"""Taking words from a generator, and drawing an index, as GCC's C++ library does it.

The C++ standard leaves the algorithms of its distributions open. These are those of libstdc++
(bits/random.tcc of GCC, https://gcc.gnu.org/onlinedocs/libstdc++/) for a generator
of 32-bit words such as std::mt19937. Its two conversions to uniform numbers stand in
`sampling_ref.random.uniforms`; std::discrete_distribution stands here.

std::discrete_distribution
    The weights are divided by their sum, the running sums of the quotients are taken, and
    the last one is set to 1; the index is the first whose running sum is at least a
    uniform double. With fewer than two weights the index is 0, and *no* word is taken.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from sampling_ref.errors import RandomNumberError, shown
from sampling_ref.parameters import is_whole
from sampling_ref.random.uniforms import libstdcxx_double, libstdcxx_float


def uniform_double(words: Iterator[int]) -> float:
    """Return a binary64 number in [0, 1) from two words.

    >>> uniform_double(iter([0, 2**31]))
    0.5
    """
    low = next_word(words)
    return libstdcxx_double(low, next_word(words))


def uniform_float(words: Iterator[int]) -> float:
    """Return a binary32 number in [0, 1) from one word.

    >>> uniform_float(iter([2**30]))
    0.25
    """
    return libstdcxx_float(next_word(words))


def discrete_index(weights: Sequence[float], words: Iterator[int]) -> int:
    """Return an index, each as likely as its weight.

    >>> discrete_index([1.0, 1.0], iter([0, 2**31])), discrete_index([3.0], iter([]))
    (0, 0)
    """
    if len(weights) < 2:
        return 0
    total = sum_in_order(weights)
    running = list(accumulate(weight / total for weight in weights))
    running[-1] = 1.0
    return bisect_left(running, uniform_double(words))


def sum_in_order(numbers: Sequence[float]) -> float:
    """Return the sum of floats, rounded to binary64 after each; Python's own adds better.

    >>> sum_in_order([2.0**53, 1.0, 1.0]) - 2.0**53
    0.0
    """
    total = 0.0
    for number in numbers:
        total += number
    return total


def next_word(words: Iterator[int]) -> int:
    """Take the next 32-bit word.

    >>> next_word(iter([2**32]))
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: a word must be a whole number from 0 to 2**32 - 1, \
got 4294967296
    """
    for word in words:
        if not is_whole(word, most=2**32 - 1):
            rule = "must be a whole number from 0 to 2**32 - 1"
            raise RandomNumberError(f"a word {rule}, got {shown(word)}")
        return word
    raise RandomNumberError("another random word is needed, and none is left")
