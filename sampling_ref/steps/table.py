"""The closed list of steps, under the names that profiles and chains use."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sampling_ref.steps import smoothing
from sampling_ref.steps.adaptive import ADAPTIVE_STEPS
from sampling_ref.steps.filters import FILTER_STEPS
from sampling_ref.steps.penalties import PENALTY_STEPS
from sampling_ref.steps.shapes import SHAPE_STEPS
from sampling_ref.steps.step import Apply, Step

RULES = (smoothing,)
"""The files that define one rule each; `STEP` at the end of each is its step."""

STEPS: Mapping[str, Step] = MappingProxyType(
    {
        step.name: step
        for step in (
            *PENALTY_STEPS,
            *SHAPE_STEPS,
            *FILTER_STEPS,
            *ADAPTIVE_STEPS,
            *(rule.STEP for rule in RULES),
        )
    }
)
"""Every step by its name."""


def steps_applying(applies: Mapping[str, Apply]) -> Mapping[str, Step]:
    """Return steps of the table that do what they do in another way, by their names.

    >>> list(steps_applying({"top_k": lambda candidates, situation, values: candidates}))
    ['top_k']
    """
    return MappingProxyType(
        {name: replace(STEPS[name], apply=apply) for name, apply in applies.items()}
    )
