"""The reference tokenizer as an engine, with any of its encoders, or with one step replaced."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

from bpe_ref import (
    DecodingError,
    ParameterError,
    PatternError,
    Special,
    SpecialTokenError,
    SymbolError,
    TokenId,
    TokenIdError,
    Tokenizer,
    Vocabulary,
    tokenizer_of,
)
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.models.byte_bpe import ByteBPE, EncodeSymbols, encode_bytes
from bpe_ref.quirks import QUIRKS
from bpe_ref.tracing import trace
from tokenref.answers import SESSION, Ok, Refused, Session, answer_calls, request_text
from tokenref.engines.reference_parts import PARTS, Tools, answer_part
from tokenref.engines.reference_pipeline import PipelineSession, unknown_ids
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools

LONGEST_TRACE = 48
"""Maximum symbols of a text whose merges are returned as a stage; a trace takes quadratic time."""


_Same = TypeVar("_Same")


def _unchanged(value: _Same) -> _Same:
    return value


_READ_FILES: Final = 16
"""How many parsed tokenizer.json files are kept in memory; mutants use the same ones often."""


@lru_cache(maxsize=_READ_FILES)
def read_tokenizer(content: bytes, name: str, profile: str) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json. The last few are cached."""
    return parse_tokenizer_json(content, name, QUIRKS[profile])


def with_encoder(encode_symbols: EncodeSymbols) -> Callable[[Tokenizer], Tokenizer]:
    """Return what gives a tokenizer of bytes another encoder, and leaves all others as they are.

    A piece that is itself a token, as " there" is here, still becomes that token.

    >>> from bpe_ref import load
    >>> with_encoder(lambda vocabulary, symbols: [7])(load("tiny")).encode("Hi there?!")
    [7, 654, 7]
    """
    return partial(_with_encoder, encode_symbols)


def _with_encoder(encode_symbols: EncodeSymbols, tokenizer: Tokenizer) -> Tokenizer:
    if not isinstance(tokenizer.model, ByteBPE):
        return tokenizer
    return tokenizer.replace(model=replace(tokenizer.model, encode_symbols=encode_symbols))


