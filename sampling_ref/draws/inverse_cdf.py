"""Drawing by inverse CDF: walk along the weights until a random share of them is behind.

Luc Devroye, "Non-Uniform Random Variate Generation", Springer 1986, section III.2
(http://luc.devroye.org/rnbookindex.html). The rule:

    Cut a stick as long as all weights together into one piece for each token, in the order
    of the walk. A random number u in [0, 1) is a place on the stick; draw the token
    whose piece it lies on.

The chance of a token is then the length of its piece, in any order. For one u the order
decides, and these points:

Order
    The order of the vocabulary, or `order`: the token ids in an engine's own order (after a
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
    There is none in exact arithmetic: the last token of positive weight owns everything up
    to 1. In 32 bits the running sum may end below; then the last possible token is drawn.

Several different tokens (`without_replacement`): draw, take the token out, draw again.

The successive draws of Devroye, section XII.2; for weights, Robert Plackett, "The Analysis of
Permutations", Applied Statistics 24(2), 1975. What remains, divided by its sum, are the weights
of the next draw. No division is needed, because a draw takes shares of any total.

Another way with the same law
    is a race of which the first few are taken (`exponential_race_order`, `gumbel_top`): one
    random number per token instead of one per draw. torch does that.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import is_whole, read_choice, read_whole
from sampling_ref.random.sources import read_uniform, read_uniforms
from sampling_ref.row import Candidates, Number, ReadRow, TokenId

Boundary: TypeAlias = Literal["exceed", "reach"]
"""Whether the running sum has to pass the random share of the total, or to meet it."""

ZeroWeight: TypeAlias = Literal["never", "as walked"]
"""Whether a token without weight may be drawn, where the comparison says so."""


def inverse_cdf(
    row: Any,
    u: Number,
    *,
    order: Any = None,
    boundary: Boundary = "exceed",
    zero_weight: ZeroWeight = "never",
    numbers: Numbers = EXACT,
) -> TokenId:
    """Return the token that a random number in [0, 1) draws.

    `order` are places among the candidates: token ids, if the row is a bare row.

    >>> from sampling_ref import WEIGHTS
    >>> shares = [0.5, 0.25, 0.25]
    >>> inverse_cdf(shares, 0.5, numbers=WEIGHTS)
    1
    >>> inverse_cdf(shares, 0.5, boundary="reach", numbers=WEIGHTS)
    0
    >>> inverse_cdf(shares, 0.5, order=[2, 1, 0], numbers=WEIGHTS)
    0
    >>> inverse_cdf([1.0, 1.0, float("-inf")], 0.5)
    1
    """
    read_choice("boundary", boundary, get_args(Boundary))
    read_choice("zero_weight", zero_weight, get_args(ZeroWeight))
    share = Fraction(read_uniform(u, "u"))
    candidates = numbers.candidates(row)
    if order is not None:
        candidates = candidates.at(_read_order(order, len(candidates.tokens)))
        if not candidates.tokens:
            raise RowError("the tokens in order must hold at least one number, got none")
        if max(candidates.logits) <= numbers.impossible:
            raise RowError("the tokens in order leave no token possible")
    return token_at(candidates, share, boundary=boundary, zero_weight=zero_weight, numbers=numbers)


def token_at(
    candidates: Candidates,
    share: Fraction,
    *,
    boundary: Boundary,
    zero_weight: ZeroWeight,
    numbers: Numbers,
) -> TokenId:
    """Return the token on whose piece of the stick a share of it lies, walking in their order.

    >>> row = Candidates([4, 2], [0.0, 0.0])
    >>> half = Fraction(1, 2)
    >>> token_at(row, half, boundary="reach", zero_weight="never", numbers=EXACT)
    4
    """
    here = numbers.of(candidates, "shares")
    walk = list(range(len(here.values)))
    if zero_weight == "never":
        walk = [place for place in walk if here.values[place] > here.impossible]
    end = here.reaching(walk, share, strictly=boundary == "exceed", of="walk")
    if end is None:  # rounding left nothing beyond the last one
        end = max(n for n, place in enumerate(walk) if here.values[place] > here.impossible)
    return candidates.tokens[walk[end]]


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


def _read_order(order: Any, size: int) -> list[int]:
    """Return the walk as a list of different places of the row."""
    tokens = order.tolist() if hasattr(order, "tolist") else order
    try:
        tokens = list(tokens)
    except TypeError:
        raise ParameterError("order", order, "must be a sequence of token ids") from None
    for token in tokens:
        if not is_whole(token, most=size - 1):
            raise ParameterError("order", token, f"must hold token ids below {size}")
    if len(set(tokens)) < len(tokens):
        raise ParameterError("order", order, "must hold no token twice")
    return tokens
