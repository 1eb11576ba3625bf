"""Top-n-sigma: remove what lies more than n standard deviations below the maximum.

Definition (Chenxia Tang et al., "Top-n sigma: not all logits are you need", 2024, arXiv 2411.07641;
`llama_sampler_top_n_sigma_apply` in src/llama-sampler.cpp): mean and population
standard deviation of the logits that are not minus infinity; a logit below
max - n * deviation becomes minus infinity.

Removed tokens stay candidates
    with a logit of minus infinity. The step `typical` after it makes NaN of them.

Off
    if n <= 0, or with a single candidate.

Rounding
    The sums go through the candidates in their order, in binary32. Squares are exact in
    binary64 and are added there; the sum is rounded to binary32 after each.
"""

from dataclasses import replace
from math import inf, sqrt

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, read_real
from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.row import Number


def top_n_sigma(candidates: Candidates, n: Number) -> Candidates:
    """Set the logits that lie far below the maximum to minus infinity.

    >>> top_n_sigma(Candidates([0, 1, 2], [4.0, 3.0, -8.0]), 1.0).logits
    [4.0, 3.0, -inf]
    """
    tokens, logits = read_candidates(candidates)
    width = read_real("n", n)
    if width <= 0 or len(logits) <= 1:
        return candidates
    possible = [logit for logit in logits if logit != -inf]
    if not possible:
        return candidates
    mean = to_binary32(sum_in_binary32(possible) / len(possible))
    distances = all_to_binary32([logit - mean for logit in possible])
    squares = (distance * distance for distance in distances)
    variance = to_binary32(sum_in_binary32(squares) / len(possible))
    deviation = to_binary32(sqrt(variance))
    least = to_binary32(max(possible) - to_binary32(width * deviation))
    kept = [logit if logit >= least else -inf for logit in logits]
    return replace(candidates, tokens=tokens, logits=kept)
