"""torch.multinomial on a CPU, bit for bit: which token a seed draws in transformers.

PyTorch 2.13, `aten/src/ATen/native/Distributions.cpp` (`multinomial_out`) and
`native/cpu/MultinomialKernel.cpp`; found by running it. The rule:

    One draw, or several without replacement, is an exponential race, not a walk along the
    cumulative sums: each token gets noise e = -log(1 - u), and the largest p / e wins
    (the largest few, in that order). Several draws with replacement walk.

Random numbers
    Two words of MT19937 make a u in [0, 1) of 53 bits, the first word is the high one
    (`random.uniforms.torch_cpu_double`). A race takes one u for each token, in the order of the
    vocabulary, also for tokens of probability 0; a walk takes one for each draw. The seed is
    the low 32 bits of `torch.manual_seed`.
32 and 64 bits
    The noise is computed with 64 bits. For 32-bit probabilities it is rounded to 32, and so
    is p / e. 64-bit probabilities are not rounded.
Equal scores
    The first maximum. (Beyond the first place torch's own order of equals is not defined;
    here it is by rising token id.)
u = 0
    The noise is 0. A token of positive probability then has an infinite score. One of
    probability 0 has 0 / 0, and torch takes NaN for the largest of all: it draws the
    impossible token. Once in 2**53 numbers; reproduced.
The walk
    Running sums, divided by the last one, all rounded to the width of the row; the
    first that is at least u (not rounded). u = 0 draws token 0, whatever its probability.
The logarithm
    is that of the platform's C library here and in torch. In 32 bits a difference in its
    last place is seen only where the noise lies between two 32-bit numbers.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from math import inf, log1p
from typing import Any, Literal, TypeAlias, get_args

from sampling_ref.errors import ParameterError, RandomNumberError, RowError
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.parameters import is_whole, read_whole
from sampling_ref.random.uniforms import torch_cpu_double
from sampling_ref.row import Number, TokenId, read_weights, to_float

Bits: TypeAlias = Literal[32, 64]
"""The width of the probabilities: `torch.float32` or `torch.float64`."""

Rounding: TypeAlias = Callable[[Number], float]


def multinomial_torch_cpu(probabilities: Any, words: Iterator[int], *, bits: Bits = 32) -> TokenId:
    """Return the token of `torch.multinomial(probabilities, 1)`, taking two words per token.

    >>> from sampling_ref.random.mt19937 import mt19937
    >>> multinomial_torch_cpu([0.25, 0.5, 0.25], mt19937(0))
    2
    """
    return multinomial_torch_cpu_without_replacement(probabilities, 1, words, bits=bits)[0]


def multinomial_torch_cpu_without_replacement(
    probabilities: Any, count: int, words: Iterator[int], *, bits: Bits = 32
) -> list[TokenId]:
    """Return the tokens of `torch.multinomial(probabilities, count)`.

    >>> from sampling_ref.random.mt19937 import mt19937
    >>> sorted(multinomial_torch_cpu_without_replacement([0.5, 0.5], 2, mt19937(0)))
    [0, 1]
    """
    row, rounded = _read(probabilities, bits)
    if read_whole("count", count, 1) > len(row):
        raise ParameterError("count", count, f"must be at most the number of tokens, {len(row)}")
    scores = [
        _score(probability, rounded(-log1p(-u)), rounded)
        for probability, u in zip(row, _uniforms(words, len(row)), strict=True)
    ]
    if count == 1:
        return [scores.index(max(scores))]
    return sorted(range(len(row)), key=scores.__getitem__, reverse=True)[:count]


def multinomial_torch_cpu_with_replacement(
    probabilities: Any, count: int, words: Iterator[int], *, bits: Bits = 32
) -> list[TokenId]:
    """Return the tokens of `torch.multinomial(probabilities, count, replacement=True)`.

    Two words per draw for a count of 2 and more; one draw is a race, as without replacement.

    >>> from sampling_ref.random.mt19937 import mt19937
    >>> multinomial_torch_cpu_with_replacement([0.0, 1.0], 3, mt19937(0))
    [1, 1, 1]
    """
    if read_whole("count", count, 1) == 1:
        return [multinomial_torch_cpu(probabilities, words, bits=bits)]
    row, rounded = _read(probabilities, bits)
    sums = list(accumulate(row, lambda one, other: rounded(one + other)))
    if sums[-1] == inf:
        raise RowError(f"probabilities must have a sum that is finite in {bits} bits, got {inf}")
    shares = [rounded(part / sums[-1]) for part in sums]
    return [bisect_left(shares, u) for u in _uniforms(words, count)]


def _read(probabilities: Any, bits: Bits) -> tuple[list[float], Rounding]:
    """Return the row in a width, and the rounding to that width."""
    if not is_whole(bits) or bits not in get_args(Bits):
        raise ParameterError("bits", bits, "must be 32 or 64")
    rounded: Rounding = to_binary32 if bits == 32 else to_float
    row = read_weights(probabilities, "probabilities")
    narrow = [rounded(p) for p in row]
    read_weights(narrow, f"probabilities of {bits} bits")
    return narrow, rounded


def _uniforms(words: Iterator[int], count: int) -> list[float]:
    taken = list(islice(words, 2 * count))
    if len(taken) < 2 * count:
        raise RandomNumberError(f"words must hold {2 * count} numbers, got {len(taken)}")
    return [torch_cpu_double(a, b) for a, b in zip(taken[::2], taken[1::2], strict=True)]


def _score(probability: float, noise: float, rounded: Rounding) -> tuple[bool, float]:
    """Return whether p / e is NaN, which torch treats as the largest of all, and p / e."""
    if noise == 0:
        return (False, inf) if probability else (True, 0.0)
    return False, rounded(probability / noise)
