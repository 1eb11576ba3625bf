"""Questions that consist of several calls, for what a single call cannot show.

An engine may remember something wrong from one call to the next, such as half of a character or a
cached answer. Only the second call shows it. Each answer has one entry per call, so the first
wrong one can be found.
"""

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import Count, Hex, Id, Strict
from tokenref.questions.text import DecodeInput, SpecialInput, TextInput
from tokenref.verdicts import TokenizerErrorCode


class Call(Strict, frozen=True, kw_only=True):
    """One call on an encoder that grows. Exactly one of the two.

    `push` puts bytes at the growing end: after the text where it is appended to,
    before it (the bytes in reading order) where it is prepended to. `truncate`
    leaves so many bytes, those at the other end.
    """

    push: Hex | UnsetType = UNSET
    truncate: Count | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one of the fields is set."""
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


CALLED: Final = ("encode", "count", "special", "decode")
"""The operations that a session may call."""


def _written_out(given: TextInput) -> None:
    if given.recipe is not UNSET:
        raise ValueError("the text of a call must be `text` or `bytes`, not a recipe")


class EncodeCall(Strict, frozen=True, kw_only=True, tag_field="op", tag="encode"):
    """Asks for the tokens of a text in which nothing is special."""

    input: TextInput = msgspec.field(name="in")

    def __post_init__(self) -> None:
        """Hold the rule that the text is written out."""
        _written_out(self.input)


class CountCall(Strict, frozen=True, kw_only=True, tag_field="op", tag="count"):
    """Asks for the number of these tokens."""

    input: TextInput = msgspec.field(name="in")

    def __post_init__(self) -> None:
        """Hold the rule that the text is written out."""
        _written_out(self.input)


class SpecialCall(Strict, frozen=True, kw_only=True, tag_field="op", tag="special"):
    """Asks for the tokens of a text that may hold special ones."""

    input: SpecialInput = msgspec.field(name="in")


class DecodeCall(Strict, frozen=True, kw_only=True, tag_field="op", tag="decode"):
    """Asks what tokens decode to."""

    input: DecodeInput = msgspec.field(name="in")


SessionCall: TypeAlias = EncodeCall | CountCall | SpecialCall | DecodeCall


class SessionInput(Strict, frozen=True, kw_only=True):
    """The calls, in order, on a tokenizer that nothing was asked before."""

    calls: Annotated[list[SessionCall], Meta(min_length=1)]


class CallAnswer(Strict, frozen=True, kw_only=True):
    """What one call gives: as its operation alone, or the code of a refusal."""

    ids: list[Id] | UnsetType = UNSET
    count: Count | UnsetType = UNSET
    octets: Hex | UnsetType = msgspec.field(name="bytes", default=UNSET)
    text: str | UnsetType = UNSET
    code: TokenizerErrorCode | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one of the fields is set."""
        given = [self.ids, self.count, self.octets, self.text, self.code]
        if given.count(UNSET) != len(given) - 1:
            raise ValueError("must have exactly one of `ids`, `count`, `bytes`, `text`, `code`")


class SessionOutput(Strict, frozen=True, kw_only=True):
    """One answer for each call."""

    answers: list[CallAnswer]
