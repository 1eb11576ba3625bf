"""Temperature: divide every logit.

Ackley, Hinton and Sejnowski, "A Learning Algorithm for Boltzmann Machines", Cognitive
Science 9(1), 1985, section 2 (https://doi.org/10.1207/s15516709cog0901_7). The rule:

    Divide all logits by the temperature: above 1 the probabilities become more equal,
    below 1 less so.

Zero
    Nothing can be divided by it: "error". With "first largest" only the first of the largest
    logits stays possible. Engines take a temperature of zero, or one below some threshold,
    for a command to return the most probable token: see `greedy`.
Added
    Some programs add a small number to the temperature before they divide.
Arithmetic
    Some programs multiply with the rounded `1 / temperature` instead; in exact arithmetic
    both are the same.
Invariance
    A number added to all logits changes no probability, before or after.
"""

from fractions import Fraction
from typing import Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.orders import first_largest
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_number
from sampling_ref.row import Candidates, Number
from sampling_ref.steps.step import rule


@rule("divided by {temperature}", whys={"temperature 0": "keeps the first of the largest logits"})
def temperature(
    candidates: Candidates,
    temperature: Number,
    added: Number = 0,
    *,
    zero: Literal["error", "first largest"] = "error",
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates with their logits divided by the temperature.

    >>> temperature([1.0, -0.5, float("-inf")], 0.5).row(3)
    [2.0, -1.0, -inf]
    >>> temperature([1.0, 3.0, 3.0], 0, zero="first largest").row(3)
    [-inf, 3.0, -inf]
    """
    domain = "(0, inf)" if zero == "error" else "[0, inf)"
    read_number("temperature", temperature, domain)
    divisor = numbers.number(Fraction(temperature) + Fraction(read_number("added", added)))
    if divisor == 0:
        return candidates.only(first_largest(candidates.logits))
    return numbers.divided(candidates, divisor)
