"""What a campaign asks: how questions are numbered and selected, the plan with its shard, limits.

The plan is the header of a campaign's journal. It determines which questions are asked.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from tokenref.known import Known
from tokenref.record import PIPELINE_OPS, SAMPLER_OPS
from tokenref.subjects import Subject

GENERATOR: Final = 1
"""Incremented when a question of some seed and number changes."""

GROUP: Final = 16
"""Number of questions per group: question i is in group i // GROUP."""

Kind: TypeAlias = Literal["vocabulary", "tokenizer", "sampler"]


class Selection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The questions that a campaign asks."""

    ops: list[str]
    profiles: list[str] = []
    """Profiles of samplers; if empty, all."""

    subjects: list[str] = []
    """Vocabularies and tokenizers by name or path; if empty, random and shipped ones."""

    pattern: str | None = None
    """The pattern of files that hold none."""

    pairs: bool = True
    """Whether `tokenize` is asked about pairs of texts, too."""


def kind_of(op: str) -> Kind:
    """Return the kind of subject of an operation.

    >>> kind_of("encode"), kind_of("tokenize"), kind_of("top_p")
    ('vocabulary', 'tokenizer', 'sampler')
    """
    if op in PIPELINE_OPS:
        return "tokenizer"
    return "sampler" if op in SAMPLER_OPS else "vocabulary"


class Shard(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Part `number` of `count` parts, counted from 1: every `count`-th group.

    So shards are disjoint, and together they are complete.

    >>> [group for group in range(7) if Shard(2, 3).has(group)]
    [1, 4]
    """

    number: Annotated[int, Meta(ge=1)]
    count: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the number is at most the count."""
        if self.number > self.count:
            raise ValueError(f"a shard must be one of {self.count}, got {self.number}")

    def has(self, group: int) -> bool:
        """Return whether a group belongs to this shard."""
        return group % self.count == self.number - 1

    def group(self, place: int) -> int:
        """Return the shard's group at an index.

        >>> Shard(2, 3).group(1)
        4
        """
        return place * self.count + self.number - 1

    def __str__(self) -> str:
        """Return the shard as written on the command line."""
        return f"{self.number}/{self.count}"


WHOLE: Final = Shard(1, 1)


class Plan(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="header"
):
    """The first line of a journal. The shards of one campaign differ only in `shard`."""

    format: Literal[1] = 1
    generator: int = GENERATOR
    hypothesis: str
    tokenref: str
    seed: Annotated[int, Meta(ge=0)]
    engine: str
    """The engine as given: a name or a command."""

    engine_version: str
    selection: Selection
    ignored: list[str] = []
    """Failures to ignore: patterns of operation, status, detail, as `decode crash *KeyError*`."""

    known: list[Known] = []
    """The known differences of the engine. Failures like theirs are counted, but no findings."""

    records: list[str] = []
    """Files of the user's own records that the known differences are about, too."""

    ids_only: bool = False
    """Whether only the ids of answers to `tokenize` are compared."""

    cases: Annotated[int, Meta(ge=1)] | None = None
    """Number of questions in all shards; null if only time ends the campaign."""

    fingerprint: str
    """A digest of the first questions, see `drawn_questions.fingerprint`."""

    again: list[str] = []
    """The options of the campaign, for asking one question again."""

    shard: Shard = WHOLE

    @property
    def groups(self) -> int | None:
        """Number of groups in all shards, if known."""
        return None if self.cases is None else -(-self.cases // GROUP)


def difference(mine: Struct, other: Struct, *, but: tuple[str, ...] = ("again",)) -> str | None:
    """Return the first difference between two plans as part of a sentence, or None."""
    for name in mine.__struct_fields__:
        ours, theirs = getattr(mine, name), getattr(other, name)
        if name not in but and ours != theirs:
            if isinstance(ours, Selection):
                return difference(ours, theirs)
            named = _OPTIONS.get(name, name.replace("_", " "))
            return f"{named} must be {_shown(ours)}, got {_shown(theirs)}"
    return None


_OPTIONS: Final = {
    "ops": "--op",
    "profiles": "--profile",
    "subjects": "--vocabulary",
    **{name: f"--{name}" for name in ("seed", "cases", "known", "pattern", "records", "shard")},
}


def _shown(value: Any) -> str:
    if isinstance(value, list):
        each = (entry.title if isinstance(entry, Known) else entry for entry in value)
        return ", ".join(map(repr, each)) or "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return str(value) if isinstance(value, Shard) else repr(value)


Request: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """One question of a campaign, and its subject.

    >>> from tokenref.subjects import SAMPLERS
    >>> Question("greedy", "standard", SAMPLERS, "", {"logits": {"f32": "3f000000"}}).op
    'greedy'
    """

    op: str
    profile: str
    subject: Subject
    name: str
    """The name of the subject; empty if it is random."""

    request: Request
    """The `in` of a record, as plain data."""


SECONDS: Final = 20.0
"""Default number of seconds for one failure."""


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Time limits for shrinking.

    >>> 19 < Limits().left() <= 20, Limits(until=0.0).left()
    (True, 0.0)
    """

    seconds: float = SECONDS
    """Seconds for each failure."""

    until: float | None = None
    """The end for all failures, in seconds since 1970, which other machines know too."""

    def left(self) -> float:
        """Return the number of seconds for a failure that is started now."""
        if self.until is None:
            return self.seconds
        return max(0.0, min(self.seconds, self.until - time.time()))
