"""Min-p: the candidates that are at least p times as likely as the likeliest one.

Definition (Minh Nguyen et al., "Turning up the heat: min-p sampling for creative and coherent
LLM outputs", 2025, arXiv 2407.01082; `llama_sampler_min_p_apply` in src/llama-sampler.cpp):
keep logits of at least max + logf(p), computed in binary32. p <= 0 turns the step off.

Order
    Unsorted candidates stay in their order and stay unsorted. Only if fewer than `min_keep` of
    them (or none) would be left are they sorted, and then the first candidate and at
    least `min_keep` are kept.

p above 1
    keeps the first candidate and what else `min_keep` asks for.
"""

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_integer, read_possible, read_real, reordered
from sampling_ref.llama_cpp.falling_order import sorted_fully
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.glibc import logf
from sampling_ref.row import Number


def min_p(candidates: Candidates, p: Number = 0.05, min_keep: int = 0) -> Candidates:
    """Keep the candidates whose probability is at least p times the largest one.

    >>> min_p(Candidates([0, 1, 2], [1.0, -1.0, 0.5]), 0.5).tokens
    [0, 2]
    """
    _, logits = read_possible(candidates)
    share = read_real("p", p)
    least = read_integer("min_keep", min_keep, least=0)
    if share <= 0:
        return candidates
    if not candidates.is_sorted:
        threshold = to_binary32(max(logits) + logf(share))
        kept = [position for position, logit in enumerate(logits) if logit >= threshold]
        if kept and len(kept) >= least:
            return reordered(candidates, kept, is_sorted=False)
    candidates = sorted_fully(candidates)
    threshold = to_binary32(candidates.logits[0] + logf(share))
    count = 1
    while count < len(logits) and (candidates.logits[count] >= threshold or count < least):
        count += 1
    return reordered(candidates, range(count), is_sorted=True)
