"""What a step may look at besides the candidates: the past, random numbers, its memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sampling_ref.random.sources import Given, Randomness
from sampling_ref.row import Number, TokenId


def exactly(number: Number) -> Number:
    """Return a number as the rational that it is; infinities and NaN stay what they are.

    >>> exactly(0.5), exactly(float("inf"))
    (Fraction(1, 2), inf)
    """
    try:
        return Fraction(number)
    except (OverflowError, ValueError):  # for the step to judge
        return number


@dataclass(frozen=True)
class Situation:
    """Everything besides the candidates that a step depends on.

    `size` is the number of tokens of the vocabulary, `randomness` gives the random numbers
    that steps and draw consume in order, and `state` is what adaptive steps remember
    from the token before. `number` makes the numbers that a step calculates with: exact
    rationals, or 32-bit floats that round after every operation.
    """

    size: int
    history: Sequence[TokenId] = ()
    prompt_length: int = 0
    randomness: Randomness = field(default_factory=lambda: Given([]))
    state: Mapping[str, Any] = field(default_factory=dict)
    number: Callable[[Number], Number] = exactly
