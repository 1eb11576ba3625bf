"""The functions that the reference answers with besides its encoder; each can be replaced.

A mutant replaces one of them by a wrong one, as it does with the components of a tokenizer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bpe_ref import Special, TokenId, Tokenizer, Vocabulary, encode_with_unstable, is_canonical
from bpe_ref.decoders.offsets import decode_with_offsets
from bpe_ref.decoders.to_bytes import bytes_to_text, decode_bytes
from bpe_ref.growing.counting import IntervalCounter
from bpe_ref.growing.eager import EagerEncoder
from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder

Completions: TypeAlias = tuple[list[TokenId], set[tuple[TokenId, ...]]]


class Growing(Protocol):
    """An encoder of a text that grows at one end."""

    @property
    def token_count(self) -> int:
        """Number of tokens."""

    def extend(self, piece: Iterable[int]) -> None:
        """Add bytes, given in the order of the text."""

    def truncate(self, length: int) -> None:
        """Keep only the first `length` bytes."""

    def tokens(self) -> list[TokenId]:
        """Return the tokens."""


class Counter(Protocol):
    """Counts the tokens of parts of a piece."""

    def count(self, start: int, stop: int) -> int:
        """Return the number of tokens of the bytes from `start` to `stop`, encoded alone."""


class Eager(Protocol):
    """An encoder that returns tokens as soon as no further text can change them."""

    def extend(self, data: bytes, /) -> list[TokenId]:
        """Add bytes; return the tokens that have become certain."""

    def finish(self) -> list[TokenId]:
        """Return the rest."""


class Streaming(Protocol):
    """A decoder that returns text as soon as no further token can change it."""

    def push(self, token: TokenId) -> str:
        """Add a token; return the text that has become certain."""

    def finish(self) -> str:
        """Return the rest."""


def stream(tokenizer: Tokenizer, errors: str) -> Streaming:
    """Return a decoder of a stream of tokens."""
    return tokenizer.stream(errors=errors)


def till_limit(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """Return the number of tokens of a text without special tokens; None if over `limit`."""
    return tokenizer.count_till_limit(text, limit, special="ordinary")


def split(tokenizer: Tokenizer, text: str, most: int) -> int:
    """Return the length of the longest beginning of a text with at most `most` tokens."""
    return tokenizer.split_at(text, most)


def cut(tokenizer: Tokenizer, text: str, most: int, overlap: int) -> list[tuple[int, int]]:
    """Return the chunks of a text as ranges of characters."""
    return [chunk[:2] for chunk in tokenizer.chunks(text, most, overlap)]


def completions(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """Return the stable tokens, and the possible completions of the rest."""
    return encode_with_unstable(tokenizer, text, special="refuse", complete=complete)


def special(tokenizer: Tokenizer, text: str, special: Special) -> list[TokenId]:
    """Return the tokens of a text in which special tokens may be spelled."""
    return tokenizer.encode(text, special=special)


@dataclass(frozen=True)
class Tools:
    """The functions that the reference answers with.

    >>> Tools().split is split
    True
    """

    append_encoder: Callable[[Vocabulary], Growing] = AppendEncoder
    prepend_encoder: Callable[[Vocabulary], Growing] = PrependEncoder
    eager_encoder: Callable[[Vocabulary], Eager] = EagerEncoder
    interval_counter: Callable[[Vocabulary, bytes], Counter] = IntervalCounter
    till_limit: Callable[[Tokenizer, str, int], int | None] = till_limit
    split: Callable[[Tokenizer, str, int], int] = split
    chunks: Callable[[Tokenizer, str, int, int], Sequence[tuple[int, int]]] = cut
    stream: Callable[[Tokenizer, str], Streaming] = stream
    special: Callable[[Tokenizer, str, Special], list[TokenId]] = special
    decode_bytes: Callable[[Vocabulary, Sequence[TokenId]], bytes] = decode_bytes
    bytes_to_text: Callable[[bytes, str], str] = bytes_to_text
    offsets: Callable[[Vocabulary, Sequence[TokenId]], tuple[str, list[int]]] = decode_with_offsets
    completions: Callable[[Tokenizer, str, bool], Completions] = completions
    is_canonical: Callable[[Vocabulary, Sequence[TokenId]], bool] = is_canonical
