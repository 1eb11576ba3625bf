"""Drawing by an exponential race: who arrives first, at speeds that are the weights.

Pavlos Efraimidis, Paul Spirakis, "Weighted Random Sampling with a Reservoir", Information
Processing Letters 97, 2006 (https://doi.org/10.1016/j.ipl.2005.11.003), with logarithms of
their keys. The rule:

    Each token gets its own random number u and the time e = -log u. The token with the
    smallest e / weight is the draw. The k smallest are k draws without replacement, in
    that order.

Programs compute the largest weight / e instead, which is the same token.

Noise, u = 0, u near 1
    See `noise`: which number's logarithm is taken has two names.
Tokens without weight
    Never arrive, even against noise of nothing (u = 0 with "-log(1-u)").
Equal arrivals
    By rising token id. They are recognised exactly: log u / log v is the ratio of two
    weights only if u and v are powers of one rational number.
Rounding
    There is none: the times are compared as real numbers.
"""

from fractions import Fraction
from typing import Any

from sampling_ref.draws.noise import (
    Noise,
    argument,
    best_first,
    gumbel,
    log_weight,
    plus,
    read_noise,
)
from sampling_ref.errors import ParameterError
from sampling_ref.numbers.reals import Real
from sampling_ref.parameters import read_whole
from sampling_ref.row import Number, TokenId, read_weights


def exponential_race(weights: Any, uniforms: Any, *, noise: Noise = "-log u") -> TokenId:
    """Return the token that arrives first; one random number per token.

    >>> exponential_race([1.0, 1.0], [0.25, 0.5]), exponential_race([3.0, 1.0], [0.25, 0.5])
    (1, 0)
    """
    return exponential_race_order(weights, 1, uniforms, noise=noise)[0]


def exponential_race_order(
    weights: Any, count: int, uniforms: Any, *, noise: Noise = "-log u"
) -> list[TokenId]:
    """Return the first `count` tokens to arrive, in that order.

    >>> exponential_race_order([2.0, 1.0, 0.0], 2, [0.25, 0.5, 0.5])
    [0, 1]
    """
    row = read_weights(weights)
    numbers = read_noise(uniforms, len(row), noise)
    possible = [token for token, weight in enumerate(row) if weight > 0]
    if read_whole("count", count, 1) > len(possible):
        rule = f"must be at most the number of tokens of positive weight, {len(possible)}"
        raise ParameterError("count", count, rule)

    def compare(a: TokenId, b: TokenId) -> int:
        return _compare(row[a], argument(numbers[a], noise), row[b], argument(numbers[b], noise))

    scores = [
        (token, plus(log_weight(row[token]), gumbel(numbers[token], noise))) for token in possible
    ]
    return best_first(scores, compare, count)


def _compare(weight_a: Number, p: Fraction, weight_b: Number, q: Fraction) -> int:
    """Return the sign of weight_a / -log p - weight_b / -log q."""
    if {p, q} & {0, 1}:
        return (p > q) - (p < q)
    ratio = Fraction(weight_a) / Fraction(weight_b)
    a, b = ratio.as_integer_ratio()
    if _equal_powers(q, a, p, b):
        return 0
    return 1 if -Real(q).log() * a > -Real(p).log() * b else -1


def _equal_powers(x: Fraction, m: int, y: Fraction, n: int) -> bool:
    """Return whether x**m = y**n, for x and y in (0, 1) and m and n without common factor.

    Then x is the n-th and y the m-th power of one rational number, whose denominator is at
    least 2. So m and n cannot be larger than the denominators have bits.
    """
    if n >= x.denominator.bit_length() or m >= y.denominator.bit_length():
        return False
    return x**m == y**n
