"""Questions that consist of several calls, for what a single call cannot show.

An engine may remember something wrong from one call to the next, such as half of a character or a
cached answer. Only the second call shows it. Each answer has one entry per call, so the first
wrong one can be found.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import Count, Hex, Id, Strict
from tokenref.questions import OneOf
from tokenref.questions.text import DecodeInput, SpecialInput, TextInput
from tokenref.verdicts import TokenizerErrorCode


class Call(OneOf, frozen=True, kw_only=True):
    """One call on a growing encoder: either `push` or `truncate`.

    `push` adds bytes at the growing end: after the text when appending, before it (in reading
    order) when prepending. `truncate` keeps that many bytes at the other end.
    """

    one_of = ("push", "truncate")
    push: Hex | UnsetType = UNSET
    truncate: Count | UnsetType = UNSET


class CallsInput(Strict, frozen=True, kw_only=True):
    """Calls in order, on an encoder that is initially empty."""

    calls: list[Call]


class GrowingOutput(Strict, frozen=True, kw_only=True):
    """The number of tokens after each call, and the tokens after the last."""

    counts: list[Count]
    ids: list[Id]


class EagerInput(Strict, frozen=True, kw_only=True):
    """Bytes in several parts."""

    pushes: list[Hex]


class EagerOutput(Strict, frozen=True, kw_only=True):
    """The tokens that each part makes certain, and those that the end adds."""

    parts: list[list[Id]]
    tail: list[Id]


class StreamInput(Strict, frozen=True, kw_only=True):
    """Token ids, given one by one, and how to treat invalid UTF-8."""

    ids: list[int]
    errors: Literal["strict", "replace"]


class StreamOutput(Strict, frozen=True, kw_only=True):
    """The text that each id makes certain, and what the end adds."""

    parts: list[str]
    tail: str


class GrammarCall(OneOf, frozen=True, kw_only=True):
    """One call on a matcher: either `accept` a token, or `rollback` the last tokens."""

    one_of = ("accept", "rollback")
    accept: int | UnsetType = UNSET
    rollback: int | UnsetType = UNSET


class GrammarMaskInput(Strict, frozen=True, kw_only=True):
    """A pattern that the whole text must match, and calls on a new matcher, in order."""

    pattern: str
    calls: list[GrammarCall]


class GrammarMask(Strict, frozen=True, kw_only=True):
    """The tokens that may follow, and whether the text may end."""

    allowed: list[tuple[Id, Id]]
    """Their ids as ranges, first and last included, ascending, as few as possible."""

    end: bool


class GrammarMaskOutput(Strict, frozen=True, kw_only=True):
    """The mask before the first call, and after each."""

    masks: list[GrammarMask]


class _TextCall(Strict, frozen=True, kw_only=True, tag_field="op"):
    input: TextInput = msgspec.field(name="in")

    def __post_init__(self) -> None:
        """Raise `ValueError` if the text is a recipe."""
        if self.input.recipe is not UNSET:
            raise ValueError("the text of a call must be `text` or `bytes`, not a recipe")


class EncodeCall(_TextCall, frozen=True, kw_only=True, tag="encode"):
    """Asks for the tokens of a text; special tokens are treated as text."""


class CountCall(_TextCall, frozen=True, kw_only=True, tag="count"):
    """Asks for the number of tokens; special tokens are treated as text."""


class SpecialCall(Strict, frozen=True, kw_only=True, tag_field="op", tag="special"):
    """Asks for the tokens of a text that may contain special tokens."""

    input: SpecialInput = msgspec.field(name="in")


class DecodeCall(Strict, frozen=True, kw_only=True, tag_field="op", tag="decode"):
    """Asks for the bytes or text of tokens."""

    input: DecodeInput = msgspec.field(name="in")


SessionCall: TypeAlias = EncodeCall | CountCall | SpecialCall | DecodeCall


class SessionInput(Strict, frozen=True, kw_only=True):
    """Calls in order, on a newly loaded tokenizer."""

    calls: Annotated[list[SessionCall], Meta(min_length=1)]


class CallAnswer(OneOf, frozen=True, kw_only=True):
    """The answer to one call: as for its operation alone, or an error code."""

    one_of = ("ids", "count", "octets", "text", "code")
    ids: list[Id] | UnsetType = UNSET
    count: Count | UnsetType = UNSET
    octets: Hex | UnsetType = msgspec.field(name="bytes", default=UNSET)
    text: str | UnsetType = UNSET
    code: TokenizerErrorCode | UnsetType = UNSET


class SessionOutput(Strict, frozen=True, kw_only=True):
    """One answer for each call."""

    answers: list[CallAnswer]
