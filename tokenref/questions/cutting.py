"""Questions about parts of a text: how many tokens they have, and where to cut for so many."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tokenref.questions.base import Count, Hex, Id, Strict


class IntervalsInput(Strict, frozen=True, kw_only=True):
    """The bytes of one piece, and some ranges of them, start included, stop not."""

    octets: Hex = msgspec.field(name="bytes")
    ranges: list[tuple[Count, Count]]


class CountsOutput(Strict, frozen=True, kw_only=True):
    """How many tokens each of them has, encoded alone."""

    counts: list[Count]


class LimitInput(Strict, frozen=True, kw_only=True):
    """A text in which nothing is special, and how many tokens it may have."""

    text: str
    limit: Count


class LimitOutput(Strict, frozen=True, kw_only=True):
    """The number of tokens; null if they are more."""

    count: Count | None


class SplitInput(Strict, frozen=True, kw_only=True):
    """A text that may hold special tokens, and how many tokens its first part may have."""

    text: str
    most: Annotated[int, Meta(ge=1)]


class SplitOutput(Strict, frozen=True, kw_only=True):
    """The number of characters of the longest first part that has no more tokens."""

    characters: Count


class ChunksInput(Strict, frozen=True, kw_only=True):
    """A text that may hold special tokens, how many a chunk may have, and how many overlap."""

    text: str
    most: Annotated[int, Meta(ge=1)]
    overlap: Count


class ChunksOutput(Strict, frozen=True, kw_only=True):
    """The chunks as ranges of characters."""

    chunks: list[tuple[Count, Count]]


class CompletionsInput(Strict, frozen=True, kw_only=True):
    """A text that will go on; and whether all completions are wanted, or those tiktoken finds."""

    text: str
    complete: bool


class CompletionsOutput(Strict, frozen=True, kw_only=True):
    """The tokens that stay whatever follows, and all that the rest may become, sorted."""

    stable: list[Id]
    completions: list[list[Id]]


class CanonicalInput(Strict, frozen=True, kw_only=True):
    """Tokens."""

    ids: list[int]


class CanonicalOutput(Strict, frozen=True, kw_only=True):
    """Whether encoding what they decode to gives them back."""

    canonical: bool


class OffsetsOutput(Strict, frozen=True, kw_only=True):
    """The text of some tokens, and for each the character it starts in."""

    text: str
    offsets: list[Count]
