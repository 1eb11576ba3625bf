"""Min-p filtering.

Nguyen et al., "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs",
ICLR 2025, section 3 (https://arxiv.org/abs/2407.01082). The rule:

    Keep the tokens whose probability is at least m times the largest one.

Equality
    A token exactly at the threshold is kept in the definition ("kept"); some programs
    remove it ("removed"), and then m = 1 leaves nothing but what `least` keeps.
m above 1
    An error in the definition. One program accepts it, and keeps what `least` keeps, but at
    least one token, whatever `least` is: "best". (Its logit threshold lies above the largest
    logit.)
m = 0
    Every possible token is kept.
Least
    Never fewer than `least` tokens, the most probable first; `ties` says which of equals.
Impossible tokens
    A token of no weight is never kept.
Rounding
    There is none. Given logits, the comparison is that of factor * (l - max) with log m. A
    logarithm of a rational number other than 1 is irrational, so a token can lie exactly
    at the threshold only for m = 1.
"""

from typing import Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers, OfLargest
from sampling_ref.parameters import read_fraction, read_whole
from sampling_ref.row import Candidates, Number, Ties
from sampling_ref.steps.step import rule


@rule(
    "keeps tokens with at least {m} times the largest probability",
    whys={
        "equality removed": "keeps tokens with more than {m} times the largest probability",
        "above_one best": ", or else the most probable one",
    },
)
def min_p(
    candidates: Candidates,
    m: Number,
    *,
    equality: Literal["kept", "removed"] = "kept",
    above_one: Literal["error", "best"] = "error",
    least: int = 1,
    ties: Ties = "lowest id",
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates of at least m times the largest probability.

    >>> from sampling_ref import WEIGHTS
    >>> min_p([0.5, 0.25, 0.125, 0.125], m=0.5, numbers=WEIGHTS).tokens
    [0, 1]
    >>> min_p([0.5, 0.25, 0.125, 0.125], m=0.5, equality="removed", numbers=WEIGHTS).tokens
    [0]
    >>> min_p([2.0, 1.5, 0.0], m=0.5).tokens
    [0, 1]
    """
    read_whole("least", least, 0)
    share = read_fraction("m", m, "[0, 1]" if above_one == "error" else "[0, inf)")
    here = numbers.of(candidates, "shares")
    return here.keep_at_least(
        OfLargest(share),
        strictly=equality == "removed" and share > 0,
        least=max(least, int(above_one == "best")),
        ties=ties,
    )
