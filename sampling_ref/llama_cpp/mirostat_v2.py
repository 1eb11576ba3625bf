"""Mirostat 2: hold the surprise of the drawn tokens near a target, by cutting surprising ones.

Definition (Sourya Basu et al., arXiv 2007.14966, algorithm 2 as published with their code;
`llama_sampler_mirostat_v2_apply` in src/llama-sampler.cpp): candidates by falling
probability, up to but not including the first whose -log2(probability) is greater than mu, at
least one; draw among them; then mu = mu - eta * (-log2(probability) - tau), with the probability
among the kept ones. The first mu is 2 * tau.

Rounding
    Everything in binary32.

The draw
    std::discrete_distribution: two words, or none where one candidate is left.
"""

from collections.abc import Iterator

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_possible, read_real, reordered
from sampling_ref.llama_cpp.falling_order import sorted_fully
from sampling_ref.llama_cpp.libstdcxx_random import discrete_index
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.glibc import log2f
from sampling_ref.row import Number, TokenId


def mirostat_v2(
    candidates: Candidates,
    words: Iterator[int],
    mu: Number,
    *,
    tau: Number = 5.0,
    eta: Number = 0.1,
) -> tuple[TokenId, float]:
    """Draw a token; return it with the next mu.

    >>> mirostat_v2(Candidates([4, 2], [1.0, 1.0]), iter([0, 0]), 10.0, tau=5.0, eta=0.5)
    (4, 12.0)
    """
    target = read_real("tau", tau)
    rate = read_real("eta", eta)
    kept = mirostat_v2_kept(candidates, mu)
    probabilities = softmax(kept)
    index = discrete_index(probabilities, words)
    error = to_binary32(-log2f(probabilities[index]) - target)
    return kept.tokens[index], to_binary32(read_real("mu", mu) - to_binary32(rate * error))


def mirostat_v2_kept(candidates: Candidates, mu: Number) -> Candidates:
    """Return the candidates among which to draw.

    >>> mirostat_v2_kept(Candidates([4, 2], [9.0, 1.0]), 2.0).tokens
    [4]
    """
    read_possible(candidates)
    most = read_real("mu", mu)
    ordered = sorted_fully(candidates)
    probabilities = softmax(ordered)
    surprising = (place for place, p in enumerate(probabilities) if -log2f(p) > most)
    count = next(surprising, len(probabilities))
    return reordered(ordered, range(max(1, count)), is_sorted=True)
