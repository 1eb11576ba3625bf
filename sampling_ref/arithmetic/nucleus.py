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
from fractions import Fraction
from itertools import accumulate
from math import inf

from sampling_ref.arithmetic.mass import Mass
from sampling_ref.arithmetic.float_weights import float_weights, relative_error
from sampling_ref.arithmetic.parameters import read_share
from sampling_ref.arithmetic.reaching import mass_for
from sampling_ref.arithmetic.selecting import Ties, check_ties
from sampling_ref.arithmetic.walking import by_floats, exactly
from sampling_ref.ordering import largest_first, largest_first_highest_id_first
from sampling_ref.row import Number, Row, TokenId, read_logits

_FEW = 4096
"""So many tokens are sorted rather than split."""

_SAMPLE = 2048
"""So many tokens are looked at to choose where to split."""


def nucleus(
    logits: Row,
    share: Number,
    *,
    strictly: bool = False,
    ties: Ties = "lowest_id_first",
    total: Row | Mass | None = None,
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the nucleus.

    >>> sorted(nucleus([0.0, 0.0, 0.0, 0.0], 0.5))
    [0, 1]
    >>> sorted(nucleus([0.0, 0.0, 0.0, 0.0], 0.5, strictly=True, ties="highest_id_first"))
    [1, 2, 3]
    >>> len(nucleus([0.0, 0.0, 0.0, 0.0], 0.5, ties="all"))
    4
    """
    check_ties(ties)
    wanted = read_share(share)
    row = read_logits(logits)
    mass = mass_for(row, total, factor)
    if wanted == 1 and total is None:
        return frozenset(token for token, logit in enumerate(row) if logit > -inf)
    weights = mass.weights if total is None else float_weights(row, mass.reference, mass.factor)
    passed: list[TokenId] = []
    left: list[TokenId] = list(range(len(row)))
    if weights is not None and mass.weights is not None and len(row) > _FEW:
        passed, left = _split(row, weights, wanted, mass)
    order = largest_first_highest_id_first if ties == "highest_id_first" else largest_first
    left = [left[place] for place in order([row[token] for token in left])]
    places = 0, len(left)
    if weights is not None and mass.weights is not None:
        start = sum([weights[token] for token in passed])
        runs = accumulate((weights[token] for token in left), initial=start)
        low, high = by_floats(list(runs), wanted, mass)
        places = max(0, low - 1), max(0, high - 1)
    if places[0] < places[1]:
        walked = [row[token] for token in (*passed, *left)]
        behind = places[0] + len(passed), places[1] + len(passed)
        end = exactly(walked, wanted, mass, behind, strictly=strictly) - len(passed)
    else:
        end = places[0]
    end += 1
    if ties == "all":
        while 0 < end < len(left) and row[left[end]] == row[left[end - 1]]:
            end += 1
    taken = [token for token in left[:end] if row[token] > -inf]
    return frozenset(passed + taken)


def _split(
    row: list[Number], weights: list[float], share: Fraction, mass: Mass
) -> tuple[list[TokenId], list[TokenId]]:
    """Return tokens that the walk surely passes, and those among which it ends.

    No token of the first list is smaller than one of the second, none of the others is
    larger than one of it.
    """
    target = float(share) * mass.total
    passed: list[TokenId] = []
    passed_sum = 0.0
    left: list[TokenId] | range = range(len(row))
    while len(left) > _FEW:
        low, high = _values_around(row, weights, left, target - passed_sum)
        if len(left) == len(row):
            above = [token for token, logit in enumerate(row) if logit > high]
            between = [token for token, logit in enumerate(row) if low <= logit <= high]
        else:
            above = [token for token in left if row[token] > high]
            between = [token for token in left if low <= row[token] <= high]
        above_sum = sum([weights[token] for token in above])
        between_sum = sum([weights[token] for token in between])
        error = 2 * relative_error(len(row)) * (passed_sum + above_sum + between_sum + target)
        if passed_sum + above_sum + error >= target:
            rest = above if passed_sum + above_sum - error > target else above + between
        elif passed_sum + above_sum + between_sum - error > target:
            passed += above
            passed_sum += above_sum
            rest = between
        else:
            passed += above
            passed_sum += above_sum
            rest = between + [token for token in left if row[token] < low]
        if len(rest) == len(left):  # only equals, or a bad sample: sorting is quick, or rare
            break
        left = rest
    return passed, list(left)
