"""Where a model ends its text: the settings beside a tokenizer's file.

Definition
    A model stops at its *stop ids*. Which ids these are nobody can see from the
    vocabulary: a model may have a `</s>` that it never writes, or none at all.
    Four files say it, in this order; the first one that does counts.

    generation_config.json     `eos_token_id`, a number or a list of numbers
    config.json                the same, from before there was the file above
    tokenizer_config.json      `eos_token`, a token by its text
    special_tokens_map.json    the same

    A token by its text is a string or an object with the string as `content`. Its
    id is looked up in the vocabulary, or in `added_tokens_decoder`, a list by id in
    `tokenizer_config.json`.

Source: `GenerationConfig` and `PreTrainedTokenizerBase` of Hugging Face transformers 5.

What the source leaves open, and what holds here
    *Nothing said*, or null: the next file is asked. Where none says anything, there
    are no stop ids, and `stop_source` is None. No name is ever guessed.
    *A text that is no token* is an error, and so is a token that has one id in the
    vocabulary and another one in `added_tokens_decoder`.
    *An empty list* of ids says that nothing stops the model; no other file is asked.
    *Chat templates* are programs. They are not run, and not read.
    *All other keys* are about other things and are passed over.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bpe_ref.formats.files import read_unpacked, seen
from bpe_ref.formats.json_nodes import Node, parse_json
from bpe_ref.vocabulary.merges import ID_LIMIT, TokenId

GENERATION_CONFIG: Final = "generation_config.json"
MODEL_CONFIG: Final = "config.json"
TOKENIZER_CONFIG: Final = "tokenizer_config.json"
SPECIAL_TOKENS_MAP: Final = "special_tokens_map.json"

_BY_ID: Final = (GENERATION_CONFIG, MODEL_CONFIG)
_BY_TEXT: Final = (TOKENIZER_CONFIG, SPECIAL_TOKENS_MAP)


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """What the files say, and which one says it."""

    stop_ids: tuple[TokenId, ...] = ()
    """The ids that end a text, as listed; empty if no file names any."""

    stop_source: str | None = None
    """The file and key that name the stop ids, or None if no file does."""


def read_generation_settings(
    folder: str | os.PathLike[str], token_ids: Mapping[str, TokenId] | None = None
) -> GenerationSettings:
    """Return the settings in a folder; files that are not there say nothing.

    `token_ids` has the id of each token of the vocabulary by its text, for files
    that name a token so. Raises `VocabularyFileError`, which names the file and
    the place.

    >>> read_generation_settings("no such folder")
    GenerationSettings(stop_ids=(), stop_source=None)
    """
    contents = {
        name: read_unpacked(Path(folder) / name)
        for name in (*_BY_ID, *_BY_TEXT)
        if seen((Path(folder) / name).exists)
    }
    return parse_generation_settings(contents, os.fspath(folder), token_ids or {})


def parse_generation_settings(
    contents: Mapping[str, bytes], source: str, token_ids: Mapping[str, TokenId]
) -> GenerationSettings:
    """Return the settings in the contents of files, by name; `source` names their folder.

    Raises `VocabularyFileError`.

    >>> parse_generation_settings(
    ...     {"generation_config.json": b'{"eos_token_id": [2, 5]}'}, "example", {}
    ... ).stop_ids
    (2, 5)
    >>> parse_generation_settings(
    ...     {"tokenizer_config.json": b'{"eos_token": "</s>"}'}, "example", {"a": 0}
    ... )
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example/tokenizer_config.json: eos_token must be a token ...
    """
    roots = {
        name: parse_json(contents[name], f"{source}/{name}")
        for name in (*_BY_ID, *_BY_TEXT)
        if name in contents
    }
    for root in roots.values():
        root.fields()  # which must be an object
    known = _token_ids(roots, token_ids)
    for name in _BY_ID:
        found = _value(roots, name, "eos_token_id")
        if found is not None:
            listed = found.elements() if isinstance(found.value, list) else [found]
            ids = tuple(entry.whole(ID_LIMIT) for entry in listed)
            return GenerationSettings(ids, f"{name}: eos_token_id")
    for name in _BY_TEXT:
        found = _value(roots, name, "eos_token")
        if found is not None:
            token = found.field("content") if isinstance(found.value, dict) else found
            if token.text() not in known:
                token.fail("must be a token of the vocabulary")
            return GenerationSettings((known[token.value],), f"{name}: eos_token")
    return GenerationSettings()


def _value(roots: Mapping[str, Node], name: str, key: str) -> Node | None:
    root = roots.get(name)
    return None if root is None or root.value.get(key) is None else root.field(key)


def _token_ids(
    roots: Mapping[str, Node], token_ids: Mapping[str, TokenId]
) -> Mapping[str, TokenId]:
    """Return the ids by text, with those that the tokenizer's settings list."""
    listed = _value(roots, TOKENIZER_CONFIG, "added_tokens_decoder")
    known = dict(token_ids)
    if listed is None:
        return known
    for id_, entry in listed.entries_by_id().items():
        token = entry.field("content")
        if known.setdefault(token.text(), id_) != id_:
            token.fail(f"must have its id {known[token.value]} here too")
    return known
