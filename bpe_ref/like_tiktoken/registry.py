"""Encodings by name, as `tiktoken.registry` has them: each is built once and kept."""

from typing import Final

from bpe_ref.like_tiktoken.core import Encoding, registered_encoding
from bpe_ref.registry import REGISTRY

_OTHERS: Final = frozenset({"voyage3_base"})  # registered here, but not tiktoken's


def list_encoding_names() -> list[str]:
    """Return the names of the encodings that tiktoken brings along.

    >>> list_encoding_names()[:2]
    ['gpt2', 'r50k_base']
    """
    return [name for name in REGISTRY if name not in _OTHERS]


def get_encoding(encoding_name: str) -> Encoding:
    """Return an encoding by its name, the same object each time.

    Raises `ValueError` for a name that does not exist, and `UnknownVocabularyError`
    if its file is found nowhere (see `finding`).

    >>> get_encoding("cl100k")
    Traceback (most recent call last):
    ValueError: Unknown encoding cl100k.
    ...
    """
    if not isinstance(encoding_name, str):
        # tiktoken raises this kind of error here
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")  # noqa: TRY004
    if encoding_name not in list_encoding_names():
        raise ValueError(
            f"Unknown encoding {encoding_name}.\n"
            f"Encodings known: {', '.join(list_encoding_names())}"
        )
    return registered_encoding(encoding_name)
