"""What a campaign asks: how questions are numbered and selected, the plan with its shard, limits.

The plan is the header of a campaign's journal. It determines which questions are asked.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from tokenref.record import PIPELINE_OPS, SAMPLER_OPS
from tokenref.subjects import Subject


class CampaignError(Exception):
    """A journal, an executor or a finding that cannot be used; the sentence says which and why."""


GENERATOR: Final = 1
"""Changes whenever a question of some seed and index becomes another one."""

GROUP: Final = 16
"""Questions about one thing: question i is in group i // GROUP."""

Kind: TypeAlias = Literal["vocabulary", "tokenizer", "sampler"]


class Selection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which questions a campaign asks."""

    ops: list[str]
    profiles: list[str] = []
    """Of samplers; all that there are if empty."""

    subjects: list[str] = []
    """Vocabularies and tokenizers by name or path; if empty, drawn ones and those shipped."""


def kind_of(op: str) -> Kind:
    """Return what an operation asks about.

    >>> kind_of("encode"), kind_of("tokenize"), kind_of("top_p")
    ('vocabulary', 'tokenizer', 'sampler')
    """
    if op in PIPELINE_OPS:
        return "tokenizer"
    return "sampler" if op in SAMPLER_OPS else "vocabulary"


class Shard(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The `number`-th of `count` parts, counted from 1: of `count` groups in a row, one.

    So shards are disjoint, and together they are all.

    >>> [group for group in range(7) if Shard(2, 3).has(group)]
    [1, 4]
    """

    number: Annotated[int, Meta(ge=1)]
    count: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        """Hold the rule that there is such a part."""
        if self.number > self.count:
            raise ValueError(f"a shard must be one of {self.count}, got {self.number}")

    def has(self, group: int) -> bool:
        """Tell whether a group belongs to this shard."""
        return group % self.count == self.number - 1

    def group(self, place: int) -> int:
        """Return the shard's own group at this place.

        >>> Shard(2, 3).group(1)
        4
        """
        return place * self.count + self.number - 1

    def __str__(self) -> str:
        """Return it as it is given on the command line."""
        return f"{self.number}/{self.count}"


WHOLE: Final = Shard(1, 1)


class Plan(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="header"
):
    """The first line of a journal. Two shards of one campaign differ in `shard` only."""

    format: Literal[1] = 1
    generator: int = GENERATOR
    hypothesis: str
    tokenref: str
    seed: Annotated[int, Meta(ge=0)]
    engine: str
    """The engine as it was given: a name, or a command."""

    engine_version: str
    selection: Selection
    ignored: list[str] = []
    """What is no finding: globs of operation, status and detail, as `decode crash *KeyError*`."""

    cases: Annotated[int, Meta(ge=1)] | None = None
    """How many questions all shards together have; null if only time ends the campaign."""

    fingerprint: str
    """Of the first questions, see `drawn_questions.fingerprint`."""

    again: list[str] = []
    """The options that chose all this, for asking one question again."""

    shard: Shard = WHOLE

    @property
    def groups(self) -> int | None:
        """How many groups all shards together have, if that is known."""
        return None if self.cases is None else -(-self.cases // GROUP)


def difference(mine: Plan, other: Plan, *, but: tuple[str, ...] = ("again",)) -> str | None:
    """Return the first thing in which two plans differ, as a sentence's end, or None."""
    for name in Plan.__struct_fields__:
        ours, theirs = getattr(mine, name), getattr(other, name)
        if name not in but and ours != theirs:
            return f"{name.replace('_', ' ')} must be {_shown(ours)}, got {_shown(theirs)}"
    return None


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, Shard) else repr(value)


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


SECONDS: Final = 20.0
"""For one failure, unless something else is said."""


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When shrinking stops, finished or not.

    >>> 19 < Limits().left() <= 20, Limits(until=0.0).left()
    (True, 0.0)
    """

    seconds: float = SECONDS
    """For each failure."""

    until: float | None = None
    """For all of them: seconds since 1970, which other machines know, too."""

    def left(self) -> float:
        """Return how many seconds a failure has that is begun now."""
        if self.until is None:
            return self.seconds
        return max(0.0, min(self.seconds, self.until - time.time()))
