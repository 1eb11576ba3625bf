"""wordchipper as an engine: https://github.com/zspacelabs/wordchipper.

What it can express
    Only the encodings of OpenAI, recognised by their content. It looks for their files in a folder,
    and would fetch what is missing. So the vocabulary is written there first.

What it answers
    Its module `compat.tiktoken` has tiktoken's interface, and is used as tiktoken is.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from bpe_ref import Vocabulary
from bpe_ref.formats.tiktoken import write_tiktoken
from tokenref.answers import Answer, Refused
from tokenref.engines.tiktoken import OwnEncodings, SpecialSession


class WordchipperEngine(OwnEncodings):
    """wordchipper with its own vocabularies.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> WordchipperEngine("0.9.2").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base, p50k_base, r50k_base')
    """

    name = "wordchipper"
    own = ("cl100k_base", "o200k_base", "p50k_base", "r50k_base")

    def open(self, own: str, vocabulary: Vocabulary) -> "WordchipperSession":
        compat: Any = import_module("wordchipper.compat.tiktoken")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "openai" / own / f"{own}.tiktoken"
            path.parent.mkdir(parents=True)
            write_tiktoken({word: token for token, word in vocabulary.tokens.items()}, path)
            folders = dict.fromkeys(("WORDCHIPPER_CACHE_DIR", "WORDCHIPPER_DATA_DIR"), folder)
            with patch.dict(os.environ, folders):
                encoding = compat.Encoding(own, compat.Tokenizer.from_pretrained(own))
        return WordchipperSession(encoding, vocabulary)


class WordchipperSession(SpecialSession):
    """wordchipper with one of its encodings."""

    def encode(self, text: str) -> Any:
        return self.package.encode_ordinary(text)

    def decode(self, request: Mapping[str, Any]) -> Answer:
        try:
            return super().decode(request)
        except ValueError as error:
            if str(error).startswith("incomplete decode"):
                return Refused("UNKNOWN_ID", str(error))
            raise
