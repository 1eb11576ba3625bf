"""Locally typical filtering.

Meister, Pimentel, Wiher and Cotterell, "Locally Typical Sampling", Transactions of the ACL
11, 2023, section 4 (https://arxiv.org/abs/2202.00666). The rule:

    Take the tokens in the order of |surprise - entropy|, the nearest first, where the
    surprise of a token is -log of its probability and the entropy is the mean surprise.
    Keep the first of them whose probabilities sum to at least the mass.

Boundary
    "reach": up to the token at which the sum is at least the mass, the definition.
    "exceed": up to the token at which the sum is strictly greater than the mass.
    "short": as long as the sum is below the mass: the token that carries the sum to the
    mass is lost; `least` keeps the first one nevertheless.
Ties
    Tokens equally far from the entropy, which may be two different probabilities, one on
    each side. "all": the equals of the last kept token are kept too. Otherwise they are
    taken one by one, by rising id or by falling id.
Mass 0
    An error in the definition. "best": the rule without an exception.
Least
    Never fewer than `least` tokens, taken in the order above, equals by rising id; "all"
    does not add the equals of the last of these.
Impossible tokens
    A token of no weight has an infinite surprise. It is never kept and adds nothing to
    the entropy.
Order
    An engine may leave the kept tokens in the order above.
Rounding
    There is none, and every comparison is decided. Given logits, the distance is factor
    times |logit - mean logit|, and two different logits are equally far only if the mean
    lies exactly between them, which is impossible (see `exponential_sums`). Given weights, the
    distances are compared through the sign of a sum of logarithms of rational numbers;
    here different weights can be equally far: 1/2 and 1/4 in (1/2, 1/4, 1/4).
"""

from typing import Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Candidates, Number, Ties
from sampling_ref.steps.step import rule


@rule(
    "keeps tokens whose surprise is nearest to the entropy until they sum to {mass}",
    whys={
        "boundary exceed": "keeps tokens whose surprise is nearest to the entropy until they sum "
        "to more than {mass}",
        "boundary short": "keeps tokens whose surprise is nearest to the entropy while they sum to "
        "less than {mass}, at least {least}",
        "ties all": ", and the equals of the last one",
    },
)
def typical(
    candidates: Candidates,
    mass: Number,
    *,
    boundary: Literal["reach", "exceed", "short"] = "reach",
    ties: Ties = "all",
    zero: str = "error",
    least: int = 1,
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the most typical candidates, of at least the share `mass` together.

    The entropy of these shares is 1.75 bits, and the surprises are 1, 2, 3 and 3 bits.

    >>> from sampling_ref import WEIGHTS
    >>> typical([0.5, 0.25, 0.125, 0.125], mass=0.25, numbers=WEIGHTS).tokens
    [1]
    >>> typical([0.5, 0.25, 0.125, 0.125], mass=0.5, numbers=WEIGHTS).tokens
    [0, 1]
    >>> typical([4.0, 1.0, 0.0, float("-inf")], mass=0.5).tokens
    [0]
    """
    read_choice("zero", zero, ("error", "best"))
    read_whole("least", least, 0)
    share = read_fraction("mass", mass, "(0, 1]" if zero == "error" else "[0, 1]")
    here = numbers.of(candidates).ordered()
    far = here.distances()
    walk = here.nearest(far, ties)
    end = here.reaching(walk, share, strictly=boundary == "exceed")
    count = len(walk) if end is None else end + (boundary != "short")
    if ties == "all" and count > 0:
        while count < len(walk) and far[walk[count]] == far[walk[count - 1]]:
            count += 1
    return here.keep(walk[: max(count, least)], "nearest")
