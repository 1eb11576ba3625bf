r"""Text from tokens, one token at a time.

    After each token comes the text that is certain now: the longest text that the decoding of
    everything so far begins with, whatever tokens follow. `finish` returns the rest.

So the pieces, joined, are what `decode` makes of all the tokens at once; no piece comes later than
the token that settles it; and no tail is lost.

Source: the rule is that of `utf8_stream`. What engines do instead is decode all the tokens again
and hold back a text that ends in U+FFFD (Hugging Face `DecodeStream`, TGI, vLLM): that costs time,
loses a tail that stays incomplete, and makes a genuine U+FFFD wait for the next token.

What this leaves open
    *Which tokens can follow*: those of the vocabulary. In one without the byte 0xA9 nothing waits
    for it: bytes that no token can complete are replaced at once.
    *The end* can always follow. So nothing is emitted for an incomplete character, unless it will
    be U+FFFD in any case.
    *"strict"*: the error comes with the token that cannot be right.
    *Special tokens* are their text, or nothing if they are to be skipped. What is skipped is not
    there: the bytes around it may make one character.

A runner that rewrites the line keeps the text printed so far, and writes only what is new:

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"l\xc3": 256, b"\xb6wen": 257}
    >>> stream = tokenizer_of(vocabulary_by_concatenation(ranks)).stream()
    >>> list(printed(stream, [90, 119, 101, 105, 32, 256, 257]))
    ['Z', 'w', 'e', 'i', ' ', 'l', 'öwen']
"""

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final, Protocol, TypeVar

from bpe_ref.decoders.utf8_stream import length_from, may_follow
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId

_Content = TypeVar("_Content")
_Content_contra = TypeVar("_Content_contra", contravariant=True)


class Sink(Protocol[_Content_contra]):
    """Takes tokens, or what they are to the decoder, and returns the text that is certain."""

    def push(self, content: _Content_contra, /) -> str:
        """Return the text that is certain now and was not before."""

    def finish(self) -> str:
        """Return the rest."""


class Stream:
    r"""Tokens in, text out.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> ranks = {b"a": 0, b"\xe2\x82": 1, b"\xac": 2}
    >>> stream = tokenizer_of(vocabulary_by_concatenation(ranks)).stream()
    >>> stream.push(0), stream.push(1), stream.push(2), stream.push(1), stream.finish()
    ('a', '', '€', '', '\ufffd')
    """

    def __init__(
        self,
        read: Callable[[TokenId], _Content | None],
        sink: Sink[_Content],
        ends: Container[TokenId] = (),
    ) -> None:
        """Start empty. `read` returns what a token is to `sink`, or None if it is skipped.

        Skipped tokens in `ends` end what is before them, as `finish` does.
        """
        self._read: Final = read
        self._sink: Final = sink
        self._ends: Final = ends

    def __repr__(self) -> str:
        """Return what the tokens go through, and what it holds back."""
        return f"<Stream through {self._sink!r}>"

    def push(self, token: TokenId) -> str:
        """Return the text that is certain now and was not before; often "".

        Raises `TokenIdError` for an id that no token has, and `DecodingError` if the decoder
        cannot decode it. The stream is then as it was before.
        """
        content = self._read(token)
        if content is None:
            return self._sink.finish() if token in self._ends else ""
        return self._sink.push(content)

    def extend(self, tokens: Iterable[TokenId]) -> str:
        """Push several tokens; return the text of all. An error keeps those before it."""
        return "".join([self.push(token) for token in tokens])

    def finish(self) -> str:
        """Return the rest of the text; the stream is then as new.

        Raises `DecodingError` if the decoder cannot decode what is left.
        """
        return self._sink.finish()


def printed(decoder: Sink[TokenId], tokens: Iterable[TokenId]) -> Iterator[str]:
    """Yield what to write after each token that brings text, and the tail at the end.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> stream = tokenizer_of(vocabulary_by_concatenation({b"a": 0, b"b": 1})).stream()
    >>> "".join(printed(stream, [0, 1, 1]))
    'abb'
    """
    for token in tokens:
        if text := decoder.push(token):
            yield text
    if text := decoder.finish():
        yield text


def continuations(vocabulary: Vocabulary) -> frozenset[bytes]:
    r"""Return the beginnings of the tokens that start inside a character: three bytes at most.

    Special tokens do not: they are text. Use it through `vocabulary.remember`.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> sorted(continuations(vocabulary_by_concatenation({b"a": 0, b"\x80\x81b": 1})))
    [b'\x80\x81b']
    """
    return frozenset(
        content[:3] for content in vocabulary.tokens.values() if 0x80 <= content[0] < 0xC0
    )


class Hopeless:
    r"""Whether whatever tokens follow an incomplete character, its text is the replacement.

    `starts` are the beginnings of the tokens that start inside a character.

    >>> Hopeless(frozenset({b"\xa9"}))(b"\xc3", "\ufffd"), Hopeless(frozenset())(b"\xc3", "\ufffd")
    (False, True)
    """

    def __init__(self, starts: frozenset[bytes]) -> None:
        self._starts: Final = starts

    def __call__(self, part: bytes, replaced: str) -> bool:
        """Try every token that continues the character, and go on from there."""
        return all(self._ends_so(part, start, replaced) for start in self._starts)

    def _ends_so(self, part: bytes, start: bytes, replaced: str) -> bool:
        length = length_from(part[0])
        for byte in start:
            if not may_follow(part, byte):
                return True
            part += bytes([byte])
            if len(part) == length:
                return part.decode("utf-8") == replaced
        return self(part, replaced)
