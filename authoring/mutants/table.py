"""All mutants by name."""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final

from authoring.mutants import (
    calls,
    cutting,
    decoding,
    grammars,
    growing,
    merging,
    parts,
    pipelines_added,
    pipelines_after,
    pipelines_cutting,
    pipelines_decoding,
    pipelines_model,
    pipelines_normalizers,
    pipelines_segmenting,
    pipelines_sizes,
    pipelines_streams,
    sampling_batches,
    sampling_chains,
    sampling_computed,
    sampling_controls,
    sampling_draws,
    sampling_filters,
    sampling_kernels,
    sampling_long,
    sampling_masks,
    sampling_own_numbers,
    sampling_reports,
    sampling_rows,
    sampling_sizes,
    sampling_speculative,
    sizes,
    special,
    streams,
    vocabularies,
)
from authoring.mutants.mutant import Mutant, by_name, declared

MODULES: Final = (
    *(merging, vocabularies, cutting, special, decoding, growing, parts, streams, calls, sizes),
    grammars,
    *(pipelines_model, pipelines_added, pipelines_normalizers, pipelines_cutting),
    *(pipelines_after, pipelines_decoding, pipelines_streams, pipelines_sizes),
    pipelines_segmenting,
    *(sampling_filters, sampling_rows, sampling_draws, sampling_chains, sampling_own_numbers),
    *(sampling_sizes, sampling_long, sampling_masks, sampling_reports, sampling_speculative),
    *(sampling_batches, sampling_kernels, sampling_computed),
)
"""The modules that define mutants, in the order in which the page lists them."""

MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType(
    by_name(chain.from_iterable(map(declared, MODULES)))
)
"""Every mutant by name."""

CONTROLS: Final[Mapping[str, Mutant]] = MappingProxyType(by_name(declared(sampling_controls)))
"""What is right in another way, and must survive."""
