"""bpe-openai as an engine: GitHub's crates bpe and bpe-openai, in a Python package.

What it can express
    Only its own three encodings, recognised by their content: cl100k_base, o200k_base and
    voyage3_base. (It also lists gpt2, r50k_base and others, but its compiled part lacks them.)

What it answers
    The compiled part, GitHub's code, encodes, counts and cuts. It is called directly, because the
    Python code around it accepts no text of a million characters and no result of more than 200,000
    tokens. Special tokens and decoding use that Python code: the compiled part has no special
    tokens, and its `decode` reads foreign memory for an unknown id. `_encode_bytes` is the
    package's own private Python code and follows another rule, so bytes that are not UTF-8 are
    unsupported.

Source: https://github.com/Pathlit-Inc/bpe-openai (the package),
https://github.com/github/rust-gems (the crates).
"""

import warnings
from dataclasses import dataclass
from typing import Any

from bpe_ref import Vocabulary
from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.tiktoken import OwnEncodings, SpecialSession


class BpeOpenaiEngine(OwnEncodings):
    """bpe-openai with its own vocabularies.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> BpeOpenaiEngine("0.1.4").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base, voyage3_base')
    """

    name = "bpe-openai"
    own = ("cl100k_base", "o200k_base", "voyage3_base")

    def open(self, own: str, vocabulary: Vocabulary) -> "BpeOpenaiSession":
        from bpe_openai import _bindings, get_encoding

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how it opens its own files
            encoding = get_encoding(own)
        return BpeOpenaiSession(encoding, vocabulary, _bindings.tokenizer_for_encoding(own))


@dataclass(frozen=True)
class BpeOpenaiSession(SpecialSession):
    """bpe-openai with one of its encodings; the package is the Python code."""

    compiled: Any

    def count(self, text: str) -> Any:
        return self.compiled.count(text)

    def encode(self, text: str) -> Any:
        return self.compiled.encode(text)

    def pieces(self, text: str | None) -> Answer:
        if text is None:
            return Unsupported("accepts only text")
        return Ok({"pieces": [piece.encode().hex() for piece in self.compiled.pretokenize(text)]})
