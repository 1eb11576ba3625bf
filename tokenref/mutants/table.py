"""All mutants by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tokenref.mutants.calls import CALLS
from tokenref.mutants.cutting import CUTTING
from tokenref.mutants.decoding import DECODING
from tokenref.mutants.growing import GROWING
from tokenref.mutants.merging import MERGING
from tokenref.mutants.mutant import Mutant, by_name
from tokenref.mutants.parts import PARTS
from tokenref.mutants.pipelines_added import ADDED
from tokenref.mutants.pipelines_after import AFTER
from tokenref.mutants.pipelines_cutting import CUTTING as PIPELINES_CUTTING
from tokenref.mutants.pipelines_decoding import DECODING as PIPELINES_DECODING
from tokenref.mutants.pipelines_model import MODEL
from tokenref.mutants.pipelines_normalizers import NORMALIZERS
from tokenref.mutants.pipelines_streams import STREAMS as PIPELINES_STREAMS
from tokenref.mutants.sampling_chains import CHAINED
from tokenref.mutants.sampling_controls import CONTROLS as SAMPLING_CONTROLS
from tokenref.mutants.sampling_draws import DRAWS
from tokenref.mutants.sampling_filters import FILTERS
from tokenref.mutants.sampling_own_numbers import OWN_NUMBERS
from tokenref.mutants.sampling_rows import ROWS
from tokenref.mutants.special import SPECIAL
from tokenref.mutants.streams import STREAMS
from tokenref.mutants.vocabularies import VOCABULARIES

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
