"""What an engine under test can say.

An engine is loaded with a vocabulary and then answers requests, each an
operation and the `in` of a record. Its `out` is compared with the record's.
The expected answer is never shown to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from bpe_ref import Vocabulary
from tokenref.record import ErrorCode

TEXT_OPS: Final = ("pieces", "encode", "count", "special", "decode")
"""The operations that ask for a text's tokens, or for a text: what most engines have."""


@dataclass(frozen=True)
class Ok:
    """An answer, in the form of a record's `out`."""

    out: Mapping[str, Any]


@dataclass(frozen=True)
class Refused:
    """The engine refuses the input, for one of the reasons that records know."""

    code: ErrorCode
    message: str


@dataclass(frozen=True)
class Unsupported:
    """The engine has no such operation, or cannot express the vocabulary."""

    reason: str


@dataclass(frozen=True)
class Crashed:
    """The engine broke: an exception that no documentation promises, or a panic."""

    message: str


Answer: TypeAlias = Ok | Refused | Unsupported | Crashed


class Session(Protocol):
    """An engine with a vocabulary loaded."""

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer one request: an operation, and a record's `in` as plain data."""


class Engine(Protocol):
    """A program under test."""

    @property
    def name(self) -> str:
        """The name that reports and known differences use."""

    @property
    def version(self) -> str:
        """The version of the program that is running."""

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        """Load a vocabulary, or say why that cannot be."""


@runtime_checkable
class LoadsTokenizers(Protocol):
    """What an engine has as well if it reads tokenizer.json files."""

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session | Unsupported:
        """Load a tokenizer.json, or say why that cannot be.

        `profile` says whose reading of it is asked for: "hugging-face" or "strict".
        """


def request_text(request: Mapping[str, Any]) -> bytes | str:
    r"""Return the text of a request, or its bytes where it is given so.

    >>> request_text({"text": "ab"}), request_text({"bytes": "ff"})
    ('ab', b'\xff')
    >>> request_text({"recipe": {"unit": "61", "times": 3}})
    b'aaa'
    """
    if "text" in request:
        return str(request["text"])
    if "bytes" in request:
        return bytes.fromhex(request["bytes"])
    recipe = request["recipe"]
    before, unit, after = (
        bytes.fromhex(recipe.get(part, "")) for part in ("before", "unit", "after")
    )
    return before + unit * int(recipe["times"]) + after


def as_text(content: bytes | str) -> str | None:
    r"""Return the content as text, or None where it is not UTF-8.

    >>> as_text(b"ab"), as_text(b"\xff")
    ('ab', None)
    """
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
