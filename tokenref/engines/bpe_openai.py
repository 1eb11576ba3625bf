"""bpe-openai as an engine: GitHub's crates bpe and bpe-openai, in a Python package.

What it can express
    Only its own three encodings, recognized by their content: cl100k_base, o200k_base and
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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bpe_ref import Vocabulary
from tokenref.answers import TEXT_OPS, Answer, Ok, Unsupported, as_text, request_text
from tokenref.engines.tiktoken import answer_decode, answer_special, which

_OWN: Final = ("cl100k_base", "o200k_base", "voyage3_base")


@dataclass(frozen=True)
class BpeOpenaiEngine:
    """bpe-openai with its own vocabularies.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> BpeOpenaiEngine("0.1.4").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base, voyage3_base')
    """

    version: str
    name: str = "bpe-openai"

    def load(self, vocabulary: Vocabulary, name: str) -> "BpeOpenaiSession | Unsupported":
        own = which(vocabulary, _OWN)
        if own is None:
            return Unsupported(f"has only {', '.join(_OWN)}")
        from bpe_openai import _bindings, get_encoding

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how it opens its own files
            encoding = get_encoding(own)
        return BpeOpenaiSession(_bindings.tokenizer_for_encoding(own), encoding, vocabulary)


@dataclass(frozen=True)
class BpeOpenaiSession:
    """bpe-openai with one of its encodings."""

    compiled: Any
    """The compiled part."""

    encoding: Any
    """The Python code around it."""

    vocabulary: Vocabulary

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op not in TEXT_OPS:
            return Unsupported("has no such operation")
        if op in {"decode", "special"}:
            has_special = op == "special" or set(request["ids"]) - self.vocabulary.tokens.keys()
            if has_special and self._has_other_specials():
                return Unsupported("has its own special tokens, which cannot be changed")
            answer = answer_decode if op == "decode" else answer_special
            return answer(self.encoding, request)
        text = as_text(request_text(request))
        if text is None:
            return Unsupported("accepts only text")
        if op == "encode":
            return Ok({"ids": self.compiled.encode(text)})
        if op == "count":
            return Ok({"count": self.compiled.count(text)})
        return Ok({"pieces": [piece.encode().hex() for piece in self.compiled.pretokenize(text)]})

    def _has_other_specials(self) -> bool:
        specials = self.vocabulary.special_tokens
        if self.encoding.special_tokens_set != specials.keys():
            return True
        return any(self.encoding.encode_single_token(text) != specials[text] for text in specials)
