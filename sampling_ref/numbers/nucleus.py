"""The smallest set of the largest logits that holds a share of the weight.

Walk a row from its largest logit down; the nucleus is what has been passed when the
running sum of the weights e**(factor * logit) reaches the share (see `reaching`). This is
the whole of top-p on logits; here it is found without sorting the row.

Never reached
    The nucleus is every possible token: where the total is that of a larger row, or where
    all of the weight is to be exceeded strictly.

Ties
    The equals of the last token are taken by id, lowest first or highest first, or all.

Why this is the same answer
    The row is split at two values. All tokens above the upper one come first in the walk,
    in whatever order: only their sum counts. If it falls surely short of the share, and
    surely does not when the tokens between the values are added, the walk ends among those,
    and only those are sorted. If it does not fall short, the walk ends above; if the
    addition does, below; and the split is repeated there. How the two values are chosen
    (from a sample) changes the time, never the answer.
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, takewhile
from math import inf
from typing import get_args

from sampling_ref.numbers.float_weights import SMALLEST_SUM, relative_error
from sampling_ref.numbers.mass import Mass
from sampling_ref.numbers.orders import Ties, in_order
from sampling_ref.numbers.reaching import by_floats, exactly, mass_for
from sampling_ref.parameters import read_choice, read_fraction
from sampling_ref.row import Number, Row, TokenId, read_logits

_FEW = 8192
"""So many tokens are sorted rather than split."""

_SAMPLE = 4096
"""So many tokens are looked at to choose where to split."""

_MARGIN = 96
"""So many of these lie on each side of the likely end of the walk, some three deviations."""


def nucleus(
    logits: Row,
    share: Number,
    *,
    strictly: bool = False,
    ties: Ties = "lowest id",
    total: Row | Mass | None = None,
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the nucleus.

    >>> sorted(nucleus([0.0, 0.0, 0.0, 0.0], 0.5))
    [0, 1]
    >>> sorted(nucleus([0.0, 0.0, 0.0, 0.0], 0.5, strictly=True, ties="highest id"))
    [1, 2, 3]
    >>> len(nucleus([0.0, 0.0, 0.0, 0.0], 0.5, ties="all"))
    4
    """
    read_choice("ties", ties, get_args(Ties))
    wanted = read_fraction("share", share, "[0, 1]")
    row = read_logits(logits)
    mass = mass_for(row, total, factor)
    if wanted == 1 and total is None:
        return frozenset(token for token, logit in enumerate(row) if logit > -inf)
    weights = mass.weights_of(row)
    passed: list[TokenId] = []
    places = 0, len(row)
    if weights is None:
        left = in_order(row, list(range(len(row))), ties)
    else:
        passed, left = _split(row, weights, wanted, mass)
        left = in_order(row, left, ties)
        start = sum([weights[token] for token in passed])
        runs = list(accumulate([weights[token] for token in left], initial=start))
        low, high = by_floats(runs, wanted, mass, len(row))
        places = max(0, low - 1), max(0, high - 1)
    end = places[0]
    if places[0] < places[1]:
        walked = [row[token] for token in (*passed, *left)]
        behind = len(passed) + places[0], len(passed) + places[1]
        end = exactly(walked, wanted, mass, behind, strictly=strictly) - len(passed)
    taken = left[: end + 1]
    if ties == "all" and taken:
        last = row[taken[-1]]
        taken += takewhile(lambda token: row[token] == last, left[end + 1 :])
    if taken and row[taken[-1]] == -inf:  # these come last
        taken = [token for token in taken if row[token] > -inf]
    return frozenset(passed + taken)


def _split(
    row: Sequence[Number], weights: list[float], share: Fraction, mass: Mass
) -> tuple[list[TokenId], list[TokenId]]:
    """Return tokens that the walk surely passes, and those among which it ends, by rising id."""
    target = float(share) * mass.total
    relative = relative_error(len(row) + len(mass.row))
    passed: list[TokenId] = []
    passed_sum = 0.0
    left: Sequence[TokenId] = range(len(row))
    left_sum = sum(weights)
    while len(left) > _FEW:
        low, high = _values_around(row, weights, left, passed_sum + left_sum - target)
        if len(left) == len(row) and low > -inf:
            at_least = [token for token, logit in enumerate(row) if logit >= low]
        else:
            at_least = [token for token in left if row[token] >= low and row[token] > -inf]
        above = [token for token in at_least if row[token] > high] if high < inf else []
        above_sum = sum([weights[token] for token in above])
        between = [token for token in at_least if row[token] <= high] if above else at_least
        between_sum = sum([weights[token] for token in between])
        until_above = passed_sum + above_sum
        until_between = until_above + between_sum
        error = relative * (passed_sum + left_sum + target) + SMALLEST_SUM
        if until_above - error > target:
            rest, left_sum = above, above_sum
        elif until_above + error >= target:
            break  # floats cannot tell
        elif until_between - error > target:
            passed, passed_sum = passed + above, until_above
            rest, left_sum = between, between_sum
        elif until_between + error >= target:
            break
        else:
            passed, passed_sum = passed + at_least, until_between
            rest = [token for token in left if row[token] < low]
            left_sum = sum([weights[token] for token in rest])
        if len(rest) == len(left):  # only equals, which are sorted quickly
            break
        left = rest
    return passed, list(left)


def _values_around(
    row: Sequence[Number], weights: list[float], left: Sequence[TokenId], tail: float
) -> tuple[Number, Number]:
    """Return two values, between which the walk probably ends.

    `tail` is the weight that stays behind. Its tokens are many and light, so a sample
    shows where it ends; the weight in front is often that of a few tokens no sample holds.
    """
    step = len(left) // _SAMPLE | 1  # an odd step: rows may repeat after 2, 4, 8 ... tokens
    tokens = left[::step]
    logits = sorted([row[token] for token in tokens])
    runs = list(accumulate(sorted([weights[token] for token in tokens])))
    place = bisect_left(runs, tail / step)
    low, high = min(place, len(logits) - 1) - _MARGIN, place + _MARGIN
    return logits[low] if low >= 0 else -inf, logits[high] if high < len(logits) else inf
