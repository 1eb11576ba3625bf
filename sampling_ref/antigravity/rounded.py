"""The function in 32-bit floats: every operation rounds as the program's does.

Sums run in the order of the row, in the softmax, and in the order of the sort afterwards.
`exp` is that of glibc, which Rust programs call on Linux. Whole rows are calculated in
64 bits and rounded at once; for one operation on 32-bit numbers that is the same (see
`arithmetic.binary32`).
"""

from collections.abc import Sequence
from math import inf

from sampling_ref.errors import RowError
from sampling_ref.numbers.binary32 import Binary32, all_to_binary32, sum_in_binary32
from sampling_ref.numbers.glibc import expf_of_all
from sampling_ref.row import Number, TokenId


def scale_in_32_bits(penalised: Sequence[float], temperature: float) -> list[float]:
    """Return the logits divided by a temperature; refuse what the softmax would make NaN of.

    >>> scale_in_32_bits([1.0, -inf], 0.5)
    [2.0, -inf]
    """
    scaled = all_to_binary32([logit / temperature for logit in penalised])
    greatest = max(scaled)
    if greatest == inf:
        token = scaled.index(inf)
        rule = "must stay finite in 32 bits after penalty and temperature"
        raise RowError(f"logits[{token}] {rule}, got inf")
    if greatest == -inf:
        raise RowError("logits leave no token possible in 32 bits after penalty and temperature")
    return scaled


def softmax_in_32_bits(scaled: Sequence[float]) -> list[float]:
    """Return e^(logit - greatest) for each logit, divided by the sum of them all.

    >>> softmax_in_32_bits([1.0, 1.0, -inf])
    [0.5, 0.5, 0.0]
    """
    greatest = max(scaled)
    weights = expf_of_all(all_to_binary32([logit - greatest for logit in scaled]))
    total = sum_in_binary32(weights)
    return all_to_binary32([weight / total for weight in weights])


def nucleus_in_32_bits(
    probabilities: Sequence[float], candidates: list[TokenId], top_p: Number
) -> list[TokenId]:
    """Return the candidates up to the first at which the running sum is greater than `top_p`.

    >>> nucleus_in_32_bits([0.25, 0.5, 0.25], [1, 0, 2], Binary32(0.5))
    [1, 0]
    """
    running = Binary32(0)
    for place, token in enumerate(candidates):
        running += probabilities[token]
        if running > top_p:
            return candidates[: place + 1]
    return candidates


def draw_in_32_bits(
    probabilities: Sequence[float], kept: Sequence[TokenId], r: Number
) -> TokenId | None:
    """Return the first token at which no more than 0 is left, or None if that never happens.

    >>> row = [0.25, 0.5]
    >>> draw_in_32_bits(row, [1, 0], Binary32(0.5)), draw_in_32_bits(row, [1, 0], Binary32(0.75))
    (1, 0)
    """
    left = Binary32(r) * sum_in_binary32(probabilities[token] for token in kept)
    for token in kept:
        left -= probabilities[token]
        if left <= 0:
            return token
    return None
