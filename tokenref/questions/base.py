"""What all questions and answers are made of."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

Hex: TypeAlias = Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")]
"""Bytes, as lower-case hexadecimal digits."""

Id: TypeAlias = Annotated[int, Meta(ge=0)]
"""The id of a token, where the reference gave it."""

Count: TypeAlias = Annotated[int, Meta(ge=0)]
"""A number of tokens, characters or bytes."""


class Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What has no field but those it names."""
