"""fastokens as an engine: https://github.com/crusoecloud/fastokens.

It reads a tokenizer.json; special tokens of the file are found. `decode` returns text with U+FFFD
for invalid UTF-8. Pairs of texts are unsupported.
"""

from typing import Any

from tokenref.engines.json_files import JsonEngine


class FastokensEngine(JsonEngine):
    """fastokens with any vocabulary that it can express."""

    name = "fastokens"

    def open(self, content: bytes) -> Any:
        from fastokens import Tokenizer

        return Tokenizer.from_json_str(content.decode())
