"""bpe-openai as an engine under test: GitHub's crates bpe and bpe-openai, in a Python package.

What it can express
    Its own three encodings only, recognized by their content: cl100k_base,
    o200k_base, voyage3_base. (It lists gpt2, r50k_base and others too, but its
    compiled part has none of these.)

What it answers
    The compiled part, GitHub's code, encodes, counts and cuts; it is asked
    directly, because the Python around it takes no text of a million characters
    and no result of more than 200,000 tokens. Special tokens and decoding are
    that Python: the compiled part knows no special tokens, and its `decode`
    reads memory that is not its own for an id it lacks. `_encode_bytes` is
    Python of the package's own, private and by another rule, so bytes that are
    not UTF-8 are unsupported.

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
    """bpe-openai, with its own vocabularies.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> BpeOpenaiEngine("0.1.4").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base, voyage3_base')
    """

    version: str
    name: str = "bpe-openai"

    def load(self, vocabulary: Vocabulary, name: str) -> "BpeOpenaiSession | Unsupported":
        """Choose the encoding that the vocabulary is, or say that there is none."""
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
    """The Python around it."""

    vocabulary: Vocabulary

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request."""
        if op not in TEXT_OPS:
            return Unsupported("has no such operation")
        if op == "decode":
            return self._decode(request)
        text = as_text(request_text(request))
        if text is None:
            return Unsupported("takes text only")
        match op:
            case "encode":
                return Ok({"ids": self.compiled.encode(text)})
            case "count":
                return Ok({"count": self.compiled.count(text)})
            case "pieces":
                pieces = self.compiled.pretokenize(text)
                return Ok({"pieces": [piece.encode().hex() for piece in pieces]})
        return self._special(request)

    def _has_other_specials(self) -> bool:
        specials = self.vocabulary.special_tokens
        if self.encoding.special_tokens_set != specials.keys():
            return True
        return any(self.encoding.encode_single_token(text) != specials[text] for text in specials)

    def _decode(self, request: Mapping[str, Any]) -> Answer:
        ids = request["ids"]
        if not self.vocabulary.tokens.keys() >= set(ids) and self._has_other_specials():
            return Unsupported("has special tokens of its own, which cannot be changed")
        return answer_decode(self.encoding, request)

    def _special(self, request: Mapping[str, Any]) -> Answer:
        if self._has_other_specials():
            return Unsupported("has special tokens of its own, which cannot be changed")
        return answer_special(self.encoding, request)
