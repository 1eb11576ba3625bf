"""All mutants by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tokenref.mutants.merging import MERGING
from tokenref.mutants.mutant import Mutant, by_name
from tokenref.mutants.vocabularies import VOCABULARIES

MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType(by_name([*MERGING, *VOCABULARIES]))
"""Every mutant by name."""
