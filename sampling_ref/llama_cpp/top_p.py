"""Top-p: the smallest set of likeliest candidates whose probabilities reach p.

Definition (Ari Holtzman et al., "The curious case of neural text degeneration", 2020, arXiv
1904.09751; `llama_sampler_top_p_apply` in src/llama-sampler.cpp): candidates by falling
probability, up to and including the first at which the running sum is at least p and at least
`min_keep` are kept.

Rounding
    Probabilities are summed in binary32 before the sort, in the order the candidates had; the
    running sum is binary32 too. If it never reaches p, all are kept.

Order
    At most 1,024 unsorted candidates are sorted as `top_k` would. Of more, the 256 largest
    are taken by buckets; if their sum does not do, all are sorted by buckets. The result is
    sorted. p >= 1 turns the step off, and then nothing is sorted.
"""

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, read_integer, read_real, reordered
from sampling_ref.llama_cpp.falling_order import falling_positions, falling_positions_by_buckets
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.row import Number

_MANY = 1024
_FIRST_TRY = 256


def top_p(candidates: Candidates, p: Number = 0.95, min_keep: int = 0) -> Candidates:
    """Keep the likeliest candidates that together reach the share p.

    >>> top_p(Candidates([0, 1, 2], [0.0, 2.0, 1.0]), 0.75).tokens
    [1, 2]
    """
    _, logits = read_candidates(candidates)
    share = read_real("p", p)
    least = read_integer("min_keep", min_keep, least=0)
    if share >= 1:
        return candidates
    probabilities = softmax(candidates)
    if candidates.is_sorted:
        positions = list(range(len(logits)))
    elif len(logits) <= _MANY:
        positions = falling_positions(logits, len(logits))
    else:
        positions = falling_positions_by_buckets(logits, _FIRST_TRY)
    count = _count_reaching(share, least, [probabilities[place] for place in positions])
    if count is None and len(positions) < len(logits):
        positions = falling_positions_by_buckets(logits, len(logits))
        count = _count_reaching(share, least, [probabilities[place] for place in positions])
    return reordered(candidates, positions[:count], is_sorted=True)


def _count_reaching(share: float, least: int, probabilities: list[float]) -> int | None:
    """Return how many of the first probabilities reach a share, or None if all do not."""
    total = 0.0
    for place, probability in enumerate(probabilities):
        total = to_binary32(total + probability)
        if total >= share and place + 1 >= least:
            return place + 1
    return None
