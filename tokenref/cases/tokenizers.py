"""The tokenizer.json files that come with the fixtures, each for a component or a flag of it."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from tokenref.subjects import TokenizerFile


@cache
def fixture_tokenizers() -> Mapping[str, TokenizerFile]:
    """Return every tokenizer by its name."""
    return MappingProxyType({})
