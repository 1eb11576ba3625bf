"""Questions to a whole tokenizer, the one that a tokenizer.json describes."""

from typing import Literal

from msgspec import UNSET, UnsetType

from tokenref.questions.base import Count, Id, Strict


class TokenizeInput(Strict, frozen=True, kw_only=True):
    """A text, or a pair of them; and whether the template's special tokens are added."""

    text: str
    pair: str | UnsetType = UNSET
    add_special_tokens: bool


class Part(Strict, frozen=True, kw_only=True):
    """Tokens with all that is known about each."""

    ids: list[Id]
    tokens: list[str]
    offsets: list[tuple[Count, Count]]
    """Characters of the text, start included, stop not."""

    type_ids: list[Count]
    words: list[Count | None]
    """The number of the piece that a token is from; null for one that was added."""

    special_tokens_mask: list[Literal[0, 1]]
    attention_mask: list[Literal[0, 1]]


class TokenizeOutput(Part, frozen=True, kw_only=True):
    """The tokens, and where truncation cut some off, the parts that it cut."""

    overflowing: list[Part]


class DetokenizeInput(Strict, frozen=True, kw_only=True):
    """Token ids, and whether special tokens are left out."""

    ids: list[int]
    skip_special_tokens: bool


class DetokenizeOutput(Strict, frozen=True, kw_only=True):
    """The text."""

    text: str


class DetokenizeStreamInput(Strict, frozen=True, kw_only=True):
    """Token ids, given one by one.

    `certain`: each id gives the text that it makes certain. `engine`: what the
    `DecodeStream` of tokenizers gives, which is null where it waits.
    """

    ids: list[int]
    skip_special_tokens: bool
    mode: Literal["certain", "engine"]


class DetokenizeStreamOutput(Strict, frozen=True, kw_only=True):
    """What each id gives, and what the end adds; an engine's stream has no end."""

    parts: list[str | None]
    tail: str
