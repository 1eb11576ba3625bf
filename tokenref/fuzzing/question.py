"""One question of a campaign: what is asked about what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tokenref.subjects import Subject

Request: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """What is asked about what.

    >>> from tokenref.subjects import SAMPLERS
    >>> Question("greedy", "standard", SAMPLERS, "", {"logits": {"f32": "3f000000"}}).op
    'greedy'
    """

    op: str
    profile: str
    subject: Subject
    name: str
    """What the subject is called; empty if it was drawn."""

    request: Request
    """The `in` of a record, as plain data."""
