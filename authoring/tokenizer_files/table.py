"""The tokenizer.json files that come with the fixtures, each for a component or a flag of it."""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from authoring.tokenizer_files import (
    added_tokens,
    decoders,
    families,
    lengths,
    models,
    normalizers,
    other_models,
    post_processors,
    pre_tokenizers,
)
from authoring.tokenizer_files.document import Described
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.tokenizer import Tokenizer
from tokenref.subjects import TokenizerFile

KINDS: Final = (
    models,
    added_tokens,
    normalizers,
    pre_tokenizers,
    post_processors,
    decoders,
    lengths,
    families,
    other_models,
)
"""The modules that have tokenizers. New ones are added at the end."""


@cache
def described_tokenizers() -> Mapping[str, Described]:
    """Return every tokenizer, with what is special about it, by its name."""
    listed = [described for kind in KINDS for described in kind.tokenizers()]
    return MappingProxyType({described.name: described for described in listed})


@cache
def fixture_tokenizers() -> Mapping[str, TokenizerFile]:
    """Return every tokenizer by its name.

    >>> fixture_tokenizers()["unk"].content.splitlines()[0]
    b'{'
    """
    return MappingProxyType(
        {name: described.file for name, described in described_tokenizers().items()}
    )


def token_ids(name: str, tokens: Iterable[str | int]) -> list[int]:
    """Return the ids of tokens by their strings; what is an id stays one.

    >>> token_ids("unk", ["<unk>", 7])
    [0, 7]
    """
    pipeline = _pipeline(name)
    ids = []
    for token in tokens:
        id_ = token if isinstance(token, int) else pipeline.token_to_id(token)
        if id_ is None:
            raise KeyError(f"{name} has no token {token!r}")
        ids.append(id_)
    return ids


def ids_of_text(name: str, text: str) -> list[int]:
    """Return the ids of a text, with those that a template adds.

    >>> ids_of_text("post_template_bos", "")
    [1]
    """
    return _pipeline(name).encode(text)


@cache
def _pipeline(name: str) -> Tokenizer:
    return parse_tokenizer_json(fixture_tokenizers()[name].content, name)
