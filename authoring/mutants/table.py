"""All mutants by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from authoring.mutants.calls import CALLS
from authoring.mutants.cutting import CUTTING
from authoring.mutants.decoding import DECODING
from authoring.mutants.growing import GROWING
from authoring.mutants.merging import MERGING
from authoring.mutants.mutant import Mutant, by_name
from authoring.mutants.parts import PARTS
from authoring.mutants.pipelines_added import ADDED
from authoring.mutants.pipelines_after import AFTER
from authoring.mutants.pipelines_cutting import CUTTING as PIPELINES_CUTTING
from authoring.mutants.pipelines_decoding import DECODING as PIPELINES_DECODING
from authoring.mutants.pipelines_model import MODEL
from authoring.mutants.pipelines_normalizers import NORMALIZERS
from authoring.mutants.pipelines_streams import STREAMS as PIPELINES_STREAMS
from authoring.mutants.sampling_chains import CHAINED
from authoring.mutants.sampling_controls import CONTROLS as SAMPLING_CONTROLS
from authoring.mutants.sampling_draws import DRAWS
from authoring.mutants.sampling_filters import FILTERS
from authoring.mutants.sampling_own_numbers import OWN_NUMBERS
from authoring.mutants.sampling_rows import ROWS
from authoring.mutants.special import SPECIAL
from authoring.mutants.streams import STREAMS
from authoring.mutants.vocabularies import VOCABULARIES

MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType(
    by_name(
        [
            *(*MERGING, *VOCABULARIES, *CUTTING, *SPECIAL, *DECODING),
            *(*GROWING, *PARTS, *STREAMS, *CALLS),
            *(*MODEL, *ADDED, *NORMALIZERS, *PIPELINES_CUTTING),
            *(*AFTER, *PIPELINES_DECODING, *PIPELINES_STREAMS),
            *(*FILTERS, *ROWS, *DRAWS, *CHAINED, *OWN_NUMBERS),
        ]
    )
)
"""Every mutant by name."""

CONTROLS: Final[Mapping[str, Mutant]] = MappingProxyType(by_name(SAMPLING_CONTROLS))
"""What is right in another way, and must survive."""
