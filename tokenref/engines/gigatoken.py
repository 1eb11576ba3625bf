"""gigatoken as an engine: https://github.com/marcelroed/gigatoken.

It reads a tokenizer.json with one of the patterns that it knows. The one of cl100k_base has a name,
"gpt4": such a vocabulary is written in the format of tiktoken. Special tokens of the file are
found. Templates need `as_hf()`, which has the interface of transformers. Decoding returns bytes.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.byte_alphabet import BYTE_OF_LETTER
from tokenref.answers import Unsupported
from tokenref.engines.json_files import Found, JsonEngine, without_possessive

_HIGHEST: Final = 1 << 24
_GPT4: Final = without_possessive(str(REGISTRY["cl100k_base"].pattern))


class GigatokenEngine(JsonEngine):
    """gigatoken with any vocabulary that it can express."""

    name = "gigatoken"

    def open(self, content: bytes) -> Any:
        from gigatoken import Tokenizer

        described = json.loads(content)
        vocab = described["model"].get("vocab")
        if isinstance(vocab, dict) and max(vocab.values(), default=0) >= _HIGHEST:
            raise ValueError(f"is not run with ids beyond {_HIGHEST:,}: it has a row for each")
        steps = (described.get("pre_tokenizer") or {}).get("pretokenizers") or [{}]
        pattern = (steps[0].get("pattern") or {}).get("Regex")
        if pattern != _GPT4 or described["normalizer"] is not None:
            return Tokenizer.from_json(content)
        specials = {added["content"]: added["id"] for added in described["added_tokens"]}
        ranks = described["model"]["vocab"].items()
        with TemporaryDirectory() as folder:
            path = Path(folder) / "vocabulary.tiktoken"
            ordinary = {_bytes(word): rank for word, rank in ranks if word not in specials}
            write_tiktoken(ordinary, path)
            return Tokenizer.from_tiktoken(path, "gpt4", specials)

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        if not added:
            return tokenizer.encode(text).tolist()
        try:
            return tokenizer.as_hf().encode(text, add_special_tokens=True)
        except ValueError as error:
            return Unsupported(str(error))

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        """Return the bytes, or the text without special tokens."""
        if skip:
            return tokenizer.as_hf().decode(ids, skip_special_tokens=True)
        return tokenizer.decode(ids)


def _bytes(word: str) -> bytes:
    return bytes(map(BYTE_OF_LETTER.__getitem__, word))
