"""What the doctor finds: one thing at a time, explained."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that is well, worth knowing, or wrong."""

    kind: Kind
    about: str
    """Which part of the conversation: start, hello, load, an operation, bye."""

    text: str
    wrote: str = ""
    """The line at fault, as it can be shown."""

    right: str = ""
    """What would have been right."""

    hint: str = ""
    """What to do about it."""

    asked: str = ""
    """The question that was put, its numbers in decimal."""


class StopError(Exception):
    """Nothing more can be found out; the finding says why."""

    def __init__(self, finding: Finding) -> None:
        """Take the last finding."""
        super().__init__(finding.text)
        self.finding = finding
