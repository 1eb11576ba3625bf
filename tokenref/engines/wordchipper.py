"""wordchipper as an engine: https://github.com/zspacelabs/wordchipper.

What it can express
    Only the encodings of OpenAI, recognized by their content. It looks for their files in a folder,
    and would fetch what is missing. So the vocabulary is written there first.

What it answers
    Its module `compat.tiktoken` has tiktoken's interface, and is used as tiktoken is.
"""

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from bpe_ref import Vocabulary
from tokenref.answers import TEXT_OPS, Answer, Ok, Refused, Unsupported, as_text, request_text
from tokenref.engines.bpe_openai import BpeOpenaiSession
from tokenref.engines.tiktoken import answer_decode, answer_special, which

_OWN: Final = ("cl100k_base", "o200k_base", "p50k_base", "r50k_base")


@dataclass(frozen=True)
class WordchipperEngine:
    """wordchipper with its own vocabularies.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> WordchipperEngine("0.9.2").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base, p50k_base, r50k_base')
    """

    version: str
    name: str = "wordchipper"

    def load(self, vocabulary: Vocabulary, name: str) -> "WordchipperSession | Unsupported":
        own = which(vocabulary, _OWN)
        if own is None:
            return Unsupported(f"has only {', '.join(_OWN)}")
        compat: Any = import_module("wordchipper.compat.tiktoken")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "openai" / own / f"{own}.tiktoken"
            path.parent.mkdir(parents=True)
            tokens = sorted(vocabulary.tokens.items())
            path.write_bytes(b"".join(b"%b %d\n" % (b64encode(word), id_) for id_, word in tokens))
            folders = dict.fromkeys(("WORDCHIPPER_CACHE_DIR", "WORDCHIPPER_DATA_DIR"), folder)
            with patch.dict(os.environ, folders):
                encoding = compat.Encoding(own, compat.Tokenizer.from_pretrained(own))
        return WordchipperSession(None, encoding, vocabulary)


class WordchipperSession(BpeOpenaiSession):
    """wordchipper with one of its encodings."""

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op not in TEXT_OPS:
            return Unsupported("has no such operation")
        if op == "pieces":
            return Unsupported("does not return its pieces")
        if op in {"decode", "special"}:
            has_special = op == "special" or set(request["ids"]) - self.vocabulary.tokens.keys()
            if has_special and self._has_other_specials():
                return Unsupported("has its own special tokens, which cannot be changed")
            if op == "special":
                return answer_special(self.encoding, request)
            try:
                return answer_decode(self.encoding, request)
            except ValueError as error:
                if str(error).startswith("incomplete decode"):
                    return Refused("UNKNOWN_ID", str(error))
                raise
        text = as_text(request_text(request))
        if text is None:
            return Unsupported("accepts only text")
        ids = self.encoding.encode_ordinary(text)
        return Ok({"ids": ids} if op == "encode" else {"count": len(ids)})
