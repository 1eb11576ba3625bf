"""Quadratic smoothing: logits fall with the square of their distance from the largest.

kalomaze, "Quadratic sampling", 2024
(https://github.com/oobabooga/text-generation-webui/pull/5403), as in exllamav2, commit
da07facd, `exllamav2_ext/cpp/sampling.cpp`, function `softmax_cpu`. In our words:

    Replace each logit l by -(l - m)**2 * factor, m being the largest logit.

What it does
    Logits near the largest come closer to it, those that are more than 1/factor away fall
    further behind.
The largest
    becomes 0, and with it all logits.
Temperature
    Divides the result. exllamav2 does both in one step.
Far away
    A square that no float can hold makes the token impossible.
The whole row impossible
    stays so.
"""

from typing import Any

from sampling_ref.parameters import read_number
from sampling_ref.row import Number, TokenId, change_logits, read_logits
from sampling_ref.steps.step import entries_step


def smoothing(
    logits: Any,
    smoothing_factor: Number,
) -> list[Number]:
    """Return the row after quadratic smoothing.

    >>> smoothing([3.0, 1.0, 2.5, float("-inf")], 0.5)
    [-0.0, -2.0, -0.125, -inf]
    """
    numbers = read_logits(logits)
    strength = read_number("smoothing_factor", smoothing_factor, "(0, inf)")
    largest = max(numbers)

    def smoothed(_: TokenId, logit: Number) -> Number:
        distance = logit - largest
        return -(distance * distance) * strength

    return change_logits("smoothing", numbers, range(len(numbers)), smoothed)


STEP = entries_step("smoothing", smoothing, "logits fall with the square of their distance")
