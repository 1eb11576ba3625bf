"""What tiktoken and the packages with its interface have in common: decoding and special tokens."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, Protocol

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
