"""Locally typical filtering.

Meister, Pimentel, Wiher and Cotterell, "Locally Typical Sampling", Transactions of the ACL
11, 2023, section 4 (https://arxiv.org/abs/2202.00666). In our words:

    Take the tokens in the order of |surprise - entropy|, the nearest first, where the
    surprise of a token is -log of its probability and the entropy is the mean surprise.
    Keep the first of them whose probabilities sum to at least the mass.

Boundary
    "reach": up to the token at which the sum is at least the mass, the definition.
    "exceed": up to the token at which the sum is strictly greater than the mass.
    "short": as long as the sum is below the mass: the token that carries the sum to the
    mass is lost; `least` keeps the first one nevertheless.
Ties
    Tokens equally far from the entropy, which may be two different probabilities, one on
    each side. "all": the equals of the last kept token are kept too. Otherwise they are
    taken one by one, by rising id or by falling id.
Least
    Never fewer than so many tokens, taken in the order above, equals by rising id; "all"
    does not add the equals of the last of these.
Impossible tokens
    A token of no weight has an infinite surprise. It is never kept and adds nothing to
    the entropy.
Rounding
    There is none, and every comparison is decided. Given logits, the distance is factor
    times |logit - mean logit|, and two different logits are equally far only if the mean
    lies exactly between them, which is impossible (see `whole_row`). Given weights, the
    distances are compared through the sign of a sum of logarithms of rational numbers;
    here different weights can be equally far: 1/2 and 1/4 in (1/2, 1/4, 1/4).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, Literal, TypeVar, get_args

from sampling_ref.numbers.logarithm_sums import sign_of_logarithms
from sampling_ref.numbers.orders import Ties
from sampling_ref.numbers.reaching import first_reaching
from sampling_ref.numbers.totals import side_of_mean
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Number, TokenId, possible, read_possible_logits, read_weights

Boundary = Literal["reach", "exceed", "short"]

Value = TypeVar("Value")


def typical(
    weights: Any,
    mass: Number,
    *,
    boundary: Boundary = "reach",
    ties: Ties = "all",
    least: int = 1,
) -> frozenset[TokenId]:
    """Return the ids of the most typical tokens, of at least the share `mass` together.

    The entropy of this row is 1.75 bits, and the surprises are 1, 2, 3 and 3 bits.

    >>> sorted(typical([0.5, 0.25, 0.125, 0.125], mass=0.25))
    [1]
    >>> sorted(typical([0.5, 0.25, 0.125, 0.125], mass=0.5))
    [0, 1]
    """
    row = read_weights(weights)
    share = _read_choices(mass, boundary, ties, least)
    ids: dict[Fraction, list[TokenId]] = {}
    for token, weight in enumerate(row):
        if weight > 0:
            ids.setdefault(Fraction(weight), []).append(token)
    total = sum(weight * len(tokens) for weight, tokens in ids.items())
    mean = [(-2 * weight * len(tokens) / total, weight) for weight, tokens in ids.items()]

    def side(one: Fraction, two: Fraction) -> int:
        return sign_of_logarithms([(1, one), (1, two), *mean])

    groups = [
        list(chain.from_iterable(ids[weight] for weight in group))
        for group in _nearest_first(sorted(ids), side)
    ]
    walk = _in_line(groups, ties)
    collected = Fraction(0)
    crossing: int | None = None
    for place, token in enumerate(walk):
        collected += Fraction(row[token])
        if collected > share * total or (collected == share * total and boundary != "exceed"):
            crossing = place
            break
    return _kept(groups, walk, crossing, boundary, ties, least)


def typical_logits(
    logits: Any,
    mass: Number,
    *,
    boundary: Boundary = "reach",
    ties: Ties = "all",
    least: int = 1,
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the most typical tokens, of at least the share `mass` together.

    >>> sorted(typical_logits([4.0, 1.0, 0.0, float("-inf")], mass=0.5))
    [0]
    >>> sorted(typical_logits([0.0, 0.0, float("-inf")], mass=0.25))
    [0, 1]
    """
    row = read_possible_logits(logits)
    share = _read_choices(mass, boundary, ties, least)
    scale = read_fraction("factor", factor, "(0, inf)")
    ids: dict[Number, list[TokenId]] = {}
    for token in possible(row):
        ids.setdefault(row[token], []).append(token)
    groups = [
        list(chain.from_iterable(ids[logit] for logit in group))
        for group in _nearest_first(sorted(ids), side_of_mean(row, scale))
    ]
    walk = _in_line(groups, ties)
    crossing = first_reaching(
        [row[token] for token in walk], share, strictly=boundary == "exceed", factor=scale
    )
    return _kept(groups, walk, crossing, boundary, ties, least)


def _nearest_first(
    values: Sequence[Value], side: Callable[[Value, Value], int]
) -> list[list[Value]]:
    """Return rising values by their distance from a mean, equally far ones together.

    `side(a, b)` is the sign of (a + b) / 2 - mean: positive if b is the farther one.
    """
    above = 0
    below = len(values)
    while above < below:  # bisect for the first value that is not below the mean
        middle = (above + below) // 2
        if side(values[middle], values[middle]) < 0:
            above = middle + 1
        else:
            below = middle
    below = above - 1
    groups: list[list[Value]] = []
    while below >= 0 and above < len(values):
        sign = side(values[below], values[above])
        groups.append([values[below]] * (sign >= 0) + [values[above]] * (sign <= 0))
        below -= sign >= 0
        above += sign <= 0
    groups += [[value] for value in values[below::-1] if below >= 0]
    groups += [[value] for value in values[above:]]
    return groups


def _in_line(groups: list[list[TokenId]], ties: Ties) -> list[TokenId]:
    return [token for group in groups for token in sorted(group, reverse=ties == "highest id")]


def _read_choices(mass: Number, boundary: Boundary, ties: Ties, least: int) -> Fraction:
    read_choice("boundary", boundary, get_args(Boundary))
    read_choice("ties", ties, get_args(Ties))
    read_whole("least", least, 0)
    return read_fraction("mass", mass, "(0, 1]")


def _kept(
    groups: list[list[TokenId]],
    walk: list[TokenId],
    crossing: int | None,
    boundary: Boundary,
    ties: Ties,
    least: int,
) -> frozenset[TokenId]:
    """Return the tokens up to the crossing one, as the choices have it."""
    if crossing is None:
        crossing = len(walk)
    count = crossing if boundary == "short" else crossing + 1
    if ties == "all":
        ends = 0
        for group in groups:
            if ends >= count:
                break
            ends += len(group)
        count = ends
    return frozenset(walk[: max(count, least)])
