"""Dist: draw a candidate by its probability.

Definition (`llama_sampler_dist_apply` in src/llama-sampler.cpp): weights expf(logit - max) in
binary32, their sum in binary64; the first candidate, in the order they have, at which the
running sum is at least the uniform number times the sum.

Random numbers
    Two words for a uniform double, also where there is a single candidate.

A uniform number of 0
    draws the first candidate, even if its weight is 0. One in 2^64 does.

The order
    is part of the result: the same seed draws another token if a step before has sorted.
"""

from collections.abc import Iterator

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates
from sampling_ref.llama_cpp.libstdcxx_random import sum_in_order, uniform_double
from sampling_ref.llama_cpp.softmax import exponentials
from sampling_ref.numbers.binary32 import all_to_binary32
from sampling_ref.row import TokenId


def dist(candidates: Candidates, words: Iterator[int]) -> TokenId:
    """Draw a token.

    >>> row = Candidates([5, 7], [1.0, 1.0])
    >>> dist(row, iter([0, 2**31])), dist(row, iter([2**31, 2**31]))
    (5, 7)
    """
    tokens, _ = read_candidates(candidates)
    if len(tokens) == 1:
        uniform_double(words)
        return tokens[0]
    weights = exponentials(candidates)
    target = sum_in_order(weights) * uniform_double(words)
    running = 0.0
    for token, weight in zip(tokens, weights, strict=True):
        running += weight
        if running >= target:
            return token
    raise AssertionError("the running sum ends at the sum itself")


def dist_probabilities(candidates: Candidates) -> list[float]:
    """Return the probabilities that the step leaves: quotients by the binary64 sum, rounded.

    >>> dist_probabilities(Candidates([5, 7], [1.0, 1.0]))
    [0.5, 0.5]
    """
    tokens, _ = read_candidates(candidates)
    if len(tokens) == 1:
        return [1.0]
    weights = exponentials(candidates)
    total = sum_in_order(weights)
    return all_to_binary32([weight / total for weight in weights])
