"""Questions that an engine answers with its own random numbers: many draws, or seeds."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import Count, Floats, Id, Strict
from tokenref.questions.sampling import Parameters, one_row

Seed = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""A number that a row's own random numbers begin with."""


class StatInput(Strict, frozen=True, kw_only=True):
    """A row to draw from many times with the engine's own random numbers."""

    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET
    params: Parameters
    draws: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one row."""
        one_row(self.probs, self.logits)


class StatOutput(Strict, frozen=True, kw_only=True):
    """How often each token was drawn; tokens that never were may be left out."""

    counts: list[tuple[Id, Count]]


class SpeculativeStatInput(Strict, frozen=True, kw_only=True):
    """A step of speculative decoding to take many times, drafts and all."""

    draft: Annotated[list[Floats], Meta(min_length=1)]
    """The drafting model's logits at each place. The engine draws a token from each."""

    target: Annotated[list[Floats], Meta(min_length=2)]
    """The target's logits at each place, and one row more for the token behind the drafts."""

    draft_params: Parameters
    """What the drafts are drawn with: `temperature`, then `k`, by the standard rules."""

    params: Parameters
    """The same for the target's rows."""

    draws: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        """Hold the rule that the target has one row more."""
        if len(self.target) != len(self.draft) + 1:
            raise ValueError("`target` must have one row more than `draft`")


class SpeculativeStatOutput(Strict, frozen=True, kw_only=True):
    """How often each list of tokens came out of a step; lists that never did may be left out."""

    counts: list[tuple[list[Id], Count]]


class BatchStatInput(Strict, frozen=True, kw_only=True):
    """A row that stands in a batch several times, to draw one token for each, many times."""

    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET
    params: Parameters
    rows: Annotated[int, Meta(ge=2, le=1 << 10)]
    """How often the row stands in the batch."""

    draws: Annotated[int, Meta(ge=2)]
    """How often the batch is drawn from, one call after the other."""

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one row."""
        one_row(self.probs, self.logits)


class BatchStatOutput(Strict, frozen=True, kw_only=True):
    """The tokens of each call in order, one for each row."""

    tokens: list[list[Id]]


class SeedsInput(Strict, frozen=True, kw_only=True):
    """Batches of one row, in which some have seeds."""

    probs: Floats | UnsetType = UNSET
    logits: Floats | UnsetType = UNSET
    params: Parameters
    batches: Annotated[list[Annotated[list[Seed | None], Meta(min_length=1)]], Meta(min_length=1)]
    """The seed of each row of each batch; null for a row without one."""

    tokens: Annotated[int, Meta(ge=1)]
    """How many tokens are drawn for each row, one after the other."""

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one row."""
        one_row(self.probs, self.logits)


class SeedsOutput(Strict, frozen=True, kw_only=True):
    """The tokens of each row of each batch."""

    batches: list[list[list[Id]]]
