"""Packages that only have encodings of their own: bpe-openai, rs-bpe and wordchipper.

What they can express
    The encodings of OpenAI, and one of Voyage AI, recognised by their content.
"""

import os
import warnings
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

from bpe_ref import Vocabulary
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.answers import Answer, Ok, Refused, TextSession, Unsupported
from tokenref.engines.tiktoken import PackageSession, answer_decode, answer_special


def which(vocabulary: Vocabulary, names: Iterable[str]) -> str | None:
    """Return the name of a registered vocabulary, ignoring special tokens, or None.

    Pattern, tables and normalization must be the registered ones, and the tokens in the tiktoken
    format must have the registered sha256, so no file is needed. Whether pieces that are tokens are
    merged does not matter: in these vocabularies the bytes of each token encode to that token.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> which(vocabulary_by_concatenation({b"a": 0}), REGISTRY) is None
    True
    """
    rule, text = vocabulary.rule, vocabulary.text
    if not isinstance(rule, ByConcatenation):
        return None
    for name in names:
        entry = REGISTRY[name]
        if (
            len(vocabulary.tokens) == entry.token_count
            and (text.pattern, text.tables) == (entry.pattern, entry.tables)
            and text.normalization == entry.normalization
            and all(rule.ranks[token] == token for token in vocabulary.tokens)
            and _file_sha256(vocabulary) == entry.sha256
        ):
            return name
    return None


def _file_sha256(vocabulary: Vocabulary) -> str:
    hasher = sha256()
    for token in sorted(vocabulary.tokens):
        hasher.update(b"%b %d\n" % (b64encode(vocabulary.tokens[token]), token))
    return hasher.hexdigest()


class OwnEncodings:
    """An engine that only has encodings of its own, which are recognised by their content."""

    name: str
    own: tuple[str, ...]

    def __init__(self, version: str) -> None:
        self.version = version

    def load(self, vocabulary: Vocabulary, name: str) -> TextSession | Unsupported:
        """Select the encoding with this vocabulary, or report that no encoding has it."""
        own = which(vocabulary, self.own)
        if own is None:
            return Unsupported(f"has only {', '.join(self.own)}")
        return self.open(own, vocabulary)

    def open(self, own: str, vocabulary: Vocabulary) -> TextSession:
        """Return a session with one of the encodings."""
        raise NotImplementedError


class SpecialSession(PackageSession):
    """A package with tiktoken's API and special tokens that cannot be changed."""

    def special(self, text: str, request: Mapping[str, Any]) -> Answer:
        return _UNCHANGED if self._has_others() else answer_special(self.package, request)

    def decode(self, request: Mapping[str, Any]) -> Answer:
        if set(request["ids"]) - self.vocabulary.tokens.keys() and self._has_others():
            return _UNCHANGED
        return answer_decode(self.package, request)

    def _has_others(self) -> bool:
        specials, package = self.vocabulary.special_tokens, self.package
        if package.special_tokens_set != specials.keys():
            return True
        return any(package.encode_single_token(text) != specials[text] for text in specials)


_UNCHANGED: Final = Unsupported("has its own special tokens, which cannot be changed")


# ---- bpe-openai


class BpeOpenaiEngine(OwnEncodings):
    """bpe-openai: GitHub's crates bpe and bpe-openai, in a Python package.

    It has cl100k_base, o200k_base and voyage3_base. (It also lists gpt2, r50k_base and others, but
    its compiled part lacks them.) The compiled part, GitHub's code, encodes, counts and cuts. It is
    called directly, because the Python code around it accepts no text of a million characters and
    no result of more than 200,000 tokens. Special tokens and decoding use that Python code: the
    compiled part has no special tokens, and its `decode` reads foreign memory for an unknown id.
    `_encode_bytes` is the package's own private Python code and follows another rule, so bytes that
    are not UTF-8 are unsupported.

    Source: https://github.com/Pathlit-Inc/bpe-openai (the package),
    https://github.com/github/rust-gems (the crates).

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


# ---- rs-bpe

_IDS: Final = 1 << 32


class MemoryUnsafeError(Exception):
    """A question that is not run because it could end the process."""


class RsBpeEngine(OwnEncodings):
    """rs-bpe: https://github.com/gweidart/rs-bpe.

    It has no special tokens. `encode`, `count` and `decode` are compiled. `decode` returns None for
    invalid UTF-8, which is the refusal if strict text is requested; it cannot replace invalid
    UTF-8. The bytes are those of `decode_tokens`.

    Unknown ids are not run. Version 0.1.0 reads foreign memory for them: 100257 gives an empty
    text, 100256 a panic, and 1,000,000,000 ends the process. There is no answer to compare, and the
    run must continue, so the adapter reports a crash. Ids of more than 32 bits are run and give an
    `OverflowError`.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> RsBpeEngine("0.1.0").load(vocabulary_by_concatenation({b"a": 0}), "small")
    Unsupported(reason='has only cl100k_base, o200k_base')
    """

    name = "rs-bpe"
    own = ("cl100k_base", "o200k_base")

    def open(self, own: str, vocabulary: Vocabulary) -> "RsBpeSession":
        from rs_bpe.bpe import openai

        return RsBpeSession(getattr(openai, own)(), vocabulary)


class RsBpeSession(PackageSession):
    """rs-bpe with one of its encodings."""

    def count(self, text: str) -> Any:
        return self.package.count(text)

    def encode(self, text: str) -> Any:
        return self.package.encode(text)

    def decode(self, request: Mapping[str, Any]) -> Answer:
        ids = request["ids"]
        if self.vocabulary.special_bytes.keys() & set(ids):
            return Unsupported("has no special tokens")
        for token in ids:
            if 0 <= token < _IDS and token not in self.vocabulary.tokens:
                raise MemoryUnsafeError(f"not run: decode reads foreign memory for the id {token}")
        if "errors" not in request:
            return Ok({"bytes": self.package.bpe().decode_tokens(ids).hex()})
        text = self.package.decode(ids)
        if text is not None:
            return Ok({"text": text})
        if request["errors"] == "strict":
            return Refused("INVALID_UTF8", "decode returned None")
        return Unsupported("returns no text for invalid UTF-8")


# ---- wordchipper


class WordchipperEngine(OwnEncodings):
    """wordchipper: https://github.com/zspacelabs/wordchipper.

    It looks for its files in a folder, and would fetch what is missing. So the vocabulary is
    written there first. Its module `compat.tiktoken` has tiktoken's interface, and is used as
    tiktoken is.

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
