"""What fits below a share of a total, taken in order: larger tokens make smaller ones leave.

Each token is taken, and while more than one is held and their weights sum to more than the
share, the one of the smallest weight leaves, of equals the one that stands first. Whoever
has left is not asked again, so that later and smaller tokens may fit where it did not.

On logits the weights are the real numbers e**(factor * logit). Enclosures of so many binary
places decide whether a sum is above the share, the sign of a sum of exponentials what they
leave open.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import inf

from sampling_ref.numbers.exponential_sums import exponential_bounds, sign_of_sum
from sampling_ref.row import Number, Row

_PLACES = 128


def fitting(weights: Sequence[Number], most: Fraction) -> frozenset[int]:
    """Return the places of the weights that fit below `most`; zeros never do.

    >>> sorted(fitting([0.5, 0.25, 0.125, 0.125], Fraction(5, 8)))
    [0, 3]
    """
    numbers = [Fraction(weight) for weight in weights]
    held: list[Fraction] = [Fraction(0)]

    def changed(place: int, sign: int) -> None:
        held[0] += sign * numbers[place]

    places = [place for place, number in enumerate(numbers) if number > 0]
    return _taken(weights, places, changed, lambda: held[0] > most)


def fitting_logits(
    logits: Row, share: Fraction, *, total: Row | None = None, factor: Fraction = Fraction(1)
) -> frozenset[int]:
    """Return the places of the logits whose weights fit below a share of the total weight.

    `total` is the row of logits that the share refers to, by default this one.

    >>> sorted(fitting_logits([0.0, 0.0, 0.0, 0.0], Fraction(1, 2)))
    [2, 3]
    >>> sorted(fitting_logits([3.0, 2.5, 1.0], Fraction(3, 4)))
    [0, 2]
    """
    whole = Counter(logits if total is None else total)
    values = list({*logits, *whole})
    bounds = exponential_bounds(values, max(values), factor, _PLACES)
    enclosed = dict(zip(values, bounds, strict=True))
    least, most = (
        share * sum(count * enclosed[logit][end] for logit, count in whole.items())
        for end in (0, 1)
    )
    counts: Counter[Number] = Counter()
    held = [0, 0]

    def changed(place: int, sign: int) -> None:
        counts[logits[place]] += sign
        for end, bound in enumerate(enclosed[logits[place]]):
            held[end] += sign * bound

    def is_too_much() -> bool:
        if held[0] > most or held[1] < least:
            return held[0] > most
        terms = {logit: -share * count for logit, count in whole.items()}
        for logit, count in counts.items():
            terms[logit] = terms.get(logit, Fraction(0)) + count
        return sign_of_sum(terms, factor) > 0

    places = [place for place, logit in enumerate(logits) if logit > -inf]
    return _taken(logits, places, changed, is_too_much)


def _taken(
    row: Sequence[Number],
    places: Sequence[int],
    changed: Callable[[int, int], None],
    is_too_much: Callable[[], bool],
) -> frozenset[int]:
    """Take the places one after the other; `changed` is told who enters (1) and leaves (-1)."""
    heap: list[tuple[Number, int]] = []
    for place in places:
        heappush(heap, (row[place], place))
        changed(place, 1)
        while len(heap) > 1 and is_too_much():
            changed(heappop(heap)[1], -1)
    return frozenset(place for _, place in heap)
