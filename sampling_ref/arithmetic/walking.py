"""Walks over weights: which place is the first to reach a share, first roughly, then exactly.

Three stages, each deciding what the one before it left open:

1. floats with a proven error bound (`float_weights`): all of a usual row, in milliseconds;
2. integers of 128 binary places: a share that agrees with a sum to 15 digits;
3. signs of sums of exponentials: everything, also equality (`exponential_sums`).

The third stage alone is the definition. The others only narrow the places that it is asked
about: running sums never fall, so a place that surely reaches the share settles all places
behind it, and one that surely does not all before it.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, islice
from math import inf

from sampling_ref.arithmetic.exponential_sums import exponential_bounds, sign_of_sum
from sampling_ref.arithmetic.float_weights import SMALLEST_SUM, relative_error
from sampling_ref.arithmetic.mass import Mass
from sampling_ref.row import Number

_BITS = 128


def by_floats(runs: Sequence[float], share: Fraction, mass: Mass, count: int) -> tuple[int, int]:
    """Return (low, high): the first place to reach the share is one of low to high.

    `runs` are running sums of at most `count` float weights, relative to the reference of
    `mass`. `high` may be `len(runs)`: no place reaches it.

    >>> from sampling_ref.arithmetic.mass import mass_of
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

    >>> from sampling_ref.arithmetic.mass import mass_of
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

    >>> from sampling_ref.arithmetic.mass import mass_of
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
