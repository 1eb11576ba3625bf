"""A question that is several calls on one loaded tokenizer: what one call cannot show.

Something that is remembered from one call to the next, the half of a character or
an answer of a cache, is wrong only in the second one.
"""

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tokenref.questions.base import Count, Hex, Id, Strict
from tokenref.questions.text import DecodeInput, SpecialInput, TextInput
from tokenref.verdicts import TokenizerErrorCode

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
        """Hold the rule that there is exactly one."""
        given = [self.ids, self.count, self.octets, self.text, self.code]
        if given.count(UNSET) != len(given) - 1:
            raise ValueError("must have exactly one of `ids`, `count`, `bytes`, `text`, `code`")


class SessionOutput(Strict, frozen=True, kw_only=True):
    """One answer for each call."""

    answers: list[CallAnswer]
