"""XTC, "exclude top choices".

Weidmann, "Exclude Top Choices (XTC): A sampler that boosts creativity, breaks writing
clichés, and inhibits non-verbatim repetition", 2024
(https://github.com/oobabooga/text-generation-webui/pull/6335). In our words:

    With some probability, remove all tokens whose probability is at least a threshold,
    except the least probable one of them.

Fewer than two
    Where only one token, or none, reaches the threshold, nothing is removed.
Equality
    A token exactly at the threshold counts as reaching it ("counts") or not ("does not").
Ties
    If several tokens share the place of the least probable one, one of them stays: the
    last one of a walk by falling probability and rising id has the highest id. With "all"
    every one of them stays.
The coin
    The uniform number of this step is given. The filter acts if it is at most the
    probability ("at most") or only if it is below it ("below"); with probability 0 it
    never acts.
High thresholds
    Two tokens cannot both have more than half of the mass, so a threshold above 1/2 never
    removes anything.
Least
    If fewer than `least` tokens would stay, nothing is removed at all.
Protected tokens
    They count like any other, but are not removed.
Impossible tokens
    A token of no weight is never kept, and never reaches the threshold.
Rounding
    There is none.
"""

from collections.abc import Collection
from fractions import Fraction
from typing import Any, Literal, get_args

from sampling_ref.numbers.orders import Ties
from sampling_ref.numbers.thresholds import probabilities_at_least
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.random.sources import read_uniform
from sampling_ref.row import Number, Row, TokenId, possible, read_possible_logits, read_weights

Equality = Literal["counts", "does not"]
Coin = Literal["at most", "below"]


def xtc(
    weights: Any,
    threshold: Number,
    *,
    probability: Number = 1,
    uniform: Number = 0,
    equality: Equality = "counts",
    ties: Ties = "highest id",
    coin: Coin = "at most",
    least: int = 1,
    protected: Collection[TokenId] = (),
) -> frozenset[TokenId]:
    """Return the ids of the tokens that stay.

    >>> sorted(xtc([0.5, 0.25, 0.125, 0.125], threshold=0.125))
    [3]
    >>> sorted(xtc([0.5, 0.25, 0.125, 0.125], threshold=0.2))
    [1, 2, 3]
    >>> sorted(xtc([0.5, 0.25, 0.125, 0.125], threshold=0.2, probability=0.5, uniform=0.75))
    [0, 1, 2, 3]
    """
    row = read_weights(weights)
    share = _read_choices(threshold, equality, ties, least)
    tokens = [token for token, weight in enumerate(row) if weight > 0]
    if not _acts(probability, uniform, coin):
        return frozenset(tokens)
    required = share * sum((Fraction(weight) for weight in row), start=Fraction(0))
    top = [
        token
        for token in tokens
        if row[token] > required or (row[token] == required and equality == "counts")
    ]
    return _staying(row, tokens, top, ties, least, protected)


def xtc_logits(
    logits: Any,
    threshold: Number,
    *,
    probability: Number = 1,
    uniform: Number = 0,
    equality: Equality = "counts",
    ties: Ties = "highest id",
    coin: Coin = "at most",
    least: int = 1,
    protected: Collection[TokenId] = (),
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens that stay.

    >>> sorted(xtc_logits([2.0, 1.0, 0.0], threshold=0.2))
    [1, 2]
    """
    row = read_possible_logits(logits)
    share = _read_choices(threshold, equality, ties, least)
    tokens = possible(row)
    if not _acts(probability, uniform, coin):
        return frozenset(tokens)
    top = probabilities_at_least(row, share, strictly=equality == "does not", factor=factor)
    return _staying(row, tokens, top, ties, least, protected)


def _read_choices(threshold: Number, equality: Equality, ties: Ties, least: int) -> Fraction:
    read_choice("equality", equality, get_args(Equality))
    read_choice("ties", ties, get_args(Ties))
    read_whole("least", least, 0)
    return read_fraction("threshold", threshold, "[0, 1]")


def _acts(probability: Number, uniform: Number, coin: Coin) -> bool:
    """Say whether the coin falls so that the filter acts."""
    read_choice("coin", coin, get_args(Coin))
    chance = read_fraction("probability", probability, "[0, 1]")
    read_uniform(uniform)
    return chance > 0 and (uniform < chance or (uniform == chance and coin == "at most"))


def _staying(
    row: Row,
    tokens: list[TokenId],
    top: list[TokenId],
    ties: Ties,
    least: int,
    protected: Collection[TokenId],
) -> frozenset[TokenId]:
    """Return the tokens without the top ones, but with the least probable of those."""
    if not top:
        return frozenset(tokens)
    lowest = min(row[token] for token in top)
    last = [token for token in top if row[token] == lowest]
    if ties != "all":
        last = [max(last) if ties == "highest id" else min(last)]
    staying = frozenset(tokens).difference(top).union(last, frozenset(protected).intersection(top))
    return staying if len(staying) >= least else frozenset(tokens)
