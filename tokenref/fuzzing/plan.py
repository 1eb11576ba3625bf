"""What a campaign asks whom: all that decides which questions it has, and which shard."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from tokenref.fuzzing.selection import GENERATOR, GROUP, Selection


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
