"""Steering a text by its surprise: what the samplers that do so have in common.

The surprise of a token is -log2 of its probability, in bits (Shannon, "A Mathematical
Theory of Communication", 1948, section 6). Such a sampler keeps some tokens, draws one, and
measures how surprising that was.

Whose surprise
    "whole": the drawn token's in the distribution before anything was removed. "kept": in
    the distribution that it was drawn from.
The draw
    Tokens are walked by falling probability and rising id; the first one is drawn whose
    running share of the kept weight is at least the random number given.
Rounding
    The draw is decided exactly. The surprise is the nearest float, and what follows from
    it is calculated with plain operators.
"""

from collections.abc import Collection
from fractions import Fraction
from typing import Literal, get_args

from sampling_ref.numbers.orders import largest_first
from sampling_ref.numbers.reaching import first_reaching
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.totals import log_of_sum
from sampling_ref.parameters import read_choice, read_fraction
from sampling_ref.random.sources import read_uniform
from sampling_ref.row import Number, Row, TokenId, possible

Whose = Literal["whole", "kept"]


def surprise(logits: Row, token: TokenId, among: Collection[TokenId], factor: Fraction) -> float:
    """Return the surprise of a token in bits, as the nearest float.

    Its probability is e**(factor * logit), divided by the sum of that over the tokens in
    `among`, of which it is one.

    >>> surprise([1.0, 1.0, 1.0, 1.0], 2, range(4), Fraction(1))
    2.0
    >>> surprise([1.0, 1.0, 1.0, 1.0], 2, {2}, Fraction(1))
    0.0
    """
    count = len(among)
    if count & (count - 1) == 0 and len({logits[other] for other in among}) == 1:
        return float(count.bit_length() - 1)  # a power of two: a whole number of bits
    total = log_of_sum([logits[other] for other in among], factor)
    return float((total - Fraction(logits[token]) * factor) / Real(2).log())


def next_mu(
    logits: Row,
    kept: Collection[TokenId],
    token: TokenId,
    mu: Number,
    *,
    tau: Number,
    eta: Number,
    whose: Whose = "whole",
    factor: Number = 1,
) -> Number:
    """Return mu, lowered by eta times what the surprise of the drawn token exceeds tau by.

    >>> next_mu([0.0, 0.0, 0.0, 0.0], {0, 1}, 0, 4.0, tau=1.5, eta=0.5)
    3.75
    >>> next_mu([0.0, 0.0, 0.0, 0.0], {0, 1}, 0, 4.0, tau=1.5, eta=0.5, whose="kept")
    4.25
    """
    read_choice("whose", whose, get_args(Whose))
    for name, number in (("mu", mu), ("tau", tau), ("eta", eta)):
        read_fraction(name, number, "(-inf, inf)")
    scale = read_fraction("factor", factor, "(0, inf)")
    among = kept if whose == "kept" else possible(logits)
    return mu - eta * (surprise(logits, token, among, scale) - tau)


def draw_falling(
    logits: Row, kept: Collection[TokenId], uniform: Number, *, factor: Number = 1
) -> TokenId:
    """Return the kept token that a random number in [0, 1) draws, likely tokens first.

    >>> [draw_falling([0.0, 1.0, 1.0], {1, 2}, uniform) for uniform in (0.0, 0.5, 0.75)]
    [1, 1, 2]
    """
    read_uniform(uniform)
    walk = [token for token in largest_first(logits) if token in kept]
    place = first_reaching([logits[token] for token in walk], uniform, factor=factor)
    assert place is not None  # noqa: S101 - a share below 1 is reached
    return walk[place]
