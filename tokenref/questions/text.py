"""Questions about text and tokens: pieces, tokens, counts, bytes, special tokens."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tokenref.questions.base import Count, Hex, Id, Strict

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
        """Hold the rule that there is exactly one."""
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
