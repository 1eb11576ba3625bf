"""Drawing by inverse CDF: walk along the weights until a random share of them is behind.

Luc Devroye, "Non-Uniform Random Variate Generation", Springer 1986, section III.2
(http://luc.devroye.org/rnbookindex.html). In our words:

    Cut a stick as long as all weights together into one piece for each token, in the order
    of the walk. A random number u in [0, 1) is a place on the stick; draw the token
    whose piece it lies on.

The chance of a token is then the length of its piece, in any order. For one u the order
decides, and these points:

Order
    That of the vocabulary, or `order`: the token ids in an engine's own order (after a
    filter has sorted, say). Tokens that are not in it cannot be drawn and have no weight.
Boundary
    "exceed": the first token at which the running sum is greater than u times the total.
    A piece owns its beginning, as [0, 1) does. "reach": the first at which it is at least
    that much. They differ only where u lies exactly between two pieces.
Tokens without weight
    "never": not drawn, whatever u is. "as walked": what the comparison alone says. "reach"
    with u = 0 then draws the first token of the walk, even one of weight 0 (llama.cpp).
    Nothing else ever draws a token of weight 0, at either end of the walk or inside.
Rounding
    There is none. Weights and u are the rational numbers that they are, so the last token
    of positive weight owns everything up to 1. Given logits, the weights are the real
    numbers e**(factor * logit).
"""

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate
from math import inf, lcm
from typing import Any, Literal, TypeAlias, get_args

from sampling_ref.errors import ParameterError
from sampling_ref.history import is_token
from sampling_ref.numbers.reaching import first_reaching
from sampling_ref.parameters import read_choice
from sampling_ref.random.sources import read_uniform
from sampling_ref.row import Number, Row, TokenId, read_possible_logits, read_weights

Boundary: TypeAlias = Literal["exceed", "reach"]
"""Whether the running sum has to pass the random share of the total, or to meet it."""

ZeroWeight: TypeAlias = Literal["never", "as walked"]
"""Whether a token without weight may be drawn, where the comparison says so."""


def inverse_cdf(
    weights: Any,
    u: Number,
    *,
    order: Any = None,
    boundary: Boundary = "exceed",
    zero_weight: ZeroWeight = "never",
) -> TokenId:
    """Return the token that a random number in [0, 1) draws from a row of weights.

    >>> inverse_cdf([0.5, 0.25, 0.25], 0.5), inverse_cdf([0.5, 0.25, 0.25], 0.5, boundary="reach")
    (1, 0)
    >>> inverse_cdf([0.5, 0.25, 0.25], 0.5, order=[2, 1, 0])
    0
    >>> inverse_cdf([0.0, 1.0], 0.0, boundary="reach", zero_weight="as walked")
    0
    """
    row = read_weights(weights)
    share, tokens = _read(u, boundary, zero_weight), _read_order(order, len(row))
    if tokens is not None:
        row = read_weights([row[token] for token in tokens], "weights of the tokens in order")
    sums = list(accumulate(_whole_numbers(row)))
    target = share * sums[-1]
    if boundary == "exceed":
        place = bisect_right(sums, target)
    elif share == 0 and zero_weight == "never":
        place = bisect_right(sums, 0)
    else:
        place = bisect_left(sums, target)
    return place if tokens is None else tokens[place]


def inverse_cdf_of_logits(
    logits: Any,
    u: Number,
    *,
    order: Any = None,
    boundary: Boundary = "exceed",
    zero_weight: ZeroWeight = "never",
    factor: Number = 1,
) -> TokenId:
    """Return the token that a random number in [0, 1) draws; weights are e**(factor * logit).

    >>> inverse_cdf_of_logits([1.0, 1.0, float("-inf")], 0.5)
    1
    """
    row = read_possible_logits(logits)
    share, tokens = _read(u, boundary, zero_weight), _read_order(order, len(row))
    if tokens is not None:
        row = read_possible_logits(
            [row[token] for token in tokens], "logits of the tokens in order"
        )
    if boundary == "reach" and share == 0 and zero_weight == "never":
        place: int | None = next(place for place, logit in enumerate(row) if logit > -inf)
    else:
        place = first_reaching(row, share, strictly=boundary == "exceed", factor=factor)
    if place is None:
        raise AssertionError("the running sum ends at the total, and the share is below 1")
    return place if tokens is None else tokens[place]


def _read(u: Number, boundary: Boundary, zero_weight: ZeroWeight) -> Fraction:
    """Return the random number as a fraction, after checking it and the choices."""
    read_choice("boundary", boundary, get_args(Boundary))
    read_choice("zero_weight", zero_weight, get_args(ZeroWeight))
    return Fraction(read_uniform(u, "u"))


def _read_order(order: Any, size: int) -> list[TokenId] | None:
    """Return the walk as a list of different token ids of the row, or None for all of them."""
    if order is None:
        return None
    tokens = order.tolist() if hasattr(order, "tolist") else order
    try:
        tokens = list(tokens)
    except TypeError:
        raise ParameterError("order", order, "must be a sequence of token ids") from None
    for token in tokens:
        if not is_token(token, size):
            raise ParameterError("order", token, f"must hold token ids below {size}")
    if len(set(tokens)) < len(tokens):
        raise ParameterError("order", order, "must hold no token twice")
    return tokens


def _whole_numbers(row: Row) -> list[int]:
    """Return weights in the ratio of the given ones, as whole numbers."""
    ratios = [number.as_integer_ratio() for number in row]
    common = lcm(*{denominator for _, denominator in ratios})
    return [numerator * (common // denominator) for numerator, denominator in ratios]
