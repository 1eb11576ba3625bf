"""Top-n-sigma filtering.

Tang, Liu, Xu, Huang and Zhang, "Top-n-sigma: Not All Logits Are You Need", ACL 2025,
section 3 (https://arxiv.org/abs/2411.07641). The rule:

    Keep the tokens whose logit is at least the largest logit minus n standard deviations
    of the logits.

The filter looks at logits, not at probabilities: dividing all logits by a temperature
changes nothing. So there is no version for weights.

Deviation
    "population" divides the sum of squares by the number of logits, "sample" by one less,
    as PyTorch's `std` does, and with it the authors' program.
Which logits
    Impossible tokens take no part in mean and deviation, and are never kept.
Equality
    A token exactly at the threshold is kept.
n = 0
    Keeps the equals of the largest logit ("best"), as the rule says. Engines use it for
    "off", and then every possible token is kept.
Removed
    Tokens are "left out", or "stay" as candidates at minus infinity, as in llama.cpp.
One possible token
    It is kept. A sample deviation does not exist then.
Rounding
    There is none: (largest - l)**2 <= n**2 * variance is a comparison of rational numbers.
"""

from dataclasses import replace
from math import inf
from typing import Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers, Sigma
from sampling_ref.parameters import read_choice, read_fraction
from sampling_ref.row import Candidates, Number, ReadRow
from sampling_ref.steps.step import rule


@rule("keeps logits at most {n} standard deviations below the maximum")
def top_n_sigma(
    candidates: Candidates,
    n: Number,
    *,
    deviation: Literal["population", "sample"] = "population",
    zero: Literal["best", "off"] = "best",
    removed: str = "left out",
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates within n standard deviations of the largest logit.

    These logits have the deviation 2, as a population.

    >>> top_n_sigma([4.0, 4.0, 0.0, 0.0], n=2).tokens
    [0, 1, 2, 3]
    >>> top_n_sigma([4.0, 4.0, 0.0, 0.0], n=1.75).tokens
    [0, 1]
    """
    read_choice("removed", removed, ("left out", "stay"))
    multiple = read_fraction("n", n, "[0, inf)")
    here = numbers.of(candidates)
    if multiple == 0 and zero == "off":
        return here.keep(here.possible())
    kept = here.at_least(Sigma(multiple, deviation), strictly=False)
    if removed == "left out":
        return here.keep(kept)
    logits = ReadRow([-inf] * len(here.values))
    for place in kept:
        logits[place] = here.values[place]
    return replace(here.candidates, logits=logits)
