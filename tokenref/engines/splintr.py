"""splintr-rs as an engine: https://github.com/ml-rust/splintr.

It reads a tokenizer.json; special tokens of the file are found. `encode` adds the special tokens of
the template, and `encode_raw` does not. `decode` omits special tokens, and `decode_with_special`
does not. Both return text with U+FFFD for invalid UTF-8. Pairs of texts are unsupported.
"""

from types import MappingProxyType
from typing import Any

from tokenref.engines.json_files import Found, JsonEngine


class SplintrEngine(JsonEngine):
    """splintr-rs with any vocabulary that it can express."""

    name = "splintr-rs"
    refusals = MappingProxyType({"Decoding error: token ID": "UNKNOWN_ID"})

    def open(self, content: bytes) -> Any:
        from splintr import from_json_bytes

        return from_json_bytes(content)

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        return tokenizer.encode(text) if added else tokenizer.encode_raw(text)

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        return tokenizer.decode(ids) if skip else tokenizer.decode_with_special(ids)
