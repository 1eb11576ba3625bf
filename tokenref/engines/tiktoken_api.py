"""What tiktoken and the packages with its interface have in common: decoding and special tokens."""

from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Literal, Protocol

from bpe_ref import Vocabulary
from bpe_ref.registry import REGISTRY
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.answers import Ok, Refused

_DISALLOWED: Final = "Encountered text corresponding to disallowed special token"


class TiktokenApi(Protocol):
    """The part of tiktoken's `Encoding` that is asked here."""

    def decode(self, tokens: Sequence[int], errors: str = ...) -> str:
        """Return the text of the tokens."""

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of the tokens."""

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | frozenset[str] = ...,
        disallowed_special: Literal["all"] | Collection[str] = ...,
    ) -> list[int]:
        """Return the tokens of a text that may hold special tokens."""


def answer_decode(encoding: TiktokenApi, request: Mapping[str, Any]) -> Ok | Refused:
    """Answer `decode`; the refusals that tiktoken documents are exceptions of Python's own."""
    try:
        if "errors" in request:
            return Ok({"text": encoding.decode(request["ids"], request["errors"])})
        return Ok({"bytes": encoding.decode_bytes(request["ids"]).hex()})
    except KeyError as error:
        return Refused("UNKNOWN_ID", str(error))
    except UnicodeDecodeError as error:
        return Refused("INVALID_UTF8", str(error))


def answer_special(encoding: TiktokenApi, request: Mapping[str, Any]) -> Ok | Refused:
    """Answer `special`; any other `ValueError` than the documented one is passed on."""
    allowed, disallowed = request["allowed"], request["disallowed"]
    try:
        ids = encoding.encode(
            request["text"],
            allowed_special="all" if allowed == "all" else frozenset(allowed),
            disallowed_special="all" if disallowed == "all" else frozenset(disallowed),
        )
    except ValueError as error:
        if str(error).startswith(_DISALLOWED):
            return Refused("DISALLOWED_SPECIAL", str(error))
        raise
    return Ok({"ids": ids})


def which(vocabulary: Vocabulary, names: Iterable[str]) -> str | None:
    """Return which of the registered vocabularies this one is, special tokens aside.

    Pattern, tables and normalization must be the registered ones, and the
    tokens, written in the tiktoken format, must have the registered sha256. So
    no file is needed. Whether a piece that is a token is taken whole does not
    matter: in these vocabularies each token is what its own bytes encode to.

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
