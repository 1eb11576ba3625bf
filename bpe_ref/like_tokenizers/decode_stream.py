"""Text out, token by token, exactly as the library's `DecodeStream` gives it, defects included.

Definition
    A stream keeps some last tokens and the `prefix`, the text that the first `prefix_index` of
    them gave. A step adds new tokens and decodes all that it keeps. If the text is longer than
    the prefix, in bytes, and does not end in U+FFFD, the part after the prefix is new: it is
    returned, and the tokens that the prefix came from are forgotten. Else the step returns None.

Source: `step_decode_stream` in tokenizer/mod.rs of Hugging Face tokenizers 0.23.3. This module is
there to test engines against it; `decoders.chain_stream` is the decoder to use.

Where it goes wrong
    - What is left at the end never comes: there is no last step.
    - U+FFFD at the end of a text means "more to come", although a token may really end in it.
    - After tokens that decode to nothing (skipped special tokens, ids of no token), a text that is
      no longer than the prefix is not returned.
    - Text that does not start with the prefix, because later tokens change what earlier ones
      meant, is an error: `BPEDecoder` and `Metaspace` do that. The tokens stay in the stream.
    - A stream that is started with tokens which end inside a character takes none of them for
      printed: the first text that comes repeats all of them.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from bpe_ref.errors import DecodingError
from bpe_ref.like_tokenizers.inputs import as_ids
from bpe_ref.vocabulary.merges import TokenId

_REPLACEMENT = "\ufffd"


class Decodes(Protocol):
    """Anything that decodes ids: a pipeline, or a tokenizer."""

    def decode(self, ids: Sequence[TokenId], *, skip_special_tokens: bool) -> str:
        """Return the text of the tokens."""


class DecodeStream:
    """A stream of tokens; `ids` are those whose text is known already.

    >>> class Letters:
    ...     def decode(self, ids, *, skip_special_tokens):
    ...         return "".join("abc"[token] for token in ids)
    >>> stream = DecodeStream([0])
    >>> stream.step(Letters(), 1), stream.step(Letters(), [2, 0])
    ('b', 'ca')
    """

    def __init__(
        self, ids: Iterable[TokenId] | None = None, skip_special_tokens: bool | None = False
    ) -> None:
        self.skip_special_tokens = bool(skip_special_tokens)
        self._ids = [] if ids is None else as_ids("ids", ids)
        self._prefix = ""
        self._prefix_index = 0

    def step(self, tokenizer: Decodes, id: TokenId | Iterable[TokenId]) -> str | None:  # noqa: A002 -- the library's name
        """Return the text that one or more tokens add, or None while there is none.

        Raises `DecodingError` if the text so far changes, and `TokenIdError` if an id is not one.
        """
        new_ids = as_ids("id", id if isinstance(id, Iterable) else [id])
        if not self._prefix and self._ids:
            prefix = self._decode(tokenizer)
            if not prefix.endswith(_REPLACEMENT):
                self._prefix = prefix
                self._prefix_index = len(self._ids)

        self._ids = [*self._ids, *new_ids]  # not in place: a copy may share the list
        text = self._decode(tokenizer)
        if _size(text) <= _size(self._prefix) or text.endswith(_REPLACEMENT):
            return None
        if not text.startswith(self._prefix):
            raise DecodingError(
                f"the text of a stream must start with what was printed, {self._prefix!r}, "
                f"got {text!r} at token {self._ids[-1]}"
            )
        new_text = text[len(self._prefix) :]
        self._ids = self._ids[self._prefix_index :]
        self._prefix_index = len(self._ids)
        self._prefix = self._decode(tokenizer)
        return new_text

    def _decode(self, tokenizer: Decodes) -> str:
        return tokenizer.decode(self._ids, skip_special_tokens=self.skip_special_tokens)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
