"""Top-p (nucleus) filtering.

Holtzman et al., "The Curious Case of Neural Text Degeneration", ICLR 2020,
section 3.1 (https://arxiv.org/abs/1904.09751). The rule:

    Keep the smallest set of the most probable tokens whose probabilities sum
    to at least p.

Boundary
    Tokens are walked by falling probability, with the sum of the probabilities so far.
    "reach": up to the token at which the sum is at least p. This is the definition, and
    what programs do that keep a token while the sum before it is below p, or that walk
    upwards and keep where the sum is above 1 - p.
    "exceed": up to the token at which the sum is strictly greater than p. Programs that
    keep a token while the sum before it is at most p do the same, and programs that walk
    upwards and keep where the sum is at least 1 - p. Where the sum meets p exactly, this
    keeps one token more than "reach".
    "within": while the sum is at most p. The token that carries the sum across p is lost,
    so that usually less than p is kept; `least` keeps the first one nevertheless.
    "fitting": the tokens are taken in the order they have, not sorted. After each token, while the
    sum is above p and more than one is held, the smallest is dropped, of equals the earliest. A
    sum of exactly p drops nothing. So a later, smaller token may stay where a larger one had to
    leave: of 1/2, 1/4, 1/8, 1/8 with p = 5/8 the first and the last. exllamav2 does this with a
    heap. `ties` does not matter here.
Walk
    "downwards", as described. "upwards", as programs do that sort the other way round: tokens
    are removed from the least probable one on, while the sum of the removed ones is at most
    1 - p. Without rounding that is "reach" with the equals of the highest ids first.
Ties
    Equal probabilities are taken by rising id ("lowest id") or by falling id ("highest
    id", what a stable sort upwards gives), and the set may end between equals. "all": the
    equals of the last kept token are kept too.
p = 0
    An error in the definition. "best": the rule without an exception, so that the first token is
    kept. "off": no filter, every possible token is kept.
Least
    Never fewer than `least` tokens, taken in the same order. The definition has 1.
Base of the mass
    p is a share of the total weight of the row: a row that sums to 0.999 or to 2 is as
    good as one that sums to 1. Where an earlier filter removed tokens, p is a share of
    "what is left", or of "the whole row" before all filters. Then p may never be reached,
    and every possible token is kept.
Impossible tokens
    A token of no weight is never kept, whatever the rule.
Rounding
    There is none. Weights and p are the rational numbers that they are. Given logits, the
    weights are the real numbers e**(factor * logit), and the comparison is decided as
    closely as it must be. For p below 1, a sum can meet p exactly only if all possible logits
    are equal.
"""

from collections.abc import Collection
from fractions import Fraction
from heapq import heappop, heappush
from typing import Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers, Row
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Candidates, Number, Ties
from sampling_ref.steps.step import rule

WALKED = ("downwards", "upwards")


@rule(
    "keeps the most probable tokens until their probabilities sum to {p}",
    whys={
        "walked upwards": "removes the least probable tokens while their probabilities sum to at "
        "most 1 - {p}",
        "boundary exceed": "keeps the most probable tokens until their probabilities sum to more "
        "than {p}",
        "boundary within": "keeps the most probable tokens while their probabilities sum to at "
        "most {p}, at least {least}",
        "boundary fitting": "takes the tokens in the order they have; while those held sum to more "
        "than {p}, the least probable one leaves",
        "base the whole row": ", of the whole row",
        "ties all": ", and the equals of the last one",
    },
)
def top_p(
    candidates: Candidates,
    p: Number,
    *,
    boundary: Literal["reach", "exceed", "within", "fitting"] = "reach",
    walked: str = "downwards",
    ties: Ties = "lowest id",
    zero: Literal["error", "best", "off"] = "error",
    least: int = 1,
    base: Literal["what is left", "the whole row"] = "what is left",
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates in the nucleus of a row.

    >>> from sampling_ref import WEIGHTS
    >>> shares = [0.125, 0.5, 0.125, 0.25]
    >>> top_p(shares, p=0.75, numbers=WEIGHTS).tokens
    [1, 3]
    >>> top_p(shares, p=0.75, boundary="exceed", numbers=WEIGHTS).tokens
    [0, 1, 3]
    >>> top_p(shares, p=0.625, boundary="within", numbers=WEIGHTS).tokens
    [1]
    >>> top_p([0.5, 0.25, 0.125, 0.125], p=0.625, boundary="fitting", numbers=WEIGHTS).tokens
    [0, 3]
    >>> top_p([0.0, 2.0, 1.0, 0.0], p=0.75).tokens
    [1, 2]
    """
    read_choice("walked", walked, WALKED)
    read_whole("least", least, 0)
    share = read_fraction("p", p, "(0, 1]" if zero == "error" else "[0, 1]")
    here = numbers.of(candidates, "whole shares" if base == "the whole row" else "shares")
    if share == 0 and zero == "off":
        return here.keep(here.possible())
    if boundary == "fitting":
        kept = _fitting(here, share)
        return here.keep({*kept, *here.largest(least, ties)} if len(kept) < least else kept)
    if walked == "upwards":
        walk = here.rising()
        end = here.reaching(walk, 1 - share, strictly=True)
        removed = len(walk) if end is None else end
        return here.keep(walk.after(max(0, min(removed, len(walk) - least))))
    walk = here.falling(ties)
    end = here.reaching(walk, share, strictly=boundary != "reach")
    count = len(walk) if end is None else end + (boundary != "within")
    kept = walk.first(max(count, least))
    return here.keep(here.with_equals(kept) if ties == "all" else kept, "falling")


def _fitting(row: Row, share: Fraction) -> Collection[int]:
    """Return the places that stay where each newcomer may make the smallest ones leave."""
    held = row.held(share)
    heap: list[tuple[Number, int]] = []
    for place in row.possible():
        heappush(heap, (row.values[place], place))
        held.change(place, 1)
        while len(heap) > 1 and held.is_too_much():
            held.change(heappop(heap)[1], -1)
    return [place for _, place in heap]
