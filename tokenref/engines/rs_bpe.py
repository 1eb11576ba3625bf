"""rs-bpe as an engine: https://github.com/gweidart/rs-bpe.

What it can express
    Only its own two encodings, recognised by their content: cl100k_base and o200k_base. It has no
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
from typing import Any, Final

from bpe_ref import Vocabulary
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.tiktoken import OwnEncodings, PackageSession

_IDS: Final = 1 << 32


class MemoryUnsafeError(Exception):
    """A question that is not run because it could end the process."""


class RsBpeEngine(OwnEncodings):
    """rs-bpe with its own vocabularies.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> RsBpeEngine("0.1.0").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base')
    """

    name = "rs-bpe"
    own = ("cl100k_base", "o200k_base")

    def open(self, own: str, vocabulary: Vocabulary) -> "RsBpeSession":
        from rs_bpe.bpe import openai

        return RsBpeSession(getattr(openai, own)(), vocabulary)


class RsBpeSession(PackageSession):
    """rs-bpe with one of its encodings."""

    def count(self, text: str) -> Any:
        return self.package.count(text)

    def encode(self, text: str) -> Any:
        return self.package.encode(text)

    def decode(self, request: Mapping[str, Any]) -> Answer:
        ids = request["ids"]
        if self.vocabulary.special_bytes.keys() & set(ids):
            return Unsupported("has no special tokens")
        for token in ids:
            if 0 <= token < _IDS and token not in self.vocabulary.tokens:
                raise MemoryUnsafeError(f"not run: decode reads foreign memory for the id {token}")
        if "errors" not in request:
            return Ok({"bytes": self.package.bpe().decode_tokens(ids).hex()})
        text = self.package.decode(ids)
        if text is not None:
            return Ok({"text": text})
        if request["errors"] == "strict":
            return Refused("INVALID_UTF8", "decode returned None")
        return Unsupported("returns no text for invalid UTF-8")
