"""onnxruntime-extensions as an engine: https://github.com/microsoft/onnxruntime-extensions.

What it can express
    Its `pp_api.Tokenizer` reads a tokenizer.json from a folder with a tokenizer_config.json, which
    only names the class of any fast tokenizer here. It knows GPT-2's expression as GPT-2 spells it.
    Files with ids beyond the number of tokens may end its process, so they are not opened.
    It is only asked about byte-level files: what it does for others depends on the class.

What it answers
    Only the special tokens that the configuration names are added, so files with a template are
    asked without. It has no pairs of texts.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bpe_ref.pre_tokenizers.byte_level import GPT2_PATTERN
from bpe_ref.registry import REGISTRY
from tokenref.answers import Unsupported
from tokenref.engines.json_files import Found, JsonEngine, without_possessive

_CONFIG: Final = json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"})
_R50K: Final = json.dumps(without_possessive(REGISTRY["r50k_base"].pattern or "")).encode()
_GPT2: Final = json.dumps(GPT2_PATTERN).encode()


class OnnxruntimeExtensionsEngine(JsonEngine):
    """onnxruntime-extensions with any vocabulary that it can express."""

    name = "onnxruntime-extensions"

    def open(self, content: bytes) -> Any:
        """Return the tokenizer, and whether the file adds special tokens to a text."""
        if b"'(?i:[sdmt]" in content:
            raise ValueError("cannot read the expression of cl100k_base")
        file = json.loads(content)
        if (file.get("decoder") or {}).get("type") != "ByteLevel":
            raise ValueError("is only asked about byte-level files")
        vocab = file["model"]["vocab"]
        if max(vocab.values(), default=0) >= len(vocab):
            raise ValueError("is not run with ids beyond the number of tokens, which may end it")
        post_processor = (file.get("post_processor") or {}).get("type")
        from onnxruntime_extensions.pp_api import Tokenizer

        with TemporaryDirectory() as folder:
            Path(folder, "tokenizer.json").write_bytes(content.replace(_R50K, _GPT2))
            Path(folder, "tokenizer_config.json").write_text(_CONFIG, encoding="utf-8")
            return Tokenizer(folder), post_processor not in {None, "ByteLevel"}

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        if added and tokenizer[1]:
            return Unsupported("only adds the special tokens of tokenizer_config.json")
        return list(tokenizer[0].tokenize(text))

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        tokenizer[0].update_options({"skip_special_tokens": skip})
        texts: list[str] = tokenizer[0].detokenize(ids)
        return texts[0]
