"""What methods and components take: texts, words, pairs of them, ids, and patterns."""

from collections.abc import Iterable
from operator import index
from typing import Any, TypeAlias

from bpe_ref.errors import ParameterError, TokenIdError, shown
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.vocabulary.merges import ID_LIMIT, TokenId

Text: TypeAlias = str | list[str] | tuple[str, ...]
"""A text, or its words."""


def to_pattern(pattern: str | Regex) -> Literal | Regex:
    """Return a pattern: a text stands for itself.

    >>> to_pattern("a+")
    Literal(text='a+')
    """
    return Literal(pattern) if isinstance(pattern, str) else pattern


def as_text(name: str, value: Any, *, is_pretokenized: bool) -> Text:
    """Return a text, or a list of words, if the value is one.

    >>> as_text("sequence", ("a", "b"), is_pretokenized=True)
    ('a', 'b')
    """
    if is_pretokenized:
        value = value.tolist() if hasattr(value, "tolist") else value  # numpy's
        if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
            return value
        raise ParameterError(name, value, "must be a list of words, as is_pretokenized says")
    if not isinstance(value, str):
        raise ParameterError(name, value, "must be a str")
    return value


def as_pairs(batch: Any, *, is_pretokenized: bool) -> list[tuple[Text, Text | None]]:
    """Return the one or two texts that each element of a batch is.

    >>> as_pairs([["a", "b"]], is_pretokenized=False), as_pairs([["a", "b"]], is_pretokenized=True)
    ([('a', 'b')], [(['a', 'b'], None)])
    """
    return [_pair(element, is_pretokenized=is_pretokenized) for element in as_batch("input", batch)]


def _pair(value: Any, *, is_pretokenized: bool) -> tuple[Text, Text | None]:
    value = value.tolist() if hasattr(value, "tolist") else value
    try:
        return as_text("input", value, is_pretokenized=is_pretokenized), None
    except ParameterError:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise
    first, second = (as_text("input", part, is_pretokenized=is_pretokenized) for part in value)
    return first, second


def as_batch(name: str, value: Any) -> list[Any]:
    """Return the elements of a batch. A text is none.

    >>> as_batch("input", ("a", "b"))
    ['a', 'b']
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ParameterError(name, value, "must be a list")
    return list(value)


def as_ids(name: str, value: Any) -> list[TokenId]:
    """Return ids as ints.

    >>> as_ids("ids", (1, True))
    [1, 1]
    """
    return [as_id(element) for element in as_batch(name, value)]


def as_id(value: Any) -> TokenId:
    """Return an id as an int. Raises `TokenIdError` if it is not an id.

    >>> as_id(7)
    7
    """
    try:
        number = index(value)
    except TypeError:
        number = -1
    if not 0 <= number < ID_LIMIT:
        raise TokenIdError(f"an id must be an integer from 0 to 4294967295, got {shown(value)}")
    return number
