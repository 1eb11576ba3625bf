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
"""

from itertools import accumulate
from math import inf

from sampling_ref.arithmetic.mass import Mass, mass_of
from sampling_ref.arithmetic.walking import by_floats, exactly
from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, Row, read_logits, read_possible_logits


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
