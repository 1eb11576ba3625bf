"""Where a running sum of weights reaches a share of the total.

Top-p keeps tokens until their probabilities sum to p; a draw by inverse CDF takes the token
at which they pass a random number. Both are one question: in a list of logits, with the
weights e**(factor * logit), which entry is the first whose inclusive running sum is

    at least (or strictly more than)  share * (sum of all the weights)?

The weights are the real numbers, not floats, and the answer is exact: it is the sign of a
sum of exponentials (see `exponential_sums`; `walking` gets there quickly).

The total
    is that of the same list, or of another one, as when few candidates of a row are walked
    but probabilities are those of the whole row. Then the share may never be reached. A
    `Mass` in place of a row is not computed again.

A share of zero
    is reached by the first entry, whatever its weight. Strictly, it is reached by the
    first weight that is not zero.

A share of one
    of the same list is reached by its last weight that is not zero. Strictly, never.

Three stages decide it, each what the one before left open:

1. floats with a proven error bound (`float_weights`): all of a usual row, in milliseconds;
2. integers of 128 binary places: a share that agrees with a sum to 15 digits;
3. signs of sums of exponentials: everything, also equality (`exponential_sums`).

The third stage alone is the definition. The others only narrow down the places that it has to
look at. Running sums never fall, so a place that surely reaches the share settles all places
behind it, and one that surely does not all before it.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, islice
from math import inf

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.exponential_sums import exponential_bounds, sign_of_sum
from sampling_ref.numbers.float_weights import SMALLEST_SUM, relative_error
from sampling_ref.numbers.mass import Mass, mass_of
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, Row, read_logits, read_possible_logits

_BITS = 128


def by_floats(runs: Sequence[float], share: Fraction, mass: Mass, count: int) -> tuple[int, int]:
    """Return (low, high): the first place to reach the share is one of low to high.

    `runs` are running sums of at most `count` float weights, relative to the reference of
    `mass`. `high` may be `len(runs)`: no place reaches it.

    >>> from sampling_ref.numbers.mass import mass_of
    >>> by_floats([1.0, 2.0, 3.0], Fraction(1, 2), mass_of([0.0, 0.0, 0.0]), 3)
    (1, 1)
    """
    last = runs[-1]
    target = float(share) * mass.total
    if not last + target < inf:
        return 0, len(runs)
    error = relative_error(count + len(mass.row)) * (last + target) + SMALLEST_SUM
    return bisect_left(runs, target - error), bisect_right(runs, target + error)


def exactly(
    walked: Sequence[Number],
    share: Fraction,
    mass: Mass,
    places: tuple[int, int],
    *,
    strictly: bool,
) -> int:
    """Return the first place in `walked` that reaches the share, or its length.

    It must be one of places[0] to places[1].

    >>> from sampling_ref.numbers.mass import mass_of
    >>> exactly([0.0] * 3, Fraction(2, 3), mass_of([0.0] * 3), (0, 3), strictly=False)
    1
    """
    low, high = places
    if low < high:
        low, high = _by_integers(walked, share, mass, places, strictly=strictly)
    if low < high:
        low = by_signs(walked, share, mass, (low, high), strictly=strictly)
    return low


def _by_integers(
    walked: Sequence[Number],
    share: Fraction,
    mass: Mass,
    places: tuple[int, int],
    *,
    strictly: bool,
) -> tuple[int, int]:
    """Return closer places, from enclosures of every weight up to the last place."""
    counts = Counter(islice(walked, places[1]))
    largest = max(mass.largest, *counts)
    logits = list(counts)
    enclosures = exponential_bounds(logits, largest, mass.factor, _BITS)
    bounds = dict(zip(logits, enclosures, strict=True))
    if largest == mass.largest:
        total = mass.exact.bounds(_BITS)
        assert total is not None  # noqa: S101 - a sum of positive terms has an enclosure
    else:
        enclosures = exponential_bounds(mass.row, largest, mass.factor, _BITS)
        total = sum(low for low, _ in enclosures), sum(high for _, high in enclosures)
    part, whole = share.as_integer_ratio()
    found: list[int] = []
    # A place surely fails while even its upper end falls short of the lower end of the
    # target, and surely reaches where its lower end reaches the upper end of the target.
    for side, target in ((1, part * total[0]), (0, part * total[1])):
        runs = list(accumulate(bounds[logit][side] for logit in islice(walked, places[1])))
        if strictly:
            found.append(bisect_right(runs, target // whole))
        else:
            found.append(bisect_left(runs, -(-target // whole)))
    return max(places[0], found[0]), min(places[1], found[1])


def by_signs(
    walked: Sequence[Number],
    share: Fraction,
    mass: Mass,
    places: tuple[int, int],
    *,
    strictly: bool,
) -> int:
    """Return the first of the places to reach the share, by the definition.

    >>> from sampling_ref.numbers.mass import mass_of
    >>> by_signs([0.0] * 3, Fraction(2, 3), mass_of([0.0] * 3), (0, 3), strictly=True)
    2
    """
    part, whole = share.as_integer_ratio()
    demanded = {logit: -part * count for logit, count in Counter(mass.row).items()}

    def reaches(place: int) -> bool:
        terms = dict(demanded)
        for logit, count in Counter(islice(walked, place + 1)).items():
            terms[logit] = terms.get(logit, 0) + whole * count
        sign = sign_of_sum(terms, mass.factor)
        return sign > 0 or (sign == 0 and not strictly)

    # `bisect` looks for the first True; places before the first one are left out.
    return bisect_left(range(places[1]), True, lo=places[0], key=reaches)


def first_reaching(
    logits: Row,
    share: Number,
    *,
    strictly: bool = False,
    total: Row | Mass | None = None,
    factor: Number = 1,
) -> int | None:
    """Return the index of the first entry whose running sum reaches a share of the total.

    `logits` stand in the order of the walk; minus infinity has no weight. `share` lies in
    [0, 1]. None if the share is never reached.

    >>> first_reaching([0.0, 0.0, 0.0, 0.0], 0.5), first_reaching([0.0] * 4, 0.5, strictly=True)
    (1, 2)
    >>> first_reaching([1.0], 0.75, total=[1.0, 1.0]) is None
    True
    """
    wanted = read_fraction("share", share, "[0, 1]")
    walked = read_logits(logits)
    mass = mass_for(walked, total, factor)
    if not wanted:
        return next((n for n, x in enumerate(walked) if x > -inf), None) if strictly else 0
    if wanted == 1 and total is None:
        return None if strictly else last_possible(walked)
    weights = mass.weights_of(walked)
    places = 0, len(walked)
    if weights is not None:
        places = by_floats(list(accumulate(weights)), wanted, mass, len(walked))
    place = exactly(walked, wanted, mass, places, strictly=strictly)
    return place if place < len(walked) else None


def mass_for(walked: list[Number], total: Row | Mass | None, factor: Number) -> Mass:
    """Return the mass that a share is taken of: the walked list's, another row's or a given one.

    >>> mass_for([0.5], [0.5, 0.5], 1).exact
    Real(2)
    """
    if isinstance(total, Mass):
        if total.factor != read_fraction("factor", factor, "(0, inf)"):
            raise ParameterError("factor", factor, f"must be that of the total, {total.factor}")
        return total
    if total is None:
        mass = Mass(walked, read_fraction("factor", factor, "(0, inf)"))
        if mass.largest == -inf:
            read_possible_logits(walked)  # which says so
        return mass
    return mass_of(total, factor=factor, name="total")


def last_possible(logits: list[Number]) -> int:
    """Return the index of the last logit that is not minus infinity, of a row that has one.

    >>> last_possible([0.5, 0.5, float("-inf")])
    1
    """
    return next(n for n in range(len(logits) - 1, -1, -1) if logits[n] > -inf)
