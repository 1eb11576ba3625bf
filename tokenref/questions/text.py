"""Questions about text and tokens, and about parts of a text, and to whole tokenizers."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import Count, Hex, Id, Strict
from tokenref.questions import OneOf

LONGEST_TEXT: Final = 1 << 26
"""Maximum length of the text of a recipe, in bytes."""


class Recipe(Strict, frozen=True, kw_only=True):
    """A long text: `before`, then `times` times `unit`, then `after`."""

    unit: Hex
    times: Annotated[int, Meta(ge=1)]
    before: Hex
    after: Hex

    def __post_init__(self) -> None:
        """Raise `ValueError` if the text is too long."""
        digits = len(self.before) + len(self.unit) * self.times + len(self.after)
        if digits > 2 * LONGEST_TEXT:
            raise ValueError(f"a recipe must produce at most {LONGEST_TEXT:,} bytes")


class TextInput(OneOf, frozen=True, kw_only=True):
    """A text: as Unicode, as bytes that need not be UTF-8, or as a recipe."""

    one_of = ("text", "octets", "recipe")
    text: str | UnsetType = UNSET
    octets: Hex | UnsetType = msgspec.field(name="bytes", default=UNSET)
    recipe: Recipe | UnsetType = UNSET


class DecodeInput(Strict, frozen=True, kw_only=True):
    """Token ids, and how to treat invalid UTF-8 if text is requested."""

    ids: list[int]
    errors: Literal["strict", "replace"] | UnsetType = UNSET


class SpecialInput(Strict, frozen=True, kw_only=True):
    """A text, and which special tokens in it are allowed or are an error."""

    text: str
    allowed: Literal["all"] | list[str]
    disallowed: Literal["all"] | list[str]


class Stages(Strict, frozen=True, kw_only=True):
    """Intermediate results: the pieces, and the merges of each piece.

    A merge is the index of the left token of the pair in the piece at that moment, and the id of
    the result.
    """

    pieces: list[Hex] | UnsetType = UNSET
    merges: list[list[tuple[int, Id]]] | UnsetType = UNSET


class PiecesOutput(Strict, frozen=True, kw_only=True):
    """The pieces, in order."""

    pieces: list[Hex]


class IdsOutput(OneOf, frozen=True, kw_only=True):
    """The tokens: as a list, or for a recipe as runs of (id, number of repetitions)."""

    one_of = ("ids", "runs")
    ids: list[Id] | UnsetType = UNSET
    runs: list[tuple[Id, int]] | UnsetType = UNSET
    stages: Stages | UnsetType = UNSET


class DecodeOutput(OneOf, frozen=True, kw_only=True):
    """The bytes, or the text if `errors` was given."""

    one_of = ("octets", "text")
    octets: Hex | UnsetType = msgspec.field(name="bytes", default=UNSET)
    text: str | UnsetType = UNSET


class CountOutput(Strict, frozen=True, kw_only=True):
    """The number of tokens."""

    count: Count


class IntervalsInput(Strict, frozen=True, kw_only=True):
    """The bytes of one piece, and ranges of them; start is included, stop is not."""

    octets: Hex = msgspec.field(name="bytes")
    ranges: list[tuple[Count, Count]]


class CountsOutput(Strict, frozen=True, kw_only=True):
    """The number of tokens of each range, encoded by itself."""

    counts: list[Count]


class LimitInput(Strict, frozen=True, kw_only=True):
    """A text whose special tokens are treated as text, and a limit on its number of tokens."""

    text: str
    limit: Count


class LimitOutput(Strict, frozen=True, kw_only=True):
    """The number of tokens; null if it exceeds the limit."""

    count: Count | None


class SplitInput(Strict, frozen=True, kw_only=True):
    """A text that may contain special tokens, and the maximum tokens of its first part."""

    text: str
    most: Annotated[int, Meta(ge=1)]


class SplitOutput(Strict, frozen=True, kw_only=True):
    """The length in characters of the longest first part with at most `most` tokens."""

    characters: Count


class ChunksInput(SplitInput, frozen=True, kw_only=True):
    """A text that may contain special tokens, the maximum tokens per chunk, and the overlap."""

    overlap: Count


class ChunksOutput(Strict, frozen=True, kw_only=True):
    """The chunks as ranges of characters."""

    chunks: list[tuple[Count, Count]]


class CompletionsInput(Strict, frozen=True, kw_only=True):
    """A text that will continue, and whether to return all completions or those of tiktoken."""

    text: str
    complete: bool


class CompletionsOutput(Strict, frozen=True, kw_only=True):
    """The tokens that stay whatever follows, and everything the rest may become, sorted."""

    stable: list[Id]
    completions: list[list[Id]]


class CanonicalInput(Strict, frozen=True, kw_only=True):
    """Tokens."""

    ids: list[int]


class CanonicalOutput(Strict, frozen=True, kw_only=True):
    """Whether encoding their text gives the same tokens."""

    canonical: bool


class OffsetsOutput(Strict, frozen=True, kw_only=True):
    """The text of tokens, and for each token the character in which it starts."""

    text: str
    offsets: list[Count]


class TokenizeInput(Strict, frozen=True, kw_only=True):
    """A text or a pair of texts, and whether to add the template's special tokens."""

    text: str
    pair: str | UnsetType = UNSET
    add_special_tokens: bool


class Part(Strict, frozen=True, kw_only=True):
    """Tokens with all information about each."""

    ids: list[Id]
    tokens: list[str]
    offsets: list[tuple[Count, Count]]
    """Ranges of characters; start is included, stop is not."""

    type_ids: list[Count]
    words: list[Count | None]
    """The index of the token's piece; null for an added special token."""

    special_tokens_mask: list[Literal[0, 1]]
    attention_mask: list[Literal[0, 1]]


class TokenizeOutput(Part, frozen=True, kw_only=True):
    """The tokens, and the parts that truncation removed."""

    overflowing: list[Part]


class DetokenizeInput(Strict, frozen=True, kw_only=True):
    """Token ids, and whether to omit special tokens."""

    ids: list[int]
    skip_special_tokens: bool


class DetokenizeOutput(Strict, frozen=True, kw_only=True):
    """The text."""

    text: str


class DetokenizeStreamInput(DetokenizeInput, frozen=True, kw_only=True):
    """Token ids, given one by one.

    `certain`: each id returns the text that it makes certain. `engine`: the results of the
    `DecodeStream` of tokenizers, which are null while it waits.
    """

    mode: Literal["certain", "engine"]


class DetokenizeStreamOutput(Strict, frozen=True, kw_only=True):
    """The text of each id, and the text that the end adds; an engine's stream has no end."""

    parts: list[str | None]
    tail: str
