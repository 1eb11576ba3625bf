"""tiktoken as an engine: https://github.com/openai/tiktoken; and what packages with its API share.

What it can express
    Vocabularies by concatenation whose ids are their ranks. It never merges a piece that is a
    token. A vocabulary that does is only expressible if no token is dead: then the merges of a
    token's bytes end in that token, so the result is the same. No normalization. Without a pattern,
    the text is one piece, as with the pattern `(?s:.+)`.

What it answers
    `encode_ordinary`, `encode` and `decode` are the public functions. Counting is the length of
    the first, as its users do it. Bytes that are not UTF-8 go to `_encode_bytes`, or as one piece
    to `_encode_single_piece`, as in its own tests. It does not return its pieces.

What it refuses
    An unknown id with a `KeyError`, disallowed special text with a `ValueError` that has a known
    message, invalid UTF-8 with a `UnicodeDecodeError`. Any other exception is a crash, such as the
    panic for a byte without a token, or an `OverflowError` for an id of more than 32 bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bpe_ref import Vocabulary
from bpe_ref.auditing import audit
from bpe_ref.vocabulary.merges import ByConcatenation
from tokenref.answers import Answer, Ok, Refused, TextSession, Unsupported

if TYPE_CHECKING:
    from tiktoken import Encoding


ONE_PIECE: Final = "(?s:.+)"
_TABLES: Final = "unicode-16.0"
_IDS: Final = 1 << 32


@dataclass(frozen=True)
class TiktokenEngine:
    """tiktoken with any vocabulary that it can express.

    >>> from bpe_ref import vocabulary_by_pair
    >>> TiktokenEngine("0.14.0").load(vocabulary_by_pair({b"a": 0}, []), "pairs")
    Unsupported(reason='only merges by concatenation')
    """

    version: str
    name: str = "tiktoken"

    def load(self, vocabulary: Vocabulary, name: str) -> "TiktokenSession | Unsupported":
        reason = why_not(vocabulary)
        if reason is not None:
            return Unsupported(reason)
        from tiktoken import Encoding

        encoding = Encoding(
            name,
            pat_str=vocabulary.text.pattern or ONE_PIECE,
            mergeable_ranks={content: token for token, content in vocabulary.tokens.items()},
            special_tokens=dict(vocabulary.special_tokens),
        )
        return TiktokenSession(encoding, one_piece=vocabulary.text.pattern is None)


def why_not(vocabulary: Vocabulary, *, needs_ranks: bool = True) -> str | None:
    """Return why tiktoken cannot express a vocabulary, or None if it can."""
    rule, text = vocabulary.rule, vocabulary.text
    if not isinstance(rule, ByConcatenation):
        return "only merges by concatenation"
    if needs_ranks and any(rank != token for token, rank in rule.ranks.items()):
        return "has no ids other than the ranks"
    if max([*vocabulary.tokens, *vocabulary.special_bytes]) >= _IDS:
        return "only has 32-bit ids"
    if text.normalization is not None:
        return "has no normalization"
    if text.pattern is not None and text.tables != _TABLES:
        return f"only has the tables {_TABLES}"
    if not text.whole_piece and audit(vocabulary).dead_tokens:
        return "never merges a piece that is a token, which matters for dead tokens"
    return None


@dataclass(frozen=True)
class TiktokenSession(TextSession):
    """tiktoken with a vocabulary loaded."""

    encoding: "Encoding"
    one_piece: bool

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        match op:
            case "offsets":
                return self._offsets(request)
            case "completions":
                return self._completions(request)
        return super().answer(op, request)

    def encode(self, text: str) -> list[int]:
        return self.encoding.encode_ordinary(text)

    def encode_bytes(self, data: bytes) -> list[int]:
        if self.one_piece:
            return self.encoding._encode_single_piece(data)  # noqa: SLF001 - the only way for bytes
        return self.encoding._encode_bytes(data)  # noqa: SLF001 - the only way for bytes

    def decode(self, request: Mapping[str, Any]) -> Answer:
        return answer_decode(self.encoding, request)

    def special(self, text: str, request: Mapping[str, Any]) -> Answer:
        return answer_special(self.encoding, request)

    def _offsets(self, request: Mapping[str, Any]) -> Answer:
        try:
            text, offsets = self.encoding.decode_with_offsets(request["ids"])
        except KeyError as error:
            return Refused("UNKNOWN_ID", str(error))
        except UnicodeDecodeError as error:
            return Refused("INVALID_UTF8", str(error))
        return Ok({"text": text, "offsets": offsets})

    def _completions(self, request: Mapping[str, Any]) -> Answer:
        if request["complete"]:
            return Unsupported("only finds its own selection of completions")
        try:
            stable, found = self.encoding.encode_with_unstable(request["text"])
        except ValueError as error:
            return _refused(error)
        return Ok({"stable": stable, "completions": sorted(map(list, found))})


_DISALLOWED: Final = "Encountered text corresponding to disallowed special token"


def answer_decode(encoding: Any, request: Mapping[str, Any]) -> Ok | Refused:
    """Answer `decode` by an encoding with tiktoken's API.

    The refusals that tiktoken documents are built-in exceptions.
    """
    try:
        if "errors" in request:
            return Ok({"text": encoding.decode(request["ids"], request["errors"])})
        return Ok({"bytes": encoding.decode_bytes(request["ids"]).hex()})
    except KeyError as error:
        return Refused("UNKNOWN_ID", str(error))
    except UnicodeDecodeError as error:
        return Refused("INVALID_UTF8", str(error))


def answer_special(encoding: Any, request: Mapping[str, Any]) -> Ok | Refused:
    """Answer `special`."""
    allowed, disallowed = request["allowed"], request["disallowed"]
    try:
        ids = encoding.encode(
            request["text"],
            allowed_special="all" if allowed == "all" else frozenset(allowed),
            disallowed_special="all" if disallowed == "all" else frozenset(disallowed),
        )
    except ValueError as error:
        return _refused(error)
    return Ok({"ids": ids})


def _refused(error: ValueError) -> Refused:
    """Return the documented refusal of special text, or raise the error if it is another one."""
    if not str(error).startswith(_DISALLOWED):
        raise error
    return Refused("DISALLOWED_SPECIAL", str(error))


@dataclass(frozen=True)
class PackageSession(TextSession):
    """A package with a vocabulary loaded."""

    package: Any
    vocabulary: Vocabulary
