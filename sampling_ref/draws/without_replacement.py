"""Several different tokens from one row: draw, take the token out, draw again.

The successive draws of Devroye, "Non-Uniform Random Variate Generation", Springer 1986,
section XII.2; for weights, Robert Plackett, "The Analysis of Permutations", Applied
Statistics 24(2), 1975. In our words:

    Draw by inverse CDF. What remains, divided by its sum, are the weights of the next draw.

Another way with the same law
    is a race of which the first few are taken (`exponential_race_order`, `gumbel_top`): one
    random number per token instead of one per draw. torch does that.
Boundary, tokens without weight, rounding
    As in `inverse_cdf`. No division is needed: a draw takes shares of any total.
"""

from fractions import Fraction
from math import inf
from typing import Any

from sampling_ref.draws.inverse_cdf import Boundary, inverse_cdf, inverse_cdf_of_logits
from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_whole
from sampling_ref.random.sources import read_uniforms
from sampling_ref.row import Number, TokenId, read_possible_logits, read_weights


def without_replacement(
    weights: Any,
    count: int,
    uniforms: Any,
    *,
    boundary: Boundary = "exceed",
) -> list[TokenId]:
    """Return `count` different tokens in the order they were drawn; one number per draw.

    >>> without_replacement([0.5, 0.25, 0.25], 2, [0.0, 0.5])
    [0, 2]
    """
    row = read_weights(weights)
    numbers = _read(count, sum(weight > 0 for weight in row), uniforms)
    drawn: list[TokenId] = []
    for u in numbers:
        drawn.append(inverse_cdf(row, u, boundary=boundary))
        row[drawn[-1]] = Fraction(0)
    return drawn


def without_replacement_of_logits(
    logits: Any,
    count: int,
    uniforms: Any,
    *,
    boundary: Boundary = "exceed",
    factor: Number = 1,
) -> list[TokenId]:
    """Return `count` different tokens in the order drawn; weights are e**(factor * logit).

    >>> without_replacement_of_logits([1.0, 1.0, 1.0], 2, [0.0, 0.5])
    [0, 2]
    """
    row = read_possible_logits(logits)
    numbers = _read(count, sum(logit > -inf for logit in row), uniforms)
    drawn: list[TokenId] = []
    for u in numbers:
        drawn.append(inverse_cdf_of_logits(row, u, boundary=boundary, factor=factor))
        row[drawn[-1]] = -inf
    return drawn


def _read(count: int, possible: int, uniforms: Any) -> list[Number]:
    if read_whole("count", count, 1) > possible:
        rule = f"must be at most the number of tokens that can be drawn, {possible}"
        raise ParameterError("count", count, rule)
    return read_uniforms(uniforms, count)
