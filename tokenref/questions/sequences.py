"""Questions that are sequences of calls on one state: what one call cannot show.

Each answer has one entry per call, so that the first wrong one is seen. Text is
one piece here: no pattern, no special tokens.
"""

from typing import Literal

from msgspec import UNSET, UnsetType

from tokenref.questions.base import Count, Hex, Id, Strict


class Call(Strict, frozen=True, kw_only=True):
    """One call on an encoder that grows. Exactly one of the two.

    `push` puts bytes at the growing end: after the text where it is appended to,
    before it (the bytes in reading order) where it is prepended to. `truncate`
    leaves so many bytes, those at the other end.
    """

    push: Hex | UnsetType = UNSET
    truncate: Count | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one."""
        if (self.push is UNSET) == (self.truncate is UNSET):
            raise ValueError("must have exactly one of `push` and `truncate`")


class CallsInput(Strict, frozen=True, kw_only=True):
    """The calls, in order, on an encoder that is empty at first."""

    calls: list[Call]


class GrowingOutput(Strict, frozen=True, kw_only=True):
    """The number of tokens after each call, and the tokens after the last."""

    counts: list[Count]
    ids: list[Id]


class EagerInput(Strict, frozen=True, kw_only=True):
    """Bytes, given in several parts."""

    pushes: list[Hex]


class EagerOutput(Strict, frozen=True, kw_only=True):
    """The tokens that each part makes certain, and those that only the end does."""

    parts: list[list[Id]]
    tail: list[Id]


class StreamInput(Strict, frozen=True, kw_only=True):
    """Token ids, given one by one, and what to do about bytes that are not UTF-8."""

    ids: list[int]
    errors: Literal["strict", "replace"]


class StreamOutput(Strict, frozen=True, kw_only=True):
    """The text that each id makes certain, and what the end adds."""

    parts: list[str]
    tail: str
