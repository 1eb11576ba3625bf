"""32-bit floats in plain order: what a straightforward kernel computes.

Every operation is rounded to binary32; sums run one after the other, over the candidates
in the order they have; exp is glibc's. Real kernels add in blocks and trees and have an
exp of their own, so their last bits differ, and with them what lies within a few units
in the last place of a threshold.

A combination
    Thresholds take the 32-bit probabilities as exact numbers (`Plain32Row` is a row of
    weights). Rules that compare logits or entropies (typical, eta, top-h, top-n-sigma,
    mirostat) decide exactly on the 32-bit logits.
Order
    Candidates are sorted by their 32-bit probabilities, so that logits are equals whose
    probabilities round to the same float.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

from sampling_ref.errors import RowError
from sampling_ref.numbers.binary32 import (
    Binary32,
    all_to_binary32,
    quotient,
    sum_in_binary32,
    to_binary32,
)
from sampling_ref.numbers.exact import ExactRow, HeldWeights, WeightRow
from sampling_ref.numbers.glibc import expf_of_all
from sampling_ref.numbers.protocol import Compared, Held, Numbers, Row, Walk, Width, refuse
from sampling_ref.row import Candidates, Number, ReadRow, read_logits, read_possible_logits


def weights_in_32_bits(logits: Sequence[Number]) -> tuple[list[float], list[float], float]:
    """Return logits less the largest, e to these powers, and their sum.

    >>> weights_in_32_bits([1.0, 1.0, float("-inf")])
    ([0.0, 0.0, -inf], [1.0, 1.0, 0.0], 2.0)
    """
    floats = list(map(float, read_possible_logits(ReadRow(logits))))
    top = max(floats)
    gaps = all_to_binary32([logit - top for logit in floats])
    weights = expf_of_all(gaps)
    return gaps, weights, sum_in_binary32(weights)


def softmax_in_32_bits(
    logits: Sequence[Number], whole: Sequence[Number] | None = None
) -> list[float]:
    """Return e**(logit - largest), divided by their sum, or by that of a larger row.

    >>> softmax_in_32_bits([1.0, 1.0, float("-inf")])
    [0.5, 0.5, 0.0]
    """
    _, weights, total = weights_in_32_bits(logits)
    if whole is not None:
        largest = float(max(logits))
        others = [float(logit) - largest for logit in whole]
        total = sum_in_binary32(expf_of_all(all_to_binary32(others)))
    return all_to_binary32([weight / total for weight in weights])


class Plain32Row(WeightRow):
    """32-bit probabilities; running sums are rounded after each addition."""

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        """Return where the running sum reaches a share, all of it in 32 bits."""
        if isinstance(walk, Walk) and walk.upwards:
            raise refuse("walked", "upwards", "plain 32 bits")
        places = walk.places if isinstance(walk, Walk) else walk
        target = to_binary32(share)
        if of == "walk":
            target = to_binary32(
                target * sum_in_binary32(float(self.values[place]) for place in places)
            )
        running = 0.0
        for index, place in enumerate(places):
            running = to_binary32(running + self.values[place])
            if running > target or (running == target and not strictly):
                return index
        return None

    def held(self, share: Fraction) -> Held:
        """Return an empty sum that rounds whenever it grows or shrinks."""
        return HeldWeights(self.values, to_binary32(share), Binary32)

    def probabilities(self, *, log: bool = False) -> list[float]:
        if log:
            raise refuse("log", log, "a row of 32-bit probabilities")
        return [float(share) for share in self.values]


class Plain32(Numbers):
    """32-bit floats in plain order."""

    rounds = True

    def read(self, row: Any) -> list[Number]:
        """Return the checked logits of a row, rounded to 32 bits."""
        return [to_binary32(logit) for logit in read_logits(row)]

    def number(self, value: Number) -> Number:
        return Binary32(value)

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        """Return the row of 32-bit logits, on which decisions are exact, or of probabilities."""
        if compared == "logits":
            return ExactRow(candidates)
        whole = candidates.whole if compared == "whole shares" else None
        return Plain32Row(candidates, softmax_in_32_bits(candidates.logits, whole))

    def divided(self, candidates: Candidates, temperature: Number) -> Candidates:
        """Return the rounded quotients; an infinite one is an error."""
        divisor = to_binary32(temperature)
        quotients = all_to_binary32([quotient(float(x), divisor) for x in candidates.logits])
        if divisor == inf and -inf in candidates.logits:
            raise RowError("the temperature inf makes no number of a logit at minus infinity")
        if not max(quotients) < inf:
            raise RowError(f"the temperature {divisor!r} makes logits too large for 32 bits")
        return replace(candidates, logits=ReadRow(quotients), whole=None)

    def uniform(self, number: Number, width: Width) -> Number:
        """Return a random number; a draw rounds it to 32 bits."""
        return to_binary32(number) if width == "f64" else number


PLAIN32 = Plain32()
"""32-bit floats in plain order, for engines without an arithmetic of their own."""
