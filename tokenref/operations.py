"""What there is to read about each operation, and the glossary: the flags of records.

A flag is a kind of bug, with its effect and where it happened. It says which bug a record looks
for. `tokenref check ENGINE --flag LeftmostTie` runs all records that look for wrong tie-breaks. The
texts are in `operations.json` and, in alphabetical order, in `glossary.json`, which the fixtures
contain, too.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple


class About(NamedTuple):
    """What there is to read about an operation."""

    asks: str
    """The end of a sentence that begins with "Asks", which is part of the schema."""

    spec: str
    """Where its rule is written down: a page and an anchor."""

    lesson: str
    """The section of the book that teaches it, with pictures and examples."""

    modules: tuple[str, ...] = ()
    """The modules of `sampling_ref` that define it. What asks another operation several times, or
    runs an engine's whole chain, has none."""


class Flag(NamedTuple):
    """One kind of bug."""

    description: str
    """The rule or the question, and the bug."""

    effect: str
    """What goes wrong for users."""

    spec: str
    """Where the rule is written down: a page and an anchor."""

    links: list[str]
    """Issues where it happened."""


def _read(name: str) -> Mapping[str, dict[str, Any]]:
    content: Mapping[str, dict[str, Any]] = json.loads(
        files("tokenref").joinpath(name).read_bytes()
    )
    return content


ABOUT: Final = {op: About(**row) for op, row in _read("operations.json").items()}
"""Every operation by its name."""

FLAGS: Final = {name: Flag(**row) for name, row in _read("glossary.json").items()}
"""Every flag by its name."""
