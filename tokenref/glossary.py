"""The glossary: the flags of records, each a kind of bug, with its effect and where it happened.

A flag says which bug a record looks for. `tokenref check ENGINE --flag LeftmostTie` runs all
records that look for wrong tie-breaks. The texts are in `glossary.json`, in alphabetical order;
the fixtures contain the same file.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import msgspec
from msgspec import Struct


class Flag(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of bug."""

    description: str
    """The rule or the question, and the bug."""

    effect: str
    """What goes wrong for users."""

    spec: str
    """Where the rule is written down: a page and an anchor."""

    links: list[str]
    """Issues where it happened."""


FLAGS: Final[Mapping[str, Flag]] = msgspec.json.decode(
    files("tokenref").joinpath("glossary.json").read_bytes(), type=dict[str, Flag]
)
"""Every flag by name."""
