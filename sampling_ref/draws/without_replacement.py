"""Several different tokens from one row: draw, take the token out, draw again.

The successive draws of Devroye, "Non-Uniform Random Variate Generation", Springer 1986,
section XII.2; for weights, Robert Plackett, "The Analysis of Permutations", Applied
Statistics 24(2), 1975. The rule:

    Draw by inverse CDF. What remains, divided by its sum, are the weights of the next draw.

Another way with the same law
    is a race of which the first few are taken (`exponential_race_order`, `gumbel_top`): one
    random number per token instead of one per draw. torch does that.
Boundary, tokens without weight, rounding
    As in `inverse_cdf`. No division is needed: a draw takes shares of any total.
"""

from dataclasses import replace
from typing import Any

from sampling_ref.draws.inverse_cdf import Boundary, inverse_cdf
from sampling_ref.errors import ParameterError
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_whole
from sampling_ref.random.sources import read_uniforms
from sampling_ref.row import ReadRow, TokenId


def without_replacement(
    row: Any, count: int, uniforms: Any, *, boundary: Boundary = "exceed", numbers: Numbers = EXACT
) -> list[TokenId]:
    """Return `count` different tokens in the order they were drawn; one number per draw.

    >>> from sampling_ref import WEIGHTS
    >>> without_replacement([0.5, 0.25, 0.25], 2, [0.0, 0.5], numbers=WEIGHTS)
    [0, 2]
    >>> without_replacement([1.0, 1.0, 1.0], 2, [0.0, 0.5])
    [0, 2]
    """
    candidates = numbers.candidates(row)
    possible = len(numbers.of(candidates, "shares").possible())
    if read_whole("count", count, 1) > possible:
        rule = f"must be at most the number of tokens that can be drawn, {possible}"
        raise ParameterError("count", count, rule)
    left, drawn = ReadRow(candidates.logits), []
    for u in read_uniforms(uniforms, count):
        now = replace(candidates, logits=left)
        drawn.append(inverse_cdf(now, u, boundary=boundary, numbers=numbers))
        left = ReadRow(left)
        left[list(candidates.tokens).index(drawn[-1])] = numbers.impossible
    return drawn
