"""All cases about samplers, in the order in which the fixtures have them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Final

from tokenref.cases.sampling.draft import SamplerDraft

TOPICS: Final[tuple[ModuleType, ...]] = ()
"""The modules that have cases. New ones are added at the end."""


def all_sampler_drafts() -> Iterator[SamplerDraft]:
    """Yield every case, always in the same order."""
    for topic in TOPICS:
        yield from topic.drafts()
