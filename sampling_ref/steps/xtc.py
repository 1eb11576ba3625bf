"""XTC, "exclude top choices".

Weidmann, "Exclude Top Choices (XTC): A sampler that boosts creativity, breaks writing
clichés, and inhibits non-verbatim repetition", 2024
(https://github.com/oobabooga/text-generation-webui/pull/6335). The rule:

    With some probability, remove all tokens whose probability is at least a threshold,
    except the least probable one of them.

Fewer than two
    Where only one token, or none, reaches the threshold, nothing is removed.
Equality
    A token exactly at the threshold counts as reaching it ("counts") or not ("does not").
Ties
    If several tokens share the place of the least probable one, one of them stays: the
    last one of a walk by falling probability and rising id has the highest id. With "all"
    every one of them stays.
The coin
    The uniform number of this step is given. The filter acts if it is at most the
    probability ("at most") or only if it is below it ("below"); with probability 0 it
    never acts. With a single candidate some engines do not ask for a number at all
    (`single="no coin"`). A probability above 1 is an "error", or the filter "acts" always.
High thresholds
    Two tokens cannot both have more than half of the mass, so a threshold above 1/2 never
    removes anything.
Least
    If fewer than `least` tokens would stay, nothing is removed at all.
Protected tokens
    They count like any other, but are not removed.
Impossible tokens
    A token of no weight is never kept, and never reaches the threshold.
Rounding
    There is none.
"""

from collections.abc import Callable, Collection
from typing import Literal

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers, OfAll
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.random.sources import read_uniform
from sampling_ref.row import Candidates, Number, Ties, TokenId
from sampling_ref.steps.step import rule


@rule(
    "removes all tokens of at least {threshold} but the least probable one, with probability "
    "{probability}",
    whys={
        "equality does not": "removes all tokens of more than {threshold} but the least probable "
        "one, with probability {probability}",
        "ties all": ", and keeps the equals of that one",
        "least": ", and none if fewer than {least} would stay",
    },
)
def xtc(
    candidates: Candidates,
    threshold: Number,
    *,
    probability: Number = 1,
    uniform: Number | Callable[[], Number] = 0,
    equality: Literal["counts", "does not"] = "counts",
    ties: Ties = "highest id",
    coin: Literal["at most", "below"] = "at most",
    single: str = "coin",
    above_one: str = "error",
    least: int = 1,
    protected: Collection[TokenId] = (),
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates that stay; `uniform` is the random number, or returns it.

    >>> from sampling_ref import WEIGHTS
    >>> xtc([0.5, 0.25, 0.125, 0.125], threshold=0.125, numbers=WEIGHTS).tokens
    [3]
    >>> xtc([0.5, 0.25, 0.125, 0.125], threshold=0.2, numbers=WEIGHTS).tokens
    [1, 2, 3]
    >>> xtc([2.0, 1.0, 0.0], threshold=0.2, probability=0.5, uniform=0.25).tokens
    [1, 2]
    """
    read_choice("single", single, ("coin", "no coin"))
    read_choice("above_one", above_one, ("error", "acts"))
    read_whole("least", least, 0)
    share = read_fraction("threshold", threshold, "[0, 1]")
    domain = "[0, 1]" if above_one == "error" else "[0, inf)"
    chance = read_fraction("probability", probability, domain)
    if single == "no coin" and len(candidates.tokens) < 2:
        return candidates
    number = uniform() if callable(uniform) else read_uniform(uniform)
    if chance == 0 or number > chance or (number == chance and coin == "below"):
        return candidates
    if not isinstance(protected, Collection):
        raise ParameterError("protected", protected, "must be a collection of token ids")
    here = numbers.of(candidates, "shares").ordered()
    places = here.possible()
    top = here.at_least(OfAll(share), strictly=equality == "does not")
    if not top:
        return here.keep(places)
    tokens = here.candidates.tokens
    kept = {place for place in top if tokens[place] in protected}
    kept.update(here.last_of(top, ties))
    staying = set(places).difference(top) | kept
    return here.keep(staying if len(staying) >= least else places)
