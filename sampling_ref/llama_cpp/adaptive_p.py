"""Adaptive-p: prefer tokens whose probability is near a target that follows what was drawn.

Definition (`llama_sampler_adaptive_p_apply` and `_accept` in src/llama-sampler.cpp,
https://github.com/ggml-org/llama.cpp/pull/17927): with p the probabilities and mean the
weighted mean of the original probabilities of the tokens accepted before,

    aim = 2 * target - mean, brought into 0 to 1
    d = |p - aim| / 0.3
    logit = 5 - 10 * d^2 / (1 + d)

then softmax and draw. Accepting the drawn token gives its original probability the weight 1, and
multiplies all weights before by the decay. Before the first token the mean is the target.

Off
    A negative target draws from the probabilities as they are, and remembers nothing.

Sorted candidates
    keep their flag, though the new logits are not in falling order. So the second softmax
    subtracts the first logit, not the largest. That changes roundings, and so does this.

Impossible candidates
    stay impossible. Another token than the drawn one is accepted without any effect.

Rounding
    Everything in binary32; the division by 0.3 is a product with the rounded 1 / 0.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, read_possible, read_real
from sampling_ref.llama_cpp.libstdcxx_random import discrete_index
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.row import Number, TokenId

_BY_WIDTH = to_binary32(1.0 / to_binary32(0.3))
_PEAK = 5.0
_SHARPNESS = 10.0
_LARGEST_DECAY = to_binary32(0.99)


@dataclass(frozen=True)
class AdaptiveState:
    """The sums of weighted probabilities and of weights, and the drawn token, not yet accepted."""

    weighted_sum: float
    total_weight: float
    pending: tuple[TokenId, float] | None = None


def adaptive_p_start(target: Number, decay: Number = 0.9) -> AdaptiveState:
    """Return the state before the first token.

    >>> adaptive_p_start(0.5, 0.5)
    AdaptiveState(weighted_sum=1.0, total_weight=2.0, pending=None)
    """
    forgotten = to_binary32(1.0 - _read_decay(decay))
    weighted_sum = to_binary32(read_real("target", target) / forgotten)
    return AdaptiveState(weighted_sum, to_binary32(1.0 / forgotten))


def adaptive_p(
    candidates: Candidates, words: Iterator[int], state: AdaptiveState, target: Number
) -> tuple[TokenId, AdaptiveState]:
    """Draw a token; return it with a state in which it is pending.

    >>> state = adaptive_p_start(0.5, 0.5)
    >>> adaptive_p(Candidates([4, 2], [1.0, 1.0]), iter([0, 0]), state, 0.5)
    (4, AdaptiveState(weighted_sum=1.0, total_weight=2.0, pending=(4, 0.5)))
    """
    read_possible(candidates)
    probabilities = softmax(candidates)
    if read_real("target", target) < 0:
        return candidates.tokens[discrete_index(probabilities, words)], state
    transformed = adaptive_p_transformed(candidates, state, target)
    index = discrete_index(softmax(transformed), words)
    token = candidates.tokens[index]
    return token, replace(state, pending=(token, probabilities[index]))


def adaptive_p_transformed(
    candidates: Candidates, state: AdaptiveState, target: Number
) -> Candidates:
    """Return the candidates with the logits that the distance to the aim gives them.

    >>> row = Candidates([4, 2], [1.0, 1.0])
    >>> adaptive_p_transformed(row, adaptive_p_start(0.5, 0.5), 0.5).logits
    [5.0, 5.0]
    """
    tokens, logits = read_candidates(candidates)
    aim = _aim(state, read_real("target", target))
    for position, probability in enumerate(softmax(candidates)):
        if logits[position] != -inf:
            logits[position] = _transformed(probability, aim)
    return replace(candidates, tokens=tokens, logits=logits)


def adaptive_p_accept(state: AdaptiveState, token: TokenId, decay: Number = 0.9) -> AdaptiveState:
    """Return the state after a token was accepted.

    >>> adaptive_p_accept(AdaptiveState(1.0, 2.0, (4, 0.25)), 4, 0.5)
    AdaptiveState(weighted_sum=0.75, total_weight=2.0, pending=None)
    """
    kept = _read_decay(decay)
    if state.pending is None or state.pending[0] != token:
        return replace(state, pending=None)
    weighted_sum = to_binary32(state.pending[1] + to_binary32(kept * state.weighted_sum))
    return AdaptiveState(weighted_sum, to_binary32(1.0 + to_binary32(kept * state.total_weight)))


def _read_decay(decay: Number) -> float:
    return max(0.0, min(_LARGEST_DECAY, read_real("decay", decay)))


def _aim(state: AdaptiveState, target: float) -> float:
    """Return the probability to prefer now."""
    aim = max(0.0, min(1.0, target))
    if state.total_weight != 0:
        aim = to_binary32(2 * aim - to_binary32(state.weighted_sum / state.total_weight))
    return max(0.0, min(1.0, aim))


def _transformed(probability: float, aim: float) -> float:
    """Return the logit of a candidate: quadratic near the aim, linear far away."""
    distance = abs(to_binary32(to_binary32(probability - aim) * _BY_WIDTH))
    fall = to_binary32(to_binary32(_SHARPNESS * distance) * distance)
    return to_binary32(_PEAK - to_binary32(fall / to_binary32(1 + distance)))
