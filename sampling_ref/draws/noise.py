"""Exponential noise from random numbers, and the comparison of noisy scores.

A race by exponential noise and the largest of Gumbel-noised logits are one draw: with
e = -log q, the token with the largest weight / e is the one with the largest

    log weight - log e,    and    -log e    is Gumbel noise.

Both steps below decide on the real numbers: a score is enclosed by floats, and where two
enclosures meet, an exact comparison of the two decides.

Which number is q
    "-log u": q = u. "-log(1-u)": q = 1 - u, what programs do that write log1p(-u).
    Both noises have the same law, but one u gives other noise.
u = 0
    With "-log u" the noise is infinite: the token loses against every possible token
    whose u is not 0. With "-log(1-u)" it is nothing: the token wins against every other.
    Equal scores, these too, are taken by rising token id.
u near 1
    Nothing special: 1 - 2**-53 is a rational number like others, and no logarithm is rounded.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cmp_to_key
from math import inf, log, log1p
from typing import Any, Literal, TypeAlias, get_args

from sampling_ref.errors import RandomNumberError
from sampling_ref.parameters import read_choice
from sampling_ref.random.sources import read_uniforms
from sampling_ref.row import Number

Noise: TypeAlias = Literal["-log u", "-log(1-u)"]
"""How a random number in [0, 1) becomes exponential noise."""

Enclosure: TypeAlias = tuple[float, float]
"""A lower and an upper bound of a real number, both possibly infinite."""

# Logarithms of the C library are taken to be wrong by less than four units in the last
# place; 2**-48 leaves room for four times the sum of all such errors below.
MARGIN = 2.0**-48
SMALL = 2.0**-1000


def read_noise(uniforms: Any, size: int, noise: Noise) -> list[Number]:
    """Return the random numbers of a row, one for each of its tokens.

    >>> read_noise([0.5], 2, "-log u")
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: uniforms must hold 2 numbers, one for each token, got 1
    """
    read_choice("noise", noise, get_args(Noise))
    numbers = read_uniforms(uniforms)
    if len(numbers) != size:
        wanted = f"uniforms must hold {size} numbers, one for each token"
        raise RandomNumberError(f"{wanted}, got {len(numbers)}")
    return numbers


def argument(u: Number, noise: Noise) -> Fraction:
    """Return q, of which the noise is -log q.

    >>> argument(0.25, "-log u"), argument(0.25, "-log(1-u)")
    (Fraction(1, 4), Fraction(3, 4))
    """
    return Fraction(u) if noise == "-log u" else 1 - Fraction(u)


def gumbel(u: Number, noise: Noise) -> Enclosure:
    """Return bounds of -log(-log q).

    >>> low, high = gumbel(0.5, "-log u")
    >>> low < 0.36651292058166435 < high
    True
    """
    if u == 0:
        return (-inf, -inf) if noise == "-log u" else (inf, inf)
    x = u if isinstance(u, float) else Fraction(u)
    if isinstance(x, float):  # exact, whatever the noise
        exponential = -log(x) if noise == "-log u" else -log1p(-x)
    else:
        q = float(x) if noise == "-log u" else float(1 - x)
        rest = float(1 - x) if noise == "-log u" else float(x)
        if min(q, rest) < SMALL:
            return -inf, inf  # so near to 0 or 1 that rounding could lose digits
        exponential = -log(q) if q < rest else -log1p(-rest)
    value = log(exponential)
    return -value - MARGIN * (1 + abs(value)), -value + MARGIN * (1 + abs(value))


def log_weight(weight: Number) -> Enclosure:
    """Return bounds of the logarithm of a positive weight.

    >>> low, high = log_weight(1)
    >>> low < 0 < high
    True
    """
    if isinstance(weight, float):
        value = log(weight)
        return value - MARGIN * (1 + abs(value)), value + MARGIN * (1 + abs(value))
    above, below = map(log, weight.as_integer_ratio())
    error = MARGIN * (1 + above + below)
    return above - below - error, above - below + error


def near(number: Number) -> Enclosure:
    """Return bounds of a rational number.

    >>> near(1.0)
    (1.0, 1.0)
    """
    if isinstance(number, float):
        return number, number
    try:
        value = float(number)
    except OverflowError:
        return -inf, inf
    return value - abs(value) * MARGIN - SMALL, value + abs(value) * MARGIN + SMALL


def plus(finite: Enclosure, noise: Enclosure) -> Enclosure:
    """Return bounds of the sum of a finite number and noise, which may be infinite.

    >>> plus((1.0, 1.0), (-float("inf"), -float("inf")))
    (-inf, -inf)
    """
    if noise[0] == noise[1]:
        return noise
    low, high = finite[0] + noise[0], finite[1] + noise[1]
    if not -inf < low <= high < inf:
        return -inf, inf
    return low - abs(low) * MARGIN, high + abs(high) * MARGIN


def best_first(
    scores: Sequence[tuple[int, Enclosure]], compare: Callable[[int, int], int], count: int
) -> list[int]:
    """Return the `count` tokens of the largest scores, largest first, equals by rising id.

    `scores` are tokens and bounds, by rising id; `compare(a, b)` decides exactly, -1, 0 or
    1 as the score of a is smaller, equal or larger. It is asked only where bounds meet.

    >>> best_first([(0, (1.0, 2.0)), (1, (1.5, 3.0)), (2, (0.0, 0.5))], lambda a, b: a - b, 2)
    [1, 0]
    """
    lows = sorted((low for _, (low, _) in scores), reverse=True)
    enough = lows[min(count, len(lows)) - 1]
    running = [(token, bounds) for token, bounds in scores if bounds[1] >= enough]

    def order(one: tuple[int, Enclosure], two: tuple[int, Enclosure]) -> int:
        (a, (low_a, high_a)), (b, (low_b, high_b)) = one, two
        if low_a > high_b:
            return -1
        if low_b > high_a:
            return 1
        return -compare(a, b) or a - b

    return [token for token, _ in sorted(running, key=cmp_to_key(order))[:count]]
