"""rs-bpe as an engine: https://github.com/gweidart/rs-bpe.

What it can express
    Only its own two encodings, recognized by their content: cl100k_base and o200k_base. It has no
    special tokens.

What it answers
    `encode`, `count` and `decode`, all compiled. `decode` returns None for invalid UTF-8, which is
    the refusal if strict text is requested; it cannot replace invalid UTF-8. The bytes are those of
    `decode_tokens`.

Unknown ids are not run
    Version 0.1.0 reads foreign memory for them: 100257 gives an empty text, 100256 a panic, and
    1,000,000,000 ends the process. There is no answer to compare, and the run must continue, so the
    adapter reports a crash. Ids of more than 32 bits are run and give an `OverflowError`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bpe_ref import Vocabulary
from tokenref.answers import TEXT_OPS, Answer, Ok, Refused, Unsupported, as_text, request_text
from tokenref.engines.tiktoken import which

_OWN: Final = ("cl100k_base", "o200k_base")
_IDS: Final = 1 << 32


class MemoryUnsafeError(Exception):
    """A question that is not run because it could end the process."""


@dataclass(frozen=True)
class RsBpeEngine:
    """rs-bpe with its own vocabularies.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> RsBpeEngine("0.1.0").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base')
    """

    version: str
    name: str = "rs-bpe"

    def load(self, vocabulary: Vocabulary, name: str) -> "RsBpeSession | Unsupported":
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
        if op not in TEXT_OPS:
            return Unsupported("has no such operation")
        if op == "decode":
            return self._decode(request)
        if op == "pieces":
            return Unsupported("does not return its pieces")
        if op == "special":
            return Unsupported("has no special tokens")
        text = as_text(request_text(request))
        if text is None:
            return Unsupported("accepts only text")
        if op == "encode":
            return Ok({"ids": self.tokenizer.encode(text)})
        return Ok({"count": self.tokenizer.count(text)})

    def _decode(self, request: Mapping[str, Any]) -> Answer:
        ids = request["ids"]
        if self.vocabulary.special_bytes.keys() & set(ids):
            return Unsupported("has no special tokens")
        for token in ids:
            if 0 <= token < _IDS and token not in self.vocabulary.tokens:
                raise MemoryUnsafeError(f"not run: decode reads foreign memory for the id {token}")
        if "errors" not in request:
            return Ok({"bytes": self.tokenizer.bpe().decode_tokens(ids).hex()})
        text = self.tokenizer.decode(ids)
        if text is not None:
            return Ok({"text": text})
        if request["errors"] == "strict":
            return Refused("INVALID_UTF8", "decode returned None")
        return Unsupported("returns no text for invalid UTF-8")
