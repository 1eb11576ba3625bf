"""All cases, in the order in which the fixtures have them."""

from collections.abc import Iterator

from authoring.cases import (
    beside_special,
    byte_level,
    close_calls,
    cutting,
    decoding,
    examples,
    grammars,
    growing,
    invalid_bytes,
    long_texts,
    merging,
    pairs,
    pipelines,
    random_texts,
    real,
    sessions,
    sizes,
    sizes_pipelines,
    special_tokens,
    streams,
    unicode_texts,
    words,
)
from authoring.cases.draft import Draft

TOPICS = (
    examples,
    merging,
    byte_level,
    long_texts,
    words,
    unicode_texts,
    invalid_bytes,
    decoding,
    special_tokens,
    random_texts,
    real,
    close_calls,
    growing,
    cutting,
    streams,
    pipelines,
    sessions,
    sizes,
    beside_special,
    pairs,
    sizes_pipelines,
    grammars,
)
"""The modules that have cases. New ones are added at the end."""


def all_drafts() -> Iterator[Draft]:
    """Yield every case, always in the same order.

    >>> next(all_drafts()).id
    'bpe/encode/examples/e1-readme-three-tokens'
    """
    for topic in TOPICS:
        yield from topic.drafts()
