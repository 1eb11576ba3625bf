"""Adaptive-p: prefer tokens of a probability near a target, and correct for past draws.

MrJackSpade and contributors, "sampling: add adaptive-p sampler", llama.cpp, 2025
(https://github.com/ggml-org/llama.cpp/pull/17927). In our words:

    Remember a decaying average of the probabilities of the drawn tokens. Aim at twice the
    target less that average, within [0, 1]. Give each possible token a new logit

        5 - 10 * d**2 / (1 + d),   d = |p - aim| / 0.3

    and draw from the softmax of the new logits. p is the token's probability before.

State
    The average is a quotient: a decaying sum of probabilities over a decaying count of
    draws. At the start it is the target, as if it had been drawn for ever. If the count is
    0, the aim is the target itself.
Whose probability
    What is remembered is the probability before the new logits, p.
Impossible tokens
    stay impossible.
No draw
    A token that is not accepted changes nothing.
Rounding
    p is the nearest float; what follows is calculated with plain operators, in floats if
    the parameters are floats.
"""

from typing import Any, NamedTuple

from sampling_ref.numbers.softmax import softmax
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, read_possible_logits

PEAK = 5
SHARPNESS = 10
WIDTH = 0.3


class PastProbabilities(NamedTuple):
    """A decaying sum of the probabilities of drawn tokens, and a decaying count of draws."""

    weighted_sum: Number
    total_weight: Number


def adaptive_p_start(target: Number, decay: Number) -> PastProbabilities:
    """Return the state before the first draw.

    >>> adaptive_p_start(target=0.5, decay=0.75)
    PastProbabilities(weighted_sum=2.0, total_weight=4.0)
    """
    read_fraction("target", target, "[0, 1]")
    read_fraction("decay", decay, "[0, 1)")
    return PastProbabilities(target / (1 - decay), 1 / (1 - decay))


def adaptive_p_aim(past: PastProbabilities, target: Number) -> Number:
    """Return the probability that the next draw should be near to.

    >>> adaptive_p_aim(PastProbabilities(3.0, 4.0), target=0.5)
    0.25
    """
    read_fraction("target", target, "[0, 1]")
    read_fraction("weighted_sum", past.weighted_sum, "(-inf, inf)")
    if read_fraction("total_weight", past.total_weight, "[0, inf)") == 0:
        return target
    return min(max(2 * target - past.weighted_sum / past.total_weight, 0), 1)


def adaptive_p_logits(
    logits: Any,
    past: PastProbabilities,
    target: Number,
    *,
    factor: Number = 1,
) -> list[Number]:
    """Return the new logits, largest where the probability is nearest to the aim.

    >>> adaptive_p_logits([0.0, 0.0, float("-inf")], PastProbabilities(2.0, 4.0), target=0.5)
    [5.0, 5.0, -inf]
    """
    row = read_possible_logits(logits)
    aim = adaptive_p_aim(past, target)
    changed: list[Number] = []
    for logit, probability in zip(row, softmax(row, factor=factor), strict=True):
        if logit == float("-inf"):
            changed.append(logit)
            continue
        distance = abs(probability - aim) / WIDTH
        changed.append(PEAK - SHARPNESS * distance * distance / (1 + distance))
    return changed


def adaptive_p_next(
    past: PastProbabilities, probability: Number, decay: Number
) -> PastProbabilities:
    """Return the state after a draw of a token that had this probability before.

    >>> adaptive_p_next(PastProbabilities(2.0, 4.0), probability=0.25, decay=0.5)
    PastProbabilities(weighted_sum=1.25, total_weight=3.0)
    """
    read_fraction("probability", probability, "[0, 1]")
    read_fraction("decay", decay, "[0, 1)")
    return PastProbabilities(probability + decay * past.weighted_sum, 1 + decay * past.total_weight)
