"""All mutants by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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
from tokenref.mutants.special import SPECIAL
from tokenref.mutants.streams import STREAMS
from tokenref.mutants.vocabularies import VOCABULARIES

MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType(
    by_name(
        [
            *(*MERGING, *VOCABULARIES, *CUTTING, *SPECIAL, *DECODING),
            *(*GROWING, *PARTS, *STREAMS),
            *(*MODEL, *ADDED, *NORMALIZERS, *PIPELINES_CUTTING),
            *(*AFTER, *PIPELINES_DECODING, *PIPELINES_STREAMS),
        ]
    )
)
"""Every mutant by name."""
