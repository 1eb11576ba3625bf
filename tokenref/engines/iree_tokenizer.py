"""iree-tokenizer as an engine: https://github.com/iree-org/iree-tokenizer-py.

It reads a tokenizer.json; special tokens of the file are found. `decode` returns text with U+FFFD
for invalid UTF-8. Pairs of texts are unsupported.
"""

from typing import Any

from tokenref.engines.json_files import Found, JsonEngine


class IreeTokenizerEngine(JsonEngine):
    """iree-tokenizer with any vocabulary that it can express."""

    name = "iree-tokenizer"

    def open(self, content: bytes) -> Any:
        from iree.tokenizer import Tokenizer

        return Tokenizer.from_buffer(content)

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        return tokenizer.encode(text, add_special_tokens=added)
