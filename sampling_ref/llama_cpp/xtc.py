"""XTC, "exclude top choices": sometimes remove all likely candidates but the least likely one.

Definition (p-e-w, https://github.com/oobabooga/text-generation-webui/pull/6335;
`llama_sample_xtc_apply` in src/llama-sampler.cpp): with a probability, remove the candidates
before the last one that reaches the threshold, if at least `min_keep` are left.

Random numbers
    One word for a uniform float, from a generator of its own, with the same seed as the final
    draw in the engine's programs. The step acts if the float is at most the
    probability. No word is taken where the step is off: probability <= 0, threshold > 0.5, or a
    single candidate.

Order
    If the step acts, the candidates are sorted, even if none is removed.
"""

from collections.abc import Iterator

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, read_integer, read_real, reordered
from sampling_ref.llama_cpp.falling_order import sorted_fully
from sampling_ref.llama_cpp.libstdcxx_random import uniform_float
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.row import Number


def xtc(
    candidates: Candidates,
    words: Iterator[int],
    probability: Number = 0.0,
    threshold: Number = 0.1,
    min_keep: int = 0,
) -> Candidates:
    """Remove the top choices, if the next word says so.

    >>> row = Candidates([0, 1, 2], [0.5, 1.0, 1.0])
    >>> xtc(row, iter([0]), 0.5, 0.25).tokens
    [1, 0]
    >>> xtc(row, iter([2**31 + 2**8]), 0.5, 0.25).tokens
    [0, 1, 2]
    """
    _, logits = read_candidates(candidates)
    chance = read_real("probability", probability)
    least_likely = read_real("threshold", threshold)
    least = read_integer("min_keep", min_keep, least=0)
    if chance <= 0 or least_likely > 0.5 or len(logits) < 2:
        return candidates
    if uniform_float(words) > chance:
        return candidates
    candidates = sorted_fully(candidates)
    last = 0
    for place, share in enumerate(softmax(candidates)):
        if share < least_likely:
            break
        last = place
    if len(logits) - last < least:
        last = 0
    return reordered(candidates, range(last, len(logits)), is_sorted=True)
