"""Greedy: the largest logit, the first of equals in the order of the candidates.

Definition: `llama_sampler_greedy_apply` in src/llama-sampler.cpp. The order is that of the
vocabulary only as long as no other step has sorted.
"""

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_possible
from sampling_ref.row import TokenId


def greedy(candidates: Candidates) -> TokenId:
    """Return the first candidate with the largest logit.

    >>> greedy(Candidates([3, 1, 2], [0.5, 1.5, 1.5]))
    1
    """
    tokens, logits = read_possible(candidates)
    return tokens[logits.index(max(logits))]
