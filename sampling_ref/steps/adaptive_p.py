"""Adaptive-p: prefer tokens of a probability near a target, and correct for past draws.

MrJackSpade and contributors, "sampling: add adaptive-p sampler", llama.cpp, 2025
(https://github.com/ggml-org/llama.cpp/pull/17927). The rule:

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
Sorted candidates
    keep their flag, though the new logits are not in falling order. So llama.cpp's next
    softmax subtracts the first logit, not the largest, which changes its roundings.
Width
    0.3 divides ("division"), or its rounded reciprocal multiplies ("reciprocal").
Rounding
    In exact arithmetic p is the nearest float; what follows is calculated with plain
    operators, in floats if the parameters are floats.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_choice, read_fraction
from sampling_ref.row import Candidates, Number, ReadRow, TokenId
from sampling_ref.steps.step import rule

PEAK = 5
SHARPNESS = 10
WIDTH = 0.3

WIDTHS = ("division", "reciprocal")


class PastProbabilities(NamedTuple):
    """A decaying sum of the probabilities of drawn tokens, and a decaying count of draws."""

    weighted_sum: Number
    total_weight: Number


def adaptive_p_start(
    target: Number, decay: Number, *, numbers: Numbers = EXACT
) -> PastProbabilities:
    """Return the state before the first draw.

    >>> adaptive_p_start(target=0.5, decay=0.75)
    PastProbabilities(weighted_sum=2.0, total_weight=4.0)
    """
    read_fraction("target", target, "[0, 1]")
    read_fraction("decay", decay, "[0, 1)")
    rest = 1 - numbers.scalar(decay)
    return PastProbabilities(target / rest, 1 / rest)


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


def _remember(
    before: Candidates,
    after: Candidates,
    token: TokenId,
    past: tuple[Number, Number] | None,
    *,
    target: Number,
    decay: Number,
    numbers: Numbers = EXACT,
) -> Mapping[str, Any]:
    """Return the past with the probability that the token had before the step."""
    sums = adaptive_p_start(target, decay, numbers=numbers) if past is None else past
    sums = PastProbabilities(*map(numbers.scalar, sums))
    share = numbers.of(before).probabilities()[list(before.tokens).index(token)]
    return {"past": adaptive_p_next(sums, numbers.scalar(share), numbers.scalar(decay))}


@rule(
    "prefers tokens whose probability is near {target}", remember=_remember, remembers_at="accept"
)
def adaptive_p(
    candidates: Candidates,
    past: PastProbabilities | tuple[Number, Number] | None = None,
    *,
    target: Number,
    decay: Number,
    width: str = "division",
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates with new logits, largest where the probability is near the aim.

    >>> past = PastProbabilities(2.0, 4.0)
    >>> adaptive_p([0.0, 0.0, float("-inf")], past, target=0.5, decay=0.75).logits
    [5.0, 5.0, -inf]
    """
    read_choice("width", width, WIDTHS)
    here = numbers.of(candidates)
    sums = adaptive_p_start(target, decay, numbers=numbers) if past is None else past
    sums = PastProbabilities(*map(numbers.scalar, sums))
    aim = adaptive_p_aim(sums, numbers.scalar(target))
    breadth = numbers.scalar(WIDTH)
    inverse = 1 / breadth
    changed = ReadRow(here.values)
    for place, probability in enumerate(here.probabilities()):
        if changed[place] > -inf:
            away = numbers.scalar(probability) - aim
            distance: Any = abs(away / breadth if width == "division" else away * inverse)
            changed[place] = PEAK - SHARPNESS * distance * distance / (1 + distance)
    return replace(here.candidates, logits=changed, factor=Fraction(1), whole=None)


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
