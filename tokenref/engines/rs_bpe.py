"""rs-bpe as an engine under test: https://github.com/gweidart/rs-bpe.

What it can express
    Its own two encodings only, recognized by their content: cl100k_base and
    o200k_base. It has no special tokens.

What it answers
    `encode`, `count` and `decode`, all compiled. `decode` gives None where the
    bytes are not UTF-8, which is the refusal if text is wanted strictly; it
    cannot replace what is not UTF-8. The bytes are those of `decode_tokens`.

An id that it lacks is not asked about
    Version 0.1.0 then reads memory that is not its own: 100257 gives an empty
    text, 100256 a panic, 1,000,000,000 ends the process. There is no answer to
    compare, and the run must go on, so the adapter says that it crashes. Ids that
    no 32 bits hold are asked about; they are an `OverflowError`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bpe_ref import Vocabulary
from tokenref.answers import (
    TEXT_OPS,
    Answer,
    Ok,
    Refused,
    Unsupported,
    as_text,
    request_text,
)
from tokenref.engines.tiktoken import which

_OWN: Final = ("cl100k_base", "o200k_base")
_IDS: Final = 1 << 32


class MemoryUnsafeError(Exception):
    """A question that is not asked, since the answer could end the process."""


@dataclass(frozen=True)
class RsBpeEngine:
    """rs-bpe, with its own vocabularies.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> RsBpeEngine("0.1.0").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base')
    """

    version: str
    name: str = "rs-bpe"

    def load(self, vocabulary: Vocabulary, name: str) -> "RsBpeSession | Unsupported":
        """Choose the encoding that the vocabulary is, or say that there is none."""
        own = which(vocabulary, _OWN)
        if own is None:
            return Unsupported(f"has only {', '.join(_OWN)}")
        from rs_bpe.bpe import openai

        return RsBpeSession(getattr(openai, own)(), vocabulary)


@dataclass(frozen=True)
class RsBpeSession:
    """rs-bpe with one of its encodings."""

    tokenizer: Any
    vocabulary: Vocabulary

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request."""
        if op not in TEXT_OPS:
            return Unsupported("has no such operation")
        if op == "decode":
            return self._decode(request)
        if op == "pieces":
            return Unsupported("does not tell its pieces")
        if op == "special":
            return Unsupported("has no special tokens")
        text = as_text(request_text(request))
        if text is None:
            return Unsupported("takes text only")
        if op == "encode":
            return Ok({"ids": self.tokenizer.encode(text)})
        return Ok({"count": self.tokenizer.count(text)})

    def _decode(self, request: Mapping[str, Any]) -> Answer:
        ids = request["ids"]
        if self.vocabulary.special_bytes.keys() & set(ids):
            return Unsupported("has no special tokens")
        for token in ids:
            if 0 <= token < _IDS and token not in self.vocabulary.tokens:
                raise MemoryUnsafeError(
                    f"not asked: decode reads memory that is not its own for the id {token}"
                )
        if "errors" not in request:
            return Ok({"bytes": self.tokenizer.bpe().decode_tokens(ids).hex()})
        text = self.tokenizer.decode(ids)
        if text is not None:
            return Ok({"text": text})
        if request["errors"] == "strict":
            return Refused("INVALID_UTF8", "decode gives None")
        return Unsupported("gives no text for bytes that are not UTF-8")
