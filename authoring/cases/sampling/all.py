"""All cases about samplers, in the order in which the fixtures have them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Final

from authoring.cases.sampling import (
    adaptive,
    batches,
    chains,
    chains_long,
    draws,
    draws_races,
    draws_refused,
    draws_several,
    filters_boundary,
    filters_counts,
    filters_engines,
    filters_equality,
    filters_formulas,
    filters_long,
    filters_parameters,
    filters_published,
    filters_rounding,
    filters_rows,
    filters_sixteen_bit,
    filters_ties,
    random_numbers,
    random_streams,
    rows_biases,
    rows_dry,
    rows_lengths,
    rows_of_engines,
    rows_penalties,
    rows_refused,
    rows_shapes,
    rows_softmax,
    sequences,
    speculative,
    speculative_listed,
    statistics,
    survey_disagreements,
    survey_goldens,
    survey_lz,
    survey_orders,
    worked_examples,
)
from authoring.cases.sampling.draft import SamplerDraft

TOPICS: Final[tuple[ModuleType, ...]] = (
    draws,
    draws_races,
    draws_several,
    draws_refused,
    random_streams,
    random_numbers,
    speculative,
    speculative_listed,
    adaptive,
    filters_boundary,
    filters_equality,
    filters_formulas,
    filters_ties,
    filters_rows,
    filters_parameters,
    filters_counts,
    filters_engines,
    filters_rounding,
    filters_sixteen_bit,
    filters_long,
    filters_published,
    batches,
    sequences,
    statistics,
    rows_penalties,
    rows_dry,
    rows_biases,
    rows_lengths,
    rows_shapes,
    rows_softmax,
    rows_of_engines,
    rows_refused,
    chains,
    chains_long,
    worked_examples,
    survey_goldens,
    survey_disagreements,
    survey_lz,
    survey_orders,
)
"""The modules that have cases. New ones are added at the end."""


def all_sampler_drafts() -> Iterator[SamplerDraft]:
    """Yield every case, always in the same order."""
    for topic in TOPICS:
        yield from topic.drafts()
