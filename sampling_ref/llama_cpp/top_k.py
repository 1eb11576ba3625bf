"""Top-k: the k candidates with the largest logits.

Definition (`llama_sampler_top_k_impl` in src/llama-sampler.cpp): sort by falling logit, unless
the candidates count as sorted, and keep the first k. Exactly k are kept: which of equals,
and in which order, is up to the sort. k <= 0 turns the step off, and then nothing is sorted.
"""

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, read_integer, reordered
from sampling_ref.llama_cpp.falling_order import falling_positions


def top_k(candidates: Candidates, k: int = 40) -> Candidates:
    """Keep the k largest candidates, sorted.

    >>> top_k(Candidates([0, 1, 2, 3], [1.0, 2.0, 2.0, 0.0]), 2).tokens
    [2, 1]
    """
    _, logits = read_candidates(candidates)
    count = min(read_integer("k", k), len(logits))
    if count <= 0:
        return candidates
    if candidates.is_sorted:
        return reordered(candidates, range(count), is_sorted=True)
    return reordered(candidates, falling_positions(logits, count), is_sorted=True)