@dataclass(frozen=True)
class ReferenceEngine:
    """The reference, or a variant of it.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> session = ReferenceEngine().load(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), "twice")
    >>> session.answer("count", {"text": "aaa"})
    Ok(out={'count': 2})
    """

    name: str = "reference"
    version: str = "0.1.0"
    prepare: Callable[[Vocabulary], Vocabulary] = _unchanged
    """Applied to the vocabulary first; the identity in a correct engine."""

    tools: Tools = field(default_factory=Tools)
    prepare_tokenizer: Callable[[Tokenizer], Tokenizer] = _unchanged
    """Applied to a tokenizer first; the identity in a correct engine."""

    with_stages: bool = True
    """Whether answers contain the pieces and merges as stages."""

    sampler_tools: SamplerTools = field(default_factory=SamplerTools)

    def load(self, vocabulary: Vocabulary, name: str) -> "ReferenceSession":
        """Load a vocabulary."""
        tokenizer = self.prepare_tokenizer(tokenizer_of(self.prepare(vocabulary), name=name))
        return ReferenceSession(tokenizer, with_stages=self.with_stages, tools=self.tools)

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session:
        """Load a whole tokenizer."""
        tokenizer = self.prepare_tokenizer(read_tokenizer(content, name, profile))
        return PipelineSession(tokenizer, unknown_ids=unknown_ids(profile))

    def load_profile(self, profile: str) -> Session:
        """Select a profile of samplers."""
        return SamplerSession(profile, self.sampler_tools)

    def leaves_as_it_is(self, content: bytes, name: str, profile: str) -> bool:
        """Return whether `prepare_tokenizer` leaves a tokenizer unchanged, so it answers correctly.

        Only returning the same object counts; False proves nothing.
        """
        tokenizer = read_tokenizer(content, name, profile)
        return self.prepare_tokenizer(tokenizer) is tokenizer

    def encode_symbols(self, vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
        """Return the tokens of the symbols of one piece that is not taken whole."""
        right = tokenizer_of(vocabulary.remember(self.prepare))
        model = byte_model(self.prepare_tokenizer(right))
        return model.encode_symbols(model.vocabulary, symbols)


@dataclass(frozen=True)
class ReferenceSession:
    """The reference with a vocabulary loaded."""

    tokenizer: Tokenizer
    with_stages: bool = True
    tools: Tools = field(default_factory=Tools)

    def answer(self, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        """Answer one request."""
        try:
            if op == SESSION:
                answer = answer_calls(self.answer, request)
                assert isinstance(answer, Ok)  # noqa: S101 - each call has an answer, or is refused
                return answer
            if op in PARTS:
                return Ok(answer_part(self.tokenizer, self.tools, op, request))
            return Ok(_OPERATIONS[op](self, request))
        except SymbolError as error:
            return Refused("MISSING_BYTE", str(error))
        except TokenIdError as error:
            return Refused("UNKNOWN_ID", str(error))
        except DecodingError as error:
            return Refused("INVALID_UTF8", str(error))
        except SpecialTokenError as error:
            return Refused("DISALLOWED_SPECIAL", str(error))
        except (ParameterError, PatternError) as error:
            # of a text, a limit that even one token would exceed
            return Refused("INVALID_PARAMETER" if op == "grammar_mask" else "TOO_LONG", str(error))

    def pieces(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `pieces`."""
        content = request_text(request)
        text = content if isinstance(content, str) else content.decode("utf-8")
        pieces = self.tokenizer.pieces(text, special="ordinary")
        return {"pieces": [piece.encode().hex() for piece in pieces]}

    def encode(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `encode`."""
        content = request_text(request)
        if isinstance(content, bytes):
            ids = self.encode_bytes(content)
        else:
            ids = self.tokenizer.encode(content, special="ordinary")
        if not self.with_stages or isinstance(content, bytes) or len(content) > LONGEST_TRACE:
            return {"ids": ids}
        pieces = self.tokenizer.pieces(content, special="ordinary")
        merges = [self._merges(piece.encode()) for piece in pieces]
        stages = {"pieces": [piece.encode().hex() for piece in pieces], "merges": merges}
        return {"ids": ids, "stages": stages}

    def count(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `count`."""
        content = request_text(request)
        if isinstance(content, bytes):
            return {"count": len(self.encode_bytes(content))}
        return {"count": self.tokenizer.count(content, special="ordinary")}

    def decode(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `decode`."""
        data = self.tools.decode_bytes(byte_model(self.tokenizer).vocabulary, request["ids"])
        if "errors" in request:
            return {"text": self.tools.bytes_to_text(data, request["errors"])}
        return {"bytes": data.hex()}

    def special(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `special`."""
        allowed, disallowed = request["allowed"], request["disallowed"]
        special = Special(
            recognise="all" if allowed == "all" else frozenset(allowed),
            refuse="all" if disallowed == "all" else frozenset(disallowed),
        )
        return {"ids": self.tools.special(self.tokenizer, request["text"], special)}

    def encode_bytes(self, data: bytes) -> list[TokenId]:
        """Return the tokens of bytes that need not be UTF-8."""
        return encode_bytes(self.tokenizer, data)

    def _merges(self, piece: bytes) -> list[list[int]]:
        """Return the merges of a piece by the definition; none if the piece is a token."""
        model = byte_model(self.tokenizer)
        vocabulary = model.vocabulary
        if vocabulary.text.whole_piece and piece.decode("latin-1") in vocabulary.ids:
            return []
        steps = trace(vocabulary, vocabulary.symbols(piece))
        return [[step.position, step.result] for step in steps]


def byte_model(tokenizer: Tokenizer) -> ByteBPE:
    """Return the model of a tokenizer that was made of a vocabulary of bytes."""
    assert isinstance(tokenizer.model, ByteBPE)  # noqa: S101 -- it was made of a vocabulary
    return tokenizer.model


_OPERATIONS: Mapping[str, Callable[[ReferenceSession, Mapping[str, Any]], dict[str, Any]]] = {
    "pieces": ReferenceSession.pieces,
    "encode": ReferenceSession.encode,
    "count": ReferenceSession.count,
    "decode": ReferenceSession.decode,
    "special": ReferenceSession.special,
}
