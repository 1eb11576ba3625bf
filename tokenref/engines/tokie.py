"""tokie as an engine: https://github.com/chonkie-inc/tokie.

It reads a tokenizer.json from a file only. Special tokens of the file are found, and decoding never
omits them. The tokens of a vocabulary are decoded by `decode_bytes`, those of a file by `decode`. A
long piece takes quadratic time, so long texts are not run.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenref.answers import Unsupported
from tokenref.engines.json_files import Found, JsonEngine


class TokieEngine(JsonEngine):
    """tokie with any vocabulary that it can express."""

    name = "tokie"
    longest = 30_000

    def open(self, content: bytes) -> Any:
        from tokie import Tokenizer

        with TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            path.write_bytes(content)
            return Tokenizer.from_json(str(path))

    def encode_pair(self, tokenizer: Any, text: str, pair: str, *, added: bool) -> Found:
        return tokenizer.encode_pair(text, pair, add_special_tokens=added).ids

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        return tokenizer.decode_bytes(ids)

    def text(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        if skip:
            return Unsupported("does not omit special tokens")
        return tokenizer.decode(ids)
