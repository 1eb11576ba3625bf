"""llama.cpp's softmax: probabilities in 32 bits, summed in the order of the candidates.

Definition (`llama_sampler_softmax_impl` in src/llama-sampler.cpp): p = expf(logit - max),
then each p is divided by the sum of all of them. Every operation rounds to binary32,
the sum goes from the first candidate to the last: with 100,000 candidates it loses digits, and
the probabilities do not sum to one.

The maximum
    Of sorted candidates it is taken to be the first, whether it is or not: `logit_bias`
    changes logits and leaves the flag.
"""

from math import inf

from sampling_ref.candidates import Candidates
from sampling_ref.errors import RowError
from sampling_ref.llama_cpp.candidates import read_candidates
from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32
from sampling_ref.numbers.glibc import expf_of_all


def softmax(candidates: Candidates) -> list[float]:
    """Return the probability of each candidate, in their order.

    >>> softmax(Candidates([4, 2], [1.5, 1.5]))
    [0.5, 0.5]
    """
    weights = exponentials(candidates)
    total = sum_in_binary32(weights)
    if total == inf:
        raise RowError("the first of the candidates is not the largest, and a weight is infinite")
    return all_to_binary32([weight / total for weight in weights])


def exponentials(candidates: Candidates) -> list[float]:
    """Return expf(logit - max) of each candidate.

    >>> exponentials(Candidates([4, 2], [1.5, 1.5]))
    [1.0, 1.0]
    >>> exponentials(Candidates([4, 2], [-inf, -inf]))
    Traceback (most recent call last):
    sampling_ref.errors.RowError: candidates leave no token possible: the largest is minus infinity
    """
    _, logits = read_candidates(candidates)
    largest = logits[0] if candidates.is_sorted else max(logits)
    if largest == -inf:
        raise RowError("candidates leave no token possible: the largest is minus infinity")
    return expf_of_all(all_to_binary32([logit - largest for logit in logits]))
