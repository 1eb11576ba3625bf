"""Tail-free filtering.

Bricken, "Tail Free Sampling", 2021 (https://www.trentonbricken.com/Tail-Free-Sampling/). In
our words:

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

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import exp, expm1
from typing import Any, Literal, get_args

from sampling_ref.numbers.exponential_sums import sign_of_sum
from sampling_ref.numbers.float_weights import WEIGHT_ERROR, float_gaps
from sampling_ref.numbers.orders import Ties, largest_first
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Number, Row, TokenId, read_possible_logits, read_weights

Cut = Literal["centred", "counted"]

SECOND_DIFFERENCE = (1, -2, 1)


def tail_free(
    weights: Any,
    z: Number,
    *,
    cut: Cut = "centred",
    ties: Ties = "lowest id",
    least: int = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens before the tail.

    The second differences of this row are 0.125, 0.125 and 0.

    >>> sorted(tail_free([0.5, 0.25, 0.125, 0.125, 0.125], z=0.5))
    [0, 1]
    >>> sorted(tail_free([0.5, 0.25, 0.125, 0.125, 0.125], z=0.5, cut="counted"))
    [0]
    """
    row = read_weights(weights)
    share = _read_choices(z, cut, ties, least)
    tokens = [token for token in largest_first(row, ties) if row[token] > 0]
    curve = [Fraction(row[token]) for token in tokens]
    bends = [abs(one - 2 * two + three) for one, two, three in _windows(curve)]
    total = sum(bends)
    flat = not any(bends)
    before = sum(1 for part in accumulate(bends) if not flat and part <= share * total)
    return _kept(row, tokens, before, share, cut, ties, least, flat=flat)


def tail_free_logits(
    logits: Any,
    z: Number,
    *,
    cut: Cut = "centred",
    ties: Ties = "lowest id",
    least: int = 1,
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens before the tail.

    >>> sorted(tail_free_logits([3.0, 2.0, 1.0, 0.0, -1.0], z=0.75))
    [0, 1]
    """
    row = read_possible_logits(logits)
    share = _read_choices(z, cut, ties, least)
    scale = read_fraction("factor", factor, "(0, inf)")
    tokens = [token for token in largest_first(row, ties) if row[token] > float("-inf")]
    curve = [row[token] for token in tokens]
    # Equal neighbours make no bend, and so do no others: the exponentials of different
    # numbers are independent over the rationals.
    flat = curve[0] == curve[-1]
    before = 0 if flat else _bends_before(curve, share, scale)
    return _kept(row, tokens, before, share, cut, ties, least, flat=flat)


def _windows(curve: Sequence[Any]) -> Iterable[tuple[Any, Any, Any]]:
    return zip(curve, curve[1:], curve[2:], strict=False)


def _bends_before(curve: list[Number], share: Fraction, factor: Fraction) -> int:
    """Return how many running sums of second differences are at most the share of their sum.

    The running sums never fall, so the answer is found by bisection.
    """
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

    low, high = 0, len(sums)
    while low < high:
        middle = (low + high) // 2
        if is_before(middle):
            low = middle + 1
        else:
            high = middle
    return low


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


def _read_choices(z: Number, cut: Cut, ties: Ties, least: int) -> Fraction:
    read_choice("cut", cut, get_args(Cut))
    read_choice("ties", ties, get_args(Ties))
    read_whole("least", least, 0)
    return read_fraction("z", z, "[0, 1]")


def _kept(
    row: Row,
    tokens: list[TokenId],
    before: int,
    share: Fraction,
    cut: Cut,
    ties: Ties,
    least: int,
    *,
    flat: bool,
) -> frozenset[TokenId]:
    """Translate a cut in the second differences into a cut in the tokens."""
    bends = len(tokens) - len(SECOND_DIFFERENCE[1:])
    if bends <= 0:
        return frozenset(tokens)
    if flat:
        before = bends if cut == "centred" else int(share * bends)
    never_passed = cut == "counted" and before == bends
    count = len(tokens) if never_passed else before + (cut == "centred")
    count = max(count, least)
    if ties == "all" and count > 0:
        while count < len(tokens) and row[tokens[count]] == row[tokens[count - 1]]:
            count += 1
    return frozenset(tokens[:count])
