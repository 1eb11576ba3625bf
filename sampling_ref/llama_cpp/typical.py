"""Locally typical sampling: the candidates whose surprise is nearest to the entropy.

Definition (Clara Meister et al., "Locally typical sampling", 2023, arXiv 2202.00666;
`llama_sampler_typical_apply` in src/llama-sampler.cpp): with H the entropy, sort by rising
|-log(probability) - H|, and keep up to and including the first candidate at which the
running sum of probabilities is *greater* than p and at least `min_keep` are kept. Everything
in binary32, natural logarithms. p >= 1 turns the step off.

Impossible candidates
    A probability of 0 makes the entropy NaN: 0 times minus infinity. All distances are NaN then,
    all comparisons false, and the candidates are cut in the order in which
    std::sort leaves equals. `logit_bias` of minus infinity and `top_n_sigma` lead there.

Order
    The candidates are sorted by falling logit first, equals of the second sort follow from
    that. The result is in the order of the second sort and counts as unsorted.
"""

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, read_integer, read_real, reordered
from sampling_ref.llama_cpp.falling_order import sorted_fully
from sampling_ref.llama_cpp.libstdcxx_order import order_of_sort
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.numbers.binary32 import sum_in_binary32, to_binary32
from sampling_ref.numbers.glibc import logf
from sampling_ref.row import Number


def typical(candidates: Candidates, p: Number = 1.0, min_keep: int = 0) -> Candidates:
    """Keep the candidates that are neither too likely nor too unlikely.

    >>> typical(Candidates([0, 1, 2], [2.0, 0.5, 0.5]), 0.125).tokens
    [0]
    >>> typical(Candidates([0, 1, 2, 3], [1.0, 0.5, 0.5, 0.5]), 0.25).tokens
    [1, 3]
    """
    read_candidates(candidates)
    share = read_real("p", p)
    least = read_integer("min_keep", min_keep, least=0)
    if share >= 1:
        return candidates
    candidates = sorted_fully(candidates)
    probabilities = softmax(candidates)
    surprises = [-logf(probability) for probability in probabilities]
    pairs = zip(probabilities, surprises, strict=True)
    entropy = sum_in_binary32(
        to_binary32(probability * surprise) for probability, surprise in pairs
    )
    nearness = [-abs(to_binary32(surprise - entropy)) for surprise in surprises]
    positions = order_of_sort(nearness)
    total = 0.0
    for place, position in enumerate(positions):
        total = to_binary32(total + probabilities[position])
        if total > share and place + 1 >= least:
            positions = positions[: place + 1]
            break
    return reordered(candidates, positions, is_sorted=False)
