"""Quadratic smoothing: logits fall with the square of their distance from the largest.

kalomaze, "Quadratic sampling", 2024
(https://github.com/oobabooga/text-generation-webui/pull/5403), as in exllamav2, commit
da07facd, `exllamav2_ext/cpp/sampling.cpp`, function `softmax_cpu`. The rule:

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

from dataclasses import replace
from fractions import Fraction

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_number
from sampling_ref.row import Candidates, Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import rule


@rule("logits fall with the square of their distance")
def smoothing(
    candidates: Candidates, smoothing_factor: Number, *, numbers: Numbers = EXACT
) -> Candidates:
    """Return the candidates after quadratic smoothing.

    >>> smoothing([3.0, 1.0, 2.5, float("-inf")], 0.5).row(4)
    [0.0, -2.0, -0.125, -inf]
    """
    strength = read_number("smoothing_factor", smoothing_factor, "(0, inf)")
    logits = [numbers.number(logit) for logit in candidates.true_logits()]
    largest = max(logits)

    def smoothed(_: TokenId, logit: Number) -> Number:
        distance = logit - largest
        return -(distance * distance) * strength

    changed = ReadRow(change_logits("smoothing", logits, range(len(logits)), smoothed))
    return replace(candidates, logits=changed, factor=Fraction(1), whole=None)
