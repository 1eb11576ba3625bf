"""kitoken as an engine: https://github.com/Systemcluster/kitoken.

It reads a tokenizer.json, and decodes to bytes. It never adds the special tokens of a template. An
unknown id is a `ValueError` with a message of its own.
"""

from types import MappingProxyType
from typing import Any

from tokenref.answers import Unsupported
from tokenref.engines.json_files import Found, JsonEngine


class KitokenEngine(JsonEngine):
    """kitoken with any vocabulary that it can express."""

    name = "kitoken"
    refusals = MappingProxyType({"invalid token": "UNKNOWN_ID"})

    def open(self, content: bytes) -> Any:
        from kitoken import Kitoken

        return Kitoken.from_tokenizers(content)

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        if added:
            return Unsupported(
                "does not add the special tokens of a template; "
                "`fill --no-template` makes records without them"
            )
        return tokenizer.encode(text, True)  # special tokens are found

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        return tokenizer.decode(ids, not skip)
