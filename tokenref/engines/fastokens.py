"""fastokens as an engine: https://github.com/crusoecloud/fastokens.

It reads a tokenizer.json; special tokens of the file are found. `decode` returns text with U+FFFD
for invalid UTF-8. Pairs of texts are unsupported.
"""

from typing import Any

from tokenref.engines.json_files import Found, JsonEngine


class FastokensEngine(JsonEngine):
    """fastokens with any vocabulary that it can express.

    >>> FastokensEngine("0.3.5").load_tokenizer(b"{}", "empty", "strict")
    Unsupported(reason='only reads a tokenizer.json in its own way')
    """

    name = "fastokens"

    def open(self, content: bytes) -> Any:
        """Return fastokens' tokenizer."""
        from fastokens import Tokenizer

        return Tokenizer.from_json_str(content.decode())

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        return tokenizer.encode(text, add_special_tokens=added).ids

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        return tokenizer.decode(ids, skip_special_tokens=skip)
