"""What a 32-bit twin is: its own steps where the exact ones round nothing, a law, a draw."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sampling_ref.candidates import Candidates
from sampling_ref.engines.profile import Draw
from sampling_ref.row import TokenId
from sampling_ref.situation import Situation
from sampling_ref.steps.step import Step

Law: TypeAlias = Callable[[Candidates], list[float]]
"""The probability of each candidate, in their order."""

Drawing: TypeAlias = Callable[[Candidates, Situation, Draw], TokenId]
"""The token that a draw chooses among candidates."""


@dataclass(frozen=True)
class Twin:
    """The 32-bit side of a profile. Steps that it does not name are the exact ones.

    Those round, too: a situation in 32 bits calculates with 32-bit numbers. What a twin
    names are the steps that sum or exponentiate. `exact` are steps that round nothing and
    sort for themselves: for an engine's own order of candidates, which no rounding explains.
    """

    steps: Mapping[str, Step]
    law: Law
    draw: Drawing
    sorts_itself: bool = False
    exact: Mapping[str, Step] = field(default_factory=dict)
