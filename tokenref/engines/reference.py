"""The reference tokenizer as an engine, with any of its encoders, or with one step replaced."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias

from bpe_ref import (
    DecodingError,
    SpecialTokenError,
    Steps,
    SymbolError,
    TokenId,
    TokenIdError,
    Tokenizer,
    Vocabulary,
    trace,
)
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.hugging_face.pipeline import Pipeline
from bpe_ref.profile import PROFILES
from tokenref.answers import SESSION, Ok, Refused, Session, answer_calls, request_text
from tokenref.engines.reference_parts import PARTS
from tokenref.engines.reference_pipeline import PipelineSession
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools
from tokenref.engines.tools import Tools

EncodeSymbols: TypeAlias = Callable[[Vocabulary, Sequence[TokenId]], list[TokenId]]

LONGEST_TRACE = 48
"""Maximum symbols of a text whose merges are returned as a stage; a trace takes quadratic time."""


def _unchanged(vocabulary: Vocabulary) -> Vocabulary:
    return vocabulary


_READ_FILES: Final = 16
"""How many parsed tokenizer.json files are kept in memory; mutants use the same ones often."""


@lru_cache(maxsize=_READ_FILES)
def read_tokenizer(content: bytes, name: str, profile: str) -> Pipeline:
    """Return the tokenizer of a tokenizer.json. The last few are cached."""
    return parse_tokenizer_json(content, name, PROFILES[profile])


def _unchanged_pipeline(pipeline: Pipeline) -> Pipeline:
    return pipeline


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
    steps: Steps = field(default_factory=Steps)
    prepare: Callable[[Vocabulary], Vocabulary] = _unchanged
    """Applied to the vocabulary first; the identity in a correct engine."""

    tools: Tools = field(default_factory=Tools)
    prepare_pipeline: Callable[[Pipeline], Pipeline] = _unchanged_pipeline
    """Applied to a whole tokenizer first; the identity in a correct engine."""

    with_stages: bool = True
    """Whether answers contain the pieces and merges as stages."""

    sampler_tools: SamplerTools = field(default_factory=SamplerTools)

    def load(self, vocabulary: Vocabulary, name: str) -> "ReferenceSession":
        """Load a vocabulary."""
        tokenizer = Tokenizer(self.prepare(vocabulary), name=name, steps=self.steps)
        return ReferenceSession(tokenizer, with_stages=self.with_stages, tools=self.tools)

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session:
        """Load a whole tokenizer."""
        return PipelineSession(self.prepare_pipeline(read_tokenizer(content, name, profile)))

    def load_profile(self, profile: str) -> Session:
        """Select a profile of samplers."""
        return SamplerSession(profile, self.sampler_tools)

    def leaves_as_it_is(self, content: bytes, name: str, profile: str) -> bool:
        """Return whether `prepare_pipeline` leaves a tokenizer unchanged, so it answers correctly.

        Only returning the same object counts; False proves nothing.
        """
        pipeline = read_tokenizer(content, name, profile)
        return self.prepare_pipeline(pipeline) is pipeline

    def encode_symbols(self, vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
        """Return the tokens of the symbols of one piece that is not taken whole."""
        return self.steps.encode_symbols(vocabulary.remember(self.prepare), symbols)


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
                return self._session(request)
            if op in PARTS:
                return PARTS[op](self.tokenizer, self.tools, request)
            return Ok(_OPERATIONS[op](self, request))
        except SymbolError as error:
            return Refused("MISSING_BYTE", str(error))
        except TokenIdError as error:
            return Refused("UNKNOWN_ID", str(error))
        except DecodingError as error:
            return Refused("INVALID_UTF8", str(error))
        except SpecialTokenError as error:
            return Refused("DISALLOWED_SPECIAL", str(error))

    def _session(self, request: Mapping[str, Any]) -> Ok:
        answer = answer_calls(self.answer, request)
        assert isinstance(answer, Ok)  # noqa: S101 - each call has an answer, or is refused
        return answer

    def pieces(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `pieces`."""
        content = request_text(request)
        text = content if isinstance(content, str) else content.decode("utf-8")
        return {"pieces": [piece.encode().hex() for piece in self.tokenizer.pieces(text)]}

    def encode(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `encode`."""
        content = request_text(request)
        if isinstance(content, bytes):
            ids = self.tokenizer.encode_bytes(content)
        else:
            ids = self.tokenizer.encode_ordinary(content)
        if not self.with_stages or isinstance(content, bytes) or len(content) > LONGEST_TRACE:
            return {"ids": ids}
        pieces = self.tokenizer.pieces(content)
        merges = [self._merges(piece.encode()) for piece in pieces]
        stages = {"pieces": [piece.encode().hex() for piece in pieces], "merges": merges}
        return {"ids": ids, "stages": stages}

    def count(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `count`."""
        content = request_text(request)
        if isinstance(content, bytes):
            return {"count": len(self.tokenizer.encode_bytes(content))}
        return {"count": self.tokenizer.count(content)}

    def decode(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `decode`."""
        if "errors" in request:
            return {"text": self.tokenizer.decode(request["ids"], errors=request["errors"])}
        return {"bytes": self.tokenizer.decode_bytes(request["ids"]).hex()}

    def special(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `special`."""
        ids = self.tokenizer.encode(
            request["text"],
            allowed_special=request["allowed"],
            disallowed_special=request["disallowed"],
        )
        return {"ids": ids}

    def _merges(self, piece: bytes) -> list[list[int]]:
        """Return the merges of a piece by the definition; none if the piece is a token."""
        vocabulary = self.tokenizer.vocabulary
        if vocabulary.text.whole_piece and piece.decode("latin-1") in vocabulary.ids:
            return []
        steps = trace(vocabulary, vocabulary.symbols(piece))
        return [[step.position, step.result] for step in steps]


_OPERATIONS: Mapping[str, Callable[[ReferenceSession, Mapping[str, Any]], dict[str, Any]]] = {
    "pieces": ReferenceSession.pieces,
    "encode": ReferenceSession.encode,
    "count": ReferenceSession.count,
    "decode": ReferenceSession.decode,
    "special": ReferenceSession.special,
}
