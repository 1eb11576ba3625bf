"""Questions that an engine answers with its own random numbers: many draws, or seeds."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import Count, Floats, Id, Strict
from tokenref.questions.sampling import Parameters, one_row

Seed = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""The seed of a row's own random numbers."""


class StatInput(Strict, frozen=True, kw_only=True):
    """A row to draw from many times with the engine's own random numbers."""

    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET
    params: Parameters
    draws: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one row is given."""
        one_row(self.probs, self.logits)


class StatOutput(Strict, frozen=True, kw_only=True):
    """The number of draws of each token. Tokens that were never drawn may be omitted."""

    counts: list[tuple[Id, Count]]


class SpeculativeStatInput(Strict, frozen=True, kw_only=True):
    """A step of speculative decoding to run many times, including the drafts."""

    draft: Annotated[list[Floats], Meta(min_length=1)]
    """The draft model's logits at each position. The engine draws a token from each."""

    target: Annotated[list[Floats], Meta(min_length=2)]
    """The target's logits at each position, and one more row for the token after the drafts."""

    draft_params: Parameters
    """How drafts are drawn: `temperature`, then `k`, by the standard rules."""

    params: Parameters
    """The same for the target's rows."""

    draws: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the target has one row more than the draft."""
        if len(self.target) != len(self.draft) + 1:
            raise ValueError("`target` must have one row more than `draft`")


class SpeculativeStatOutput(Strict, frozen=True, kw_only=True):
    """The number of times that a step returned each list of tokens; others may be omitted."""

    counts: list[tuple[list[Id], Count]]


class BatchStatInput(Strict, frozen=True, kw_only=True):
    """A row that occurs several times in a batch, to draw one token for each, many times."""

    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET
    params: Parameters
    rows: Annotated[int, Meta(ge=2, le=1 << 10)]
    """Number of copies of the row in the batch."""

    draws: Annotated[int, Meta(ge=2)]
    """Number of calls for the batch."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one row is given."""
        one_row(self.probs, self.logits)


class BatchStatOutput(Strict, frozen=True, kw_only=True):
    """The tokens of each call in order, one for each row."""

    tokens: list[list[Id]]


class SeedsInput(Strict, frozen=True, kw_only=True):
    """Batches of copies of one row, some with seeds."""

    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET
    params: Parameters
    batches: Annotated[list[Annotated[list[Seed | None], Meta(min_length=1)]], Meta(min_length=1)]
    """The seed of each row of each batch; null for a row without one."""

    tokens: Annotated[int, Meta(ge=1)]
    """Number of tokens to draw for each row."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one row is given."""
        one_row(self.probs, self.logits)


class SeedsOutput(Strict, frozen=True, kw_only=True):
    """The tokens of each row of each batch."""

    batches: list[list[list[Id]]]
