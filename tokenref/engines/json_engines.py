"""The engines that read a tokenizer.json, apart from tokenizers and llama.cpp.

`json_files` says what they can express and what they answer. Special tokens of the file are found
by all of them. Where nothing else is said, `decode` returns text with U+FFFD for invalid UTF-8, and
pairs of texts are unsupported.
"""

import json
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final

from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.pre_tokenizers.byte_level import GPT2_PATTERN
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.byte_alphabet import BYTE_OF_LETTER
from tokenref.answers import Unsupported
from tokenref.engines.json_files import Found, JsonEngine, without_possessive


class FastokensEngine(JsonEngine):
    """fastokens: https://github.com/crusoecloud/fastokens."""

    name = "fastokens"

    def open(self, content: bytes) -> Any:
        from fastokens import Tokenizer

        return Tokenizer.from_json_str(content.decode())


class IreeTokenizerEngine(JsonEngine):
    """iree-tokenizer: https://github.com/iree-org/iree-tokenizer-py."""

    name = "iree-tokenizer"

    def open(self, content: bytes) -> Any:
        from iree.tokenizer import Tokenizer

        return Tokenizer.from_buffer(content)

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        return tokenizer.encode(text, add_special_tokens=added)


class SplintrEngine(JsonEngine):
    """splintr-rs: https://github.com/ml-rust/splintr.

    `encode` adds the special tokens of the template, and `encode_raw` does not. `decode` omits
    special tokens, and `decode_with_special` does not.
    """

    name = "splintr-rs"
    refusals = MappingProxyType({"Decoding error: token ID": "UNKNOWN_ID"})

    def open(self, content: bytes) -> Any:
        from splintr import from_json_bytes

        return from_json_bytes(content)

    def encode(self, tokenizer: Any, text: str, *, added: bool) -> Found:
        return tokenizer.encode(text) if added else tokenizer.encode_raw(text)

    def decode(self, tokenizer: Any, ids: list[int], *, skip: bool) -> Found:
        return tokenizer.decode(ids) if skip else tokenizer.decode_with_special(ids)


class KitokenEngine(JsonEngine):
    """kitoken: https://github.com/Systemcluster/kitoken.

    It decodes to bytes. It never adds the special tokens of a template. An unknown id is a
    `ValueError` with a message of its own.
    """

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


class TokieEngine(JsonEngine):
    """tokie: https://github.com/chonkie-inc/tokie.

    It reads a file only, and decoding never omits special tokens. The tokens of a vocabulary are
    decoded by `decode_bytes`, those of a file by `decode`. A long piece takes quadratic time, so
    long texts are not run.
    """

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


class TokenizersJsEngine(JsonEngine):
    """@huggingface/tokenizers, of npm: https://github.com/huggingface/tokenizers.js.

    Transformers.js uses it, so what it answers is what programs in a browser get. Node runs it, in
    `tokenref/node_engines/tokenizers_js.mjs`, which has the methods.
    """

    name = "tokenizers-js"
    ends_lines = True

    def command(self) -> list[str]:
        from tokenref.engines.node_packages import node_command

        return shlex.split(node_command(self.name))


# ---- gigatoken

_HIGHEST: Final = 1 << 24
_GPT4: Final = without_possessive(str(REGISTRY["cl100k_base"].pattern))


class GigatokenEngine(JsonEngine):
    """gigatoken: https://github.com/marcelroed/gigatoken.

    It reads a tokenizer.json with one of the patterns that it knows. The one of cl100k_base has a
    name, "gpt4": such a vocabulary is written in the format of tiktoken. Templates need `as_hf()`,
    which has the interface of transformers. Decoding returns bytes.
    """

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


# ---- onnxruntime-extensions

_CONFIG: Final = json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"})
_R50K: Final = json.dumps(without_possessive(REGISTRY["r50k_base"].pattern or "")).encode()
_GPT2: Final = json.dumps(GPT2_PATTERN).encode()


class OnnxruntimeExtensionsEngine(JsonEngine):
    """onnxruntime-extensions: https://github.com/microsoft/onnxruntime-extensions.

    Its `pp_api.Tokenizer` reads the file from a folder with a tokenizer_config.json, which only
    names the class of any fast tokenizer here. It knows GPT-2's expression as GPT-2 spells it.
    Files with ids beyond the number of tokens may end its process, so they are not opened. It is
    only asked about byte-level files: what it does for others depends on the class.

    Only the special tokens that the configuration names are added, so files with a template are
    asked without.
    """

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
