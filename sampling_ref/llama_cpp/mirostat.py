"""Mirostat: hold the surprise of the drawn tokens near a target, by a changing top-k.

Definition (Sourya Basu et al., "Mirostat: a neural text decoding algorithm that directly controls
perplexity", 2021, arXiv 2007.14966; `llama_sampler_mirostat_apply` in
src/llama-sampler.cpp): with p the falling probabilities, t_i = log((i + 2) / (i + 1)) and
b_i = log(p_i / p_(i+1)) over the first m - 1 pairs,

    s = sum(t_i * b_i) / sum(t_i^2), epsilon = s - 1
    k = (epsilon * 2^mu / (1 - n_vocab^-epsilon))^(1 / s)

cut to an integer, at least 1; draw among the k likeliest; then
mu = mu - eta * (-log2(probability) - tau). The first mu is 2 * tau.

Rounding
    Everything in binary32, divisions by zero included: a single candidate gives 0 / 0.

A k that is no 32-bit integer
    NaN, infinite or huge, as flat rows give it: undefined in C++. On x86-64 it becomes
    the smallest integer, so k = 1.

The draw
    std::discrete_distribution: two words, or none where k = 1.
"""

from collections.abc import Iterator

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_integer, read_possible, read_real
from sampling_ref.llama_cpp.falling_order import sorted_fully
from sampling_ref.llama_cpp.libstdcxx_random import discrete_index
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.llama_cpp.top_k import top_k
from sampling_ref.numbers.binary32 import quotient, to_binary32
from sampling_ref.numbers.glibc import log2f, logf, powf
from sampling_ref.row import Number, TokenId

_END_OF_INTEGERS = 2.0**31


def mirostat(
    candidates: Candidates,
    words: Iterator[int],
    mu: Number,
    *,
    n_vocab: int,
    tau: Number = 5.0,
    eta: Number = 0.1,
    m: int = 100,
) -> tuple[TokenId, float]:
    """Draw a token; return it with the next mu.

    >>> token, mu = mirostat(Candidates([4, 2], [8.0, 0.0]), iter([0, 0]), 10.0, n_vocab=2)
    >>> token, round(mu, 3)
    (4, 10.5)
    """
    read_real("tau", tau)
    read_real("eta", eta)
    kept = mirostat_kept(candidates, mu, n_vocab=n_vocab, m=m)
    probabilities = softmax(kept)
    index = discrete_index(probabilities, words)
    return kept.tokens[index], next_mu(mu, probabilities[index], tau, eta)


def mirostat_kept(candidates: Candidates, mu: Number, *, n_vocab: int, m: int = 100) -> Candidates:
    """Return the candidates among which to draw.

    >>> mirostat_kept(Candidates([4, 2], [1.0, 1.0]), 10.0, n_vocab=2).tokens
    [4]
    """
    read_possible(candidates)
    surprise = read_real("mu", mu)
    size = float(read_integer("n_vocab", n_vocab, least=1))
    pairs = (read_integer("m", m) - 1) % 2**64
    ordered = sorted_fully(candidates)
    exponent = _zipf_exponent(softmax(ordered), pairs)
    epsilon = to_binary32(exponent - 1)
    raised = to_binary32(epsilon * powf(2.0, surprise))
    share = to_binary32(1 - powf(size, -epsilon))
    k = powf(quotient(raised, share), quotient(1.0, exponent))
    return top_k(ordered, int(k) if 1 <= k < _END_OF_INTEGERS else 1)


def next_mu(mu: Number, probability: float, tau: Number, eta: Number) -> float:
    """Return mu after a token of some probability was drawn.

    >>> next_mu(10.0, 0.125, 5.0, 0.5)
    11.0
    """
    error = to_binary32(-log2f(probability) - read_real("tau", tau))
    step = to_binary32(read_real("eta", eta) * error)
    return to_binary32(read_real("mu", mu) - step)


def _zipf_exponent(probabilities: list[float], pairs: int) -> float:
    """Return the s of p_i ~ 1 / i^s that fits the first pairs best, by least squares."""
    products = squares = 0.0
    for i in range(min(pairs, len(probabilities) - 1)):
        t = logf(float(i + 2) / float(i + 1))
        b = logf(quotient(probabilities[i], probabilities[i + 1]))
        products = to_binary32(products + to_binary32(t * b))
        squares = to_binary32(squares + to_binary32(t * t))
    return to_binary32(quotient(products, squares))
