"""Where a running sum of weights reaches a share of the total.

Top-p keeps tokens until their probabilities sum to p; a draw by inverse CDF takes the token
at which they pass a random number. Both are one question: in a list of logits, with the
weights e**(factor * logit), which entry is the first whose inclusive running sum is

    at least (or strictly more than)  share * (sum of all the weights)?

The weights are the real numbers, not floats, and the answer is exact: it is the sign of a
sum of exponentials (see `exponential_sums`).

The total
    is that of the same list, or of another one, as when few candidates of a row are walked
    but probabilities are those of the whole row. Then the share may never be reached.

A share of zero
    is reached by the first entry, whatever its weight. Strictly, it is reached by the
    first weight that is not zero.

A share of one
    of the same list is reached by its last weight that is not zero. Strictly, never.

Two stages decide it:

1. floats with a proven error bound (see `mass`): all of a usual row, in milliseconds;
2. signs of sums of exponentials: everything, also equality (`exponential_sums`).

The second stage alone is the definition. Floats only narrow down the places that it has to look
at. Running sums never fall, so a place that surely reaches the share settles all places behind
it, and one that surely does not all before it.

The nucleus
    is the smallest set of the largest logits that holds a share: what a walk from the largest
    logit down has passed where it reaches the share. `nucleus` finds it without sorting the
    row.

    Never reached: the nucleus is every possible token, where the total is that of a larger
    row, or where all of the weight is to be exceeded strictly.

    Why this is the same answer: the row is split at two values. All tokens above the upper
    one come first in the walk, in whatever order: only their sum counts. If it falls surely
    short of the share, and surely does not when the tokens between the values are added, the
    walk ends among those, and only those are sorted. If it does not fall short, the walk ends
    above; if the addition does, below; and the split is repeated there. How the two values
    are chosen (from a sample) changes the time, never the answer.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, islice
from math import inf

from sampling_ref.numbers.exponential_sums import sign_of_sum
from sampling_ref.numbers.mass import SMALLEST_SUM, Mass, relative_error
from sampling_ref.numbers.orders import in_order
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, Row, Ties, TokenId, read_logits


@dataclass(frozen=True)
class Goal:
    """A share of a mass, which a running sum of weights has to reach, or to exceed (strictly)."""

    mass: Mass
    share: Fraction
    strictly: bool = False

    def by_floats(self, runs: Sequence[float], count: int) -> tuple[int, int]:
        """Return (low, high): the first place to reach the share is one of low to high.

        `runs` are running sums of at most `count` float weights, relative to the reference of
        the mass. `high` may be `len(runs)`: no place reaches it.

        >>> Goal(Mass([0.0, 0.0, 0.0]), Fraction(1, 2)).by_floats([1.0, 2.0, 3.0], 3)
        (1, 1)
        """
        last = runs[-1]
        target = float(self.share) * self.mass.total
        if not last + target < inf:
            return 0, len(runs)
        error = relative_error(count + len(self.mass.row)) * (last + target) + SMALLEST_SUM
        return bisect_left(runs, target - error), bisect_right(runs, target + error)

    def by_signs(self, walked: Sequence[Number], low: int, high: int) -> int:
        """Return the first place to reach the share, one of low to high, by the definition.

        >>> Goal(Mass([0.0] * 3), Fraction(2, 3), strictly=True).by_signs([0.0] * 3, 0, 3)
        2
        """
        if low == high:
            return low
        part, whole = self.share.as_integer_ratio()
        demanded = {logit: -part * count for logit, count in Counter(self.mass.row).items()}

        def reaches(place: int) -> bool:
            terms = dict(demanded)
            for logit, count in Counter(islice(walked, place + 1)).items():
                terms[logit] = terms.get(logit, 0) + whole * count
            sign = sign_of_sum(terms, self.mass.factor)
            return sign > 0 or (sign == 0 and not self.strictly)

        # `bisect` looks for the first True; places before the first one are left out.
        return bisect_left(range(high), True, lo=low, key=reaches)


def first_reaching(
    logits: Row,
    share: Number,
    *,
    strictly: bool = False,
    total: Row | None = None,
    factor: Number = 1,
) -> int | None:
    """Return the index of the first entry whose running sum reaches a share of the total.

    `logits` are in the order of the walk; minus infinity has no weight. `share` lies in
    [0, 1]. None if the share is never reached.

    >>> first_reaching([0.0, 0.0, 0.0, 0.0], 0.5), first_reaching([0.0] * 4, 0.5, strictly=True)
    (1, 2)
    >>> first_reaching([1.0], 0.75, total=[1.0, 1.0]) is None
    True
    """
    wanted = read_fraction("share", share, "[0, 1]")
    walked = read_logits(logits)
    mass = Mass(walked, factor) if total is None else Mass(total, factor, "total")
    if not wanted:
        return next((n for n, x in enumerate(walked) if x > -inf), None) if strictly else 0
    if wanted == 1 and total is None:
        return None if strictly else max(n for n, x in enumerate(walked) if x > -inf)
    weights = mass.weights_of(walked)
    goal, places = Goal(mass, wanted, strictly), (0, len(walked))
    if weights is not None:
        places = goal.by_floats(list(accumulate(weights)), len(walked))
    place = goal.by_signs(walked, *places)
    return place if place < len(walked) else None


_FEW = 8192
"""The number of tokens up to which a row is sorted rather than split."""

_SAMPLE = 4096
"""The number of tokens that are looked at to choose where to split."""

_MARGIN = 96
"""How many of these lie on each side of the likely end of the walk: some three deviations."""


def nucleus(
    logits: Row,
    share: Number,
    *,
    strictly: bool = False,
    ties: Ties = "lowest id",
    total: Row | None = None,
    factor: Number = 1,
) -> list[TokenId]:
    """Return the rising ids of the nucleus; of equals, "all" takes those of the lowest ids first.

    >>> nucleus([0.0, 0.0, 0.0, 0.0], 0.5)
    [0, 1]
    >>> nucleus([0.0, 0.0, 0.0, 0.0], 0.5, strictly=True, ties="highest id")
    [1, 2, 3]
    """
    wanted = read_fraction("share", share, "[0, 1]")
    row = read_logits(logits)
    mass = Mass(row, factor) if total is None else Mass(total, factor, "total")
    if wanted == 1 and total is None:
        return [token for token, logit in enumerate(row) if logit > -inf]
    weights = mass.weights_of(row)
    passed: list[TokenId] = []
    goal, places = Goal(mass, wanted, strictly), (0, len(row))
    if weights is None:
        left = in_order(row, list(range(len(row))), ties)
    else:
        passed, passed_sum, left = _split(row, weights, goal)
        left = in_order(row, left, ties)
        runs = list(accumulate([weights[token] for token in left], initial=passed_sum))
        low, high = goal.by_floats(runs, len(row))
        places = max(0, low - 1), max(0, high - 1)
    end = places[0]
    if places[0] < places[1]:
        walked = [row[token] for token in (*passed, *left)]
        behind = len(passed) + places[0], len(passed) + places[1]
        end = goal.by_signs(walked, *behind) - len(passed)
    taken = left[: end + 1]
    if taken and row[taken[-1]] == -inf:  # these come last
        taken = [token for token in taken if row[token] > -inf]
    passed += taken
    passed.sort()
    return passed


def _split(
    row: Sequence[Number], weights: list[float], goal: Goal
) -> tuple[list[TokenId], float, list[TokenId]]:
    """Return tokens that the walk surely passes, their sum, and by rising id where it ends."""
    row = list(row)  # Python looks things up in it faster than in a subclass
    target = float(goal.share) * goal.mass.total
    relative = relative_error(len(row) + len(goal.mass.row))
    passed: list[TokenId] = []
    passed_sum = 0.0
    left: Sequence[TokenId] = range(len(row))
    left_sum = goal.mass.total if weights is goal.mass.weights else sum(weights)
    while len(left) > _FEW:
        low, high, few_above = _values_around(row, weights, left, passed_sum + left_sum - target)
        if low == -inf:
            left = [token for token in left if row[token] > -inf]
        if few_above:
            some = [token for token in left if row[token] >= low]
            above = [token for token in some if row[token] > high]
        else:
            some = [token for token in left if row[token] <= high]
            above = [token for token in left if row[token] > high]
        above_sum = sum([weights[token] for token in above])
        between = [token for token in some if low <= row[token] <= high]
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
            passed, passed_sum = passed + above + between, until_between
            rest = [token for token in left if row[token] < low]
            left_sum = sum([weights[token] for token in rest])
        if len(rest) == len(left):  # only equals, which are sorted quickly
            break
        left = rest
    return passed, passed_sum, list(left)


def _values_around(
    row: Sequence[Number], weights: list[float], left: Sequence[TokenId], tail: float
) -> tuple[Number, Number, bool]:
    """Return two values, between which the walk probably ends, and whether few lie above.

    `tail` is the weight that stays behind. Its tokens are many and light, so a sample
    shows where it ends; the weight in front is often that of a few tokens no sample holds.
    """
    step = len(left) // _SAMPLE | 1  # an odd step: rows may repeat after 2, 4, 8 ... tokens
    tokens = left[::step]
    logits = sorted([row[token] for token in tokens])
    runs = list(accumulate(sorted([weights[token] for token in tokens])))
    place = bisect_left(runs, tail / step)
    low, high = min(place, len(logits) - 1) - _MARGIN, place + _MARGIN
    return (
        logits[low] if low >= 0 else -inf,
        logits[high] if high < len(logits) else inf,
        2 * place > len(logits),
    )
