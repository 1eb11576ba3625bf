"""Tail-free filtering.

Bricken, "Tail Free Sampling", 2021 (https://www.trentonbricken.com/Tail-Free-Sampling/). The
rule:

    Sort the probabilities, largest first. The tail begins where the curve becomes flat:
    take the second differences without their signs, scale them to sum 1, and cut where
    their running sum passes z.

The second difference i is made of the probabilities i, i + 1 and i + 2, so that n tokens
have n - 2 of them, and a cut in the differences has to be translated into a cut in the
tokens. Programs do that in two ways.

Cut
    "centred": as many tokens as there are second differences whose running sum is at most
    z, and one more. The first token is always kept and the last one never, even with
    z = 1. "counted": as many tokens as there are such differences (`least` apart); if none
    of the sums passes z, all tokens are kept.
Flat rows
    If all second differences are zero, there is no scale. "centred" then removes nothing
    but the last token. "counted" shares out evenly: each difference counts 1 / (n - 2).
Few tokens
    One or two tokens have no second difference. They are kept.
Equality
    A running sum of exactly z has not passed it.
Ties
    Equal probabilities are taken by rising id, by falling id, or the equals of the last
    kept token are kept too ("all").
Impossible tokens
    A token of no weight is not part of the curve and is never kept.
Rounding
    There is none. Given logits, every question here is the sign of a sum of exponentials,
    which is always decided; floats with a bound decide most of them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import exp, expm1
from typing import Any, Literal

from sampling_ref.numbers.exact import EXACT, ExactRow, WeightRow
from sampling_ref.numbers.exponential_sums import sign_of_sum
from sampling_ref.numbers.mass import WEIGHT_ERROR, float_gaps
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_fraction, read_whole
from sampling_ref.row import Candidates, Number, Ties
from sampling_ref.steps.step import rule

SECOND_DIFFERENCE = (1, -2, 1)


@rule("keeps tokens before the flat tail ({z})")
def tail_free(
    candidates: Candidates,
    z: Number,
    *,
    cut: Literal["centred", "counted"] = "centred",
    ties: Ties = "lowest id",
    least: int = 1,
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates before the tail.

    The second differences of these shares are 0.125, 0.125 and 0.

    >>> from sampling_ref import WEIGHTS
    >>> shares = [0.5, 0.25, 0.125, 0.125, 0.125]
    >>> tail_free(shares, z=0.5, numbers=WEIGHTS).tokens
    [0, 1]
    >>> tail_free(shares, z=0.5, cut="counted", numbers=WEIGHTS).tokens
    [0]
    >>> tail_free([3.0, 2.0, 1.0, 0.0, -1.0], z=0.75).tokens
    [0, 1]
    """
    read_whole("least", least, 0)
    share = read_fraction("z", z, "[0, 1]")
    here = numbers.of(candidates, "shares")
    line = here.falling(ties).places
    bends = len(line) - len(SECOND_DIFFERENCE[1:])
    if bends <= 0:
        return here.keep(line)
    curve = [here.values[place] for place in line]
    if isinstance(here, WeightRow):
        before = _weights_before(curve, share)
    elif isinstance(here, ExactRow):
        before = _logits_before(curve, share, here.candidates.factor)
    else:
        before = here.bends_within(line, share)
    if before is None:  # a flat row
        before = bends if cut == "centred" else int(share * bends)
    never_passed = cut == "counted" and before == bends
    kept = line[: max(len(line) if never_passed else before + (cut == "centred"), least)]
    return here.keep(here.with_equals(kept) if ties == "all" else kept, "falling")


def _windows(curve: Sequence[Any]) -> Iterable[tuple[Any, Any, Any]]:
    return zip(curve, curve[1:], curve[2:], strict=False)


def _weights_before(curve: Sequence[Number], share: Fraction) -> int | None:
    """Return how many running sums are at most the share of their sum; None if all are 0."""
    weights = [Fraction(weight) for weight in curve]
    bends = [abs(one - 2 * two + three) for one, two, three in _windows(weights)]
    if not any(bends):
        return None
    required = share * sum(bends)
    return sum(1 for part in accumulate(bends) if part <= required)


def _logits_before(curve: list[Number], share: Fraction, factor: Fraction) -> int | None:
    """Return the same for logits, by bisection: the running sums never fall.

    Equal neighbours make no bend, and so do no others: the exponentials of different
    numbers are independent over the rationals.
    """
    if curve[0] == curve[-1]:
        return None
    gaps = float_gaps(curve, factor)
    weights = [exp(-gap) for gap in gaps]
    steps = [
        # Neighbours may be so near that the difference of their floats means nothing.
        lower * expm1(below - above) if below - above < 1 else upper - lower
        for (upper, lower), (above, below) in zip(pairwise(weights), pairwise(gaps), strict=True)
    ]
    sums = list(accumulate(abs(one - two) for one, two in pairwise(steps)))
    # Two steps in each bend, and a running sum that rounds every time.
    error = (128 * WEIGHT_ERROR + len(curve) * 2.0**-50) * sum(steps)

    def is_before(place: int) -> bool:
        distance = sums[place] - float(share) * sums[-1]
        if abs(distance) > error:
            return bool(distance < 0)
        return _sign_of_distance(curve, place, share, factor) <= 0

    return bisect_left(range(len(sums)), True, key=lambda place: not is_before(place))


def _sign_of_distance(curve: list[Number], place: int, share: Fraction, factor: Fraction) -> int:
    """Return the sign of the running sum at a place, less the share of the whole sum."""
    terms: Counter[Number] = Counter()
    for start, window in enumerate(_windows(curve)):
        sign = _sign_of_bend(window, factor)
        portion = (1 - share if start <= place else -share) * sign
        for logit, coefficient in zip(window, SECOND_DIFFERENCE, strict=True):
            terms[logit] += portion * coefficient  # type: ignore[assignment] # a fraction
    return sign_of_sum(terms, factor)


def _sign_of_bend(window: Sequence[Number], factor: Fraction) -> int:
    terms: Counter[Number] = Counter()
    for logit, coefficient in zip(window, SECOND_DIFFERENCE, strict=True):
        terms[logit] += coefficient
    return sign_of_sum(terms, factor)
