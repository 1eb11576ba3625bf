"""The closed list of steps, under the names that profiles and chains use."""

from collections.abc import Mapping
from types import MappingProxyType

from sampling_ref.steps.adaptive import ADAPTIVE_STEPS
from sampling_ref.steps.filters import FILTER_STEPS
from sampling_ref.steps.penalties import PENALTY_STEPS
from sampling_ref.steps.shapes import SHAPE_STEPS
from sampling_ref.steps.step import Step

STEPS: Mapping[str, Step] = MappingProxyType(
    {step.name: step for step in (*PENALTY_STEPS, *SHAPE_STEPS, *FILTER_STEPS, *ADAPTIVE_STEPS)}
)
"""Every step by its name."""
