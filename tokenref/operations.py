"""What there is to read about each operation. The texts are in `operations.json`."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Final, NamedTuple


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


ABOUT: Final[Mapping[str, About]] = {
    op: About(**about)
    for op, about in json.loads(files("tokenref").joinpath("operations.json").read_bytes()).items()
}
"""Every operation by its name."""
