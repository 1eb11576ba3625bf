"""Drawing by Gumbel-max: add noise to every logit and take the largest.

Emil Julius Gumbel, "Statistical Theory of Extreme Values and Some Practical Applications",
1954; as a draw: John Yellott, Journal of Mathematical Psychology 15, 1977; several at once:
Wouter Kool, Herke van Hoof, Max Welling, "Stochastic Beams and Where to Find Them", ICML 2019
(https://arxiv.org/abs/1903.06059). The rule:

    Each token gets its own random number u and the noise g = -log(-log u). The largest
    logit + g is the draw: its law is the softmax. The k largest are k draws without
    replacement, in that order.

Noise, u = 0, u near 1
    See `noise`: which number's logarithm is taken has two names.
Impossible tokens
    Minus infinity stays minus infinity: never drawn. Their random numbers are there and unused.
Equal scores
    By rising token id. Scores of equal logits are equal if their random numbers are.
Rounding
    There is none: the scores are compared as real numbers. Scores of different logits that
    agree to 200 digits give `UndecidedError` (that two be equal would need an equation
    between e**x and logarithms of rational numbers that nobody knows).
"""

from fractions import Fraction
from math import inf
from typing import Any

from sampling_ref.draws.noise import Noise, argument, best_first, gumbel, near, plus, read_noise
from sampling_ref.errors import ParameterError
from sampling_ref.numbers.reals import Real
from sampling_ref.parameters import read_fraction, read_whole
from sampling_ref.row import Number, TokenId, read_possible_logits


def gumbel_max(
    logits: Any, uniforms: Any, *, noise: Noise = "-log u", factor: Number = 1
) -> TokenId:
    """Return the token with the largest factor * logit + noise; one random number per token.

    >>> gumbel_max([0.0, 0.0], [0.25, 0.5]), gumbel_max([0.0, 0.0], [0.25, 0.5], noise="-log(1-u)")
    (1, 0)
    """
    return gumbel_top(logits, 1, uniforms, noise=noise, factor=factor)[0]


def gumbel_top(
    logits: Any, count: int, uniforms: Any, *, noise: Noise = "-log u", factor: Number = 1
) -> list[TokenId]:
    """Return the `count` tokens with the largest factor * logit + noise, largest first.

    >>> gumbel_top([0.0, 0.0, 0.0], 2, [0.5, 0.25, 0.75])
    [2, 0]
    """
    row, scale = read_possible_logits(logits), read_fraction("factor", factor, "(0, inf)")
    numbers = read_noise(uniforms, len(row), noise)
    possible = [token for token, logit in enumerate(row) if logit > -inf]
    if read_whole("count", count, 1) > len(possible):
        rule = f"must be at most the number of possible tokens, {len(possible)}"
        raise ParameterError("count", count, rule)

    def logit_of(token: TokenId) -> Number:
        return row[token] if scale == 1 else Fraction(row[token]) * scale

    def compare(a: TokenId, b: TokenId) -> int:
        p, q = argument(numbers[a], noise), argument(numbers[b], noise)
        logits = Fraction(logit_of(a)), Fraction(logit_of(b))
        if logits[0] == logits[1] or {p, q} & {0, 1}:
            return (p > q) - (p < q)
        score_a, score_b = (
            Real(logit) - (-Real(x).log()).log() for logit, x in zip(logits, (p, q), strict=True)
        )
        return 1 if score_a > score_b else -1

    scores = [
        (token, plus(near(logit_of(token)), gumbel(numbers[token], noise))) for token in possible
    ]
    return best_first(scores, compare, count)
