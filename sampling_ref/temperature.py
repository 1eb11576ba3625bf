"""Temperature: divide every logit.

Ackley, Hinton and Sejnowski, "A Learning Algorithm for Boltzmann Machines", Cognitive
Science 9(1), 1985, section 2 (https://doi.org/10.1207/s15516709cog0901_7). In our words:

    Divide all logits by the temperature: above 1 the probabilities become more equal,
    below 1 less so.

Zero
    Nothing can be divided by it. Engines take a temperature of zero, or one below some
    threshold, for a command to return the most probable token: see `greedy`.
Arithmetic
    `arithmetic="reciprocal"` multiplies with the rounded `1 / temperature`, as mlx-lm does,
    and as PyTorch does on a graphics card; over rationals both are the same.
Invariance
    A number added to all logits changes no probability, before or after.
"""

from math import inf
from typing import Any, Literal, get_args

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_choice, read_number
from sampling_ref.row import Number, read_logits

Arithmetic = Literal["division", "reciprocal"]


def temperature(
    logits: Any,
    temperature: Number,
    *,
    arithmetic: Arithmetic = "division",
) -> list[Number]:
    """Return the row divided by the temperature.

    >>> temperature([1.0, -0.5, float("-inf")], 0.5)
    [2.0, -1.0, -inf]
    """
    numbers = read_logits(logits)
    divisor = read_number("temperature", temperature, "(0, inf)")
    read_choice("arithmetic", arithmetic, get_args(Arithmetic))
    divided: list[Number]  # minus infinity stays what it is under both operations
    if arithmetic == "division":
        divided = [logit / divisor for logit in numbers]
    else:
        factor = 1 / divisor
        divided = [logit * factor for logit in numbers]
    # A sum is one pass in C; it misses no NaN, but may be infinite where no term is.
    if not sum(divided) < inf and not all(logit < inf for logit in divided):
        raise ParameterError("temperature", temperature, "must leave all logits finite")
    return divided
