"""Questions about text and tokens: pieces, tokens, counts, bytes, special tokens."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tokenref.floats import Count, Hex, Id, Strict

LONGEST_TEXT: Final = 1 << 26
"""The most bytes of a text that a recipe may mean."""


class Recipe(Strict, frozen=True, kw_only=True):
    """A long text: `before`, then `times` times `unit`, then `after`."""

    unit: Hex
    times: Annotated[int, Meta(ge=1)]
    before: Hex
    after: Hex

    def __post_init__(self) -> None:
        """Hold the rule that a text has an end that memory has, too."""
        digits = len(self.before) + len(self.unit) * self.times + len(self.after)
        if digits > 2 * LONGEST_TEXT:
            raise ValueError(f"a recipe must mean at most {LONGEST_TEXT:,} bytes, means more")

    def expand(self) -> bytes:
        """Return the text.

        >>> Recipe(unit="61", times=3, before="", after="62").expand()
        b'aaab'
        """
        unit, before, after = map(bytes.fromhex, (self.unit, self.before, self.after))
        return before + unit * self.times + after


class TextInput(Strict, frozen=True, kw_only=True):
    """A text: as Unicode, as bytes that need not be UTF-8, or as a recipe. Exactly one."""

    text: str | UnsetType = UNSET
    octets: Hex | UnsetType = msgspec.field(name="bytes", default=UNSET)
    recipe: Recipe | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one of the fields is set."""
        if [self.text, self.octets, self.recipe].count(UNSET) != 2:
            raise ValueError("must have exactly one of `text`, `bytes` and `recipe`")

    def content(self) -> bytes | str:
        """Return the text, or its bytes where it is given so."""
        if self.text is not UNSET:
            return self.text
        if self.octets is not UNSET:
            return bytes.fromhex(self.octets)
        if self.recipe is not UNSET:
            return self.recipe.expand()
        raise AssertionError("checked on construction")


class DecodeInput(Strict, frozen=True, kw_only=True):
    """Token ids, and what to do about bytes that are not UTF-8 if text is wanted."""

    ids: list[int]
    errors: Literal["strict", "replace"] | UnsetType = UNSET


class SpecialInput(Strict, frozen=True, kw_only=True):
    """A text, and which special tokens in it are allowed and which are an error."""

    text: str
    allowed: Literal["all"] | list[str]
    disallowed: Literal["all"] | list[str]


class Stages(Strict, frozen=True, kw_only=True):
    """What happens on the way: the pieces, and the merges of each piece.

    A merge is the number of the left token of the pair, counted in the piece
    as it is then, and the id of the result.
    """

    pieces: list[Hex] | UnsetType = UNSET
    merges: list[list[tuple[int, Id]]] | UnsetType = UNSET


class PiecesOutput(Strict, frozen=True, kw_only=True):
    """The pieces, in order."""

    pieces: list[Hex]


class IdsOutput(Strict, frozen=True, kw_only=True):
    """The tokens: one by one, or of a recipe as runs of (id, how often in a row)."""

    ids: list[Id] | UnsetType = UNSET
    runs: list[tuple[Id, int]] | UnsetType = UNSET
    stages: Stages | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one of the two forms."""
        if (self.ids is UNSET) == (self.runs is UNSET):
            raise ValueError("must have exactly one of `ids` and `runs`")


class DecodeOutput(Strict, frozen=True, kw_only=True):
    """The bytes, or the text if `errors` was given."""

    octets: Hex | UnsetType = msgspec.field(name="bytes", default=UNSET)
    text: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one of the two forms."""
        if (self.octets is UNSET) == (self.text is UNSET):
            raise ValueError("must have exactly one of `bytes` and `text`")


class CountOutput(Strict, frozen=True, kw_only=True):
    """The number of tokens."""

    count: Count


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
