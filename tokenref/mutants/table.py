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
from tokenref.mutants.special import SPECIAL
from tokenref.mutants.streams import STREAMS
from tokenref.mutants.vocabularies import VOCABULARIES

MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType(
    by_name([*MERGING, *VOCABULARIES, *CUTTING, *SPECIAL, *DECODING, *GROWING, *PARTS, *STREAMS])
)
"""Every mutant by name."""
