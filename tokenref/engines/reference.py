"""The reference tokenizer as an engine, with any of its encoders, or with one step replaced.

`Tools` are the functions that it answers with besides its encoder. A mutant replaces one of them by
a wrong one, as it does with the components of a tokenizer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

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
    encode_with_unstable,
    is_canonical,
    tokenizer_of,
    vocabulary_of,
)
from bpe_ref.decoders.to_bytes import bytes_to_text, decode_bytes, decode_with_offsets
from bpe_ref.encoding import Encoding
from bpe_ref.grammar import Grammar, GrammarMatcher
from bpe_ref.growing.counting import IntervalCounter
from bpe_ref.growing.eager import EagerEncoder
from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder
from bpe_ref.like_tokenizers.decode_stream import DecodeStream
from bpe_ref.models.byte_bpe import ByteBPE, EncodeSymbols, encode_bytes
from bpe_ref.quirks import QUIRKS
from bpe_ref.tokenizer import UnknownIds
from bpe_ref.tracing import trace
from tokenref.answers import SESSION, Ok, Refused, Session, answer_calls, request_text
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools
from tokenref.subjects import read_tokenizer

Request: TypeAlias = Mapping[str, Any]
Out: TypeAlias = dict[str, Any]
Completions: TypeAlias = tuple[list[TokenId], set[tuple[TokenId, ...]]]


def stream(tokenizer: Tokenizer, errors: str) -> Any:
    """Return a decoder of a stream of tokens."""
    return tokenizer.stream(errors=errors)


def till_limit(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """Return the number of tokens of a text without special tokens; None if over `limit`."""
    return tokenizer.count_till_limit(text, limit, special="ordinary")


def cut(tokenizer: Tokenizer, text: str, most: int, overlap: int) -> list[tuple[int, int]]:
    """Return the chunks of a text as ranges of characters."""
    return [chunk[:2] for chunk in tokenizer.chunks(text, most, overlap)]


def completions(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """Return the stable tokens, and the possible completions of the rest."""
    return encode_with_unstable(tokenizer, text, special="refuse", complete=complete)


def special(tokenizer: Tokenizer, text: str, special: Special) -> list[TokenId]:
    """Return the tokens of a text in which special tokens may be spelled."""
    return tokenizer.encode(text, special=special)


def matcher(pattern: str, vocabulary: Vocabulary) -> Any:
    """Return a matcher of a pattern, which has accepted no tokens."""
    return GrammarMatcher(Grammar(pattern), vocabulary)


@dataclass(frozen=True)
class Tools:
    """The functions that the reference answers with.

    >>> Tools().chunks is cut
    True
    """

    append_encoder: Callable[[Vocabulary], Any] = AppendEncoder
    prepend_encoder: Callable[[Vocabulary], Any] = PrependEncoder
    eager_encoder: Callable[[Vocabulary], Any] = EagerEncoder
    interval_counter: Callable[[Vocabulary, bytes], Any] = IntervalCounter
    till_limit: Callable[[Tokenizer, str, int], int | None] = till_limit
    split: Callable[[Tokenizer, str, int], int] = Tokenizer.split_at
    chunks: Callable[[Tokenizer, str, int, int], Sequence[tuple[int, int]]] = cut
    stream: Callable[[Tokenizer, str], Any] = stream
    special: Callable[[Tokenizer, str, Special], list[TokenId]] = special
    decode_bytes: Callable[[Vocabulary, Sequence[TokenId]], bytes] = decode_bytes
    bytes_to_text: Callable[[bytes, str], str] = bytes_to_text
    offsets: Callable[[Vocabulary, Sequence[TokenId]], tuple[str, list[int]]] = decode_with_offsets
    completions: Callable[[Tokenizer, str, bool], Completions] = completions
    is_canonical: Callable[[Vocabulary, Sequence[TokenId]], bool] = is_canonical
    matcher: Callable[[str, Vocabulary], Any] = matcher


# ---- the engine

LONGEST_TRACE = 48
"""Maximum symbols of a text whose merges are returned as a stage; a trace takes quadratic time."""


_Same = TypeVar("_Same")


def _unchanged(value: _Same) -> _Same:
    return value


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
        tokenizer = self.prepare_tokenizer(tokenizer_of(self.prepare(vocabulary), name=name))
        return ReferenceSession(tokenizer, with_stages=self.with_stages, tools=self.tools)

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session:
        tokenizer = self.prepare_tokenizer(read_tokenizer(content, name, profile))
        return PipelineSession(tokenizer, unknown_ids=unknown_ids(profile))

    def load_profile(self, profile: str) -> Session:
        return SamplerSession(profile, self.sampler_tools)

    def encode_symbols(self, vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
        """Return the tokens of the symbols of one piece that is not taken whole."""
        model = vocabulary.remember(self._model)
        return model.encode_symbols(model.vocabulary, symbols)

    def _model(self, vocabulary: Vocabulary) -> ByteBPE:
        return byte_model(self.prepare_tokenizer(tokenizer_of(self.prepare(vocabulary))))


# ---- vocabularies


@dataclass(frozen=True)
class ReferenceSession:
    """The reference with a vocabulary loaded."""

    tokenizer: Tokenizer
    with_stages: bool = True
    tools: Tools = field(default_factory=Tools)

    def answer(self, op: str, request: Request) -> Ok | Refused:
        try:
            if op == SESSION:
                answer = answer_calls(self.answer, request)
                assert isinstance(answer, Ok)  # noqa: S101 - each call has an answer, or is refused
                return answer
            return Ok(self._out(op, request))
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

    def encode_bytes(self, data: bytes) -> list[TokenId]:
        """Return the tokens of bytes that need not be UTF-8."""
        return encode_bytes(self.tokenizer, data)

    def _out(self, op: str, request: Request) -> Out:  # noqa: C901, PLR0911, PLR0912 - one case each
        """Return the answer to one operation. Raises the errors of `bpe_ref`."""
        tokenizer, tools = self.tokenizer, self.tools
        vocabulary = vocabulary_of(tokenizer)
        match op:
            case "pieces":
                return {"pieces": [piece.hex() for piece in self._pieces(request_text(request))]}
            case "encode":
                return self._encoded(request_text(request))
            case "count":
                content = request_text(request)
                if isinstance(content, bytes):
                    return {"count": len(self.encode_bytes(content))}
                return {"count": tokenizer.count(content, special="ordinary")}
            case "decode":
                data = tools.decode_bytes(vocabulary, request["ids"])
                if "errors" in request:
                    return {"text": tools.bytes_to_text(data, request["errors"])}
                return {"bytes": data.hex()}
            case "special":
                allowed, disallowed = request["allowed"], request["disallowed"]
                special = Special(
                    recognise="all" if allowed == "all" else frozenset(allowed),
                    refuse="all" if disallowed == "all" else frozenset(disallowed),
                )
                return {"ids": tools.special(tokenizer, request["text"], special)}
            case "append":
                return _grow(tools.append_encoder(vocabulary), request)
            case "prepend":
                return _grow(tools.prepend_encoder(vocabulary), request)
            case "eager":
                encoder = tools.eager_encoder(vocabulary)
                parts = [encoder.extend(bytes.fromhex(push)) for push in request["pushes"]]
                return {"parts": parts, "tail": encoder.finish()}
            case "intervals":
                counter = tools.interval_counter(vocabulary, bytes.fromhex(request["bytes"]))
                return {"counts": [counter.count(start, stop) for start, stop in request["ranges"]]}
            case "limit":
                return {"count": tools.till_limit(tokenizer, request["text"], request["limit"])}
            case "split":
                return {"characters": tools.split(tokenizer, request["text"], request["most"])}
            case "chunks":
                cut = tools.chunks(tokenizer, request["text"], request["most"], request["overlap"])
                return {"chunks": [list(chunk) for chunk in cut]}
            case "stream":
                decoder = tools.stream(tokenizer, request["errors"])
                return _streamed(decoder, request["ids"])
            case "offsets":
                text, starts = tools.offsets(vocabulary, request["ids"])
                return {"text": text, "offsets": starts}
            case "completions":
                stable, found = tools.completions(tokenizer, request["text"], request["complete"])
                return {"stable": stable, "completions": [list(tokens) for tokens in sorted(found)]}
            case "grammar_mask":
                return _grammar_masks(tools.matcher(request["pattern"], vocabulary), request)
            case "canonical":
                return {"canonical": tools.is_canonical(vocabulary, request["ids"])}
        raise KeyError(op)

    def _pieces(self, content: bytes | str) -> list[bytes]:
        text = content if isinstance(content, str) else content.decode("utf-8")
        return [piece.encode() for piece in self.tokenizer.pieces(text, special="ordinary")]

    def _encoded(self, content: bytes | str) -> Out:
        """Return the tokens of a text, and the stages of a short one."""
        if isinstance(content, bytes):
            return {"ids": self.encode_bytes(content)}
        ids = self.tokenizer.encode(content, special="ordinary")
        if not self.with_stages or len(content) > LONGEST_TRACE:
            return {"ids": ids}
        pieces = self._pieces(content)
        merges = [self._merges(piece) for piece in pieces]
        return {"ids": ids, "stages": {"pieces": [each.hex() for each in pieces], "merges": merges}}

    def _merges(self, piece: bytes) -> list[list[int]]:
        """Return the merges of a piece by the definition; none if the piece is a token."""
        vocabulary = byte_model(self.tokenizer).vocabulary
        if vocabulary.text.whole_piece and piece.decode("latin-1") in vocabulary.ids:
            return []
        steps = trace(vocabulary, vocabulary.symbols(piece))
        return [[step.position, step.result] for step in steps]


def byte_model(tokenizer: Tokenizer) -> ByteBPE:
    """Return the model of a tokenizer that was made of a vocabulary of bytes."""
    assert isinstance(tokenizer.model, ByteBPE)  # noqa: S101 -- it was made of a vocabulary
    return tokenizer.model


def _streamed(decoder: Any, ids: Iterable[TokenId]) -> Out:
    return {"parts": [decoder.push(token) for token in ids], "tail": decoder.finish()}


def _grammar_masks(matcher: Any, request: Request) -> Out:
    masks = [{"allowed": id_ranges(matcher.allowed()), "end": matcher.may_end}]
    for call in request["calls"]:
        if "accept" in call:
            matcher.accept(call["accept"])
        else:
            matcher.rollback(call["rollback"])
        masks.append({"allowed": id_ranges(matcher.allowed()), "end": matcher.may_end})
    return {"masks": masks}


def id_ranges(ids: Iterable[TokenId]) -> list[list[TokenId]]:
    """Return ascending ids as ranges, first and last included.

    >>> id_ranges([0, 1, 2, 7, 9, 10])
    [[0, 2], [7, 7], [9, 10]]
    """
    ranges: list[list[TokenId]] = []
    for token in ids:
        if ranges and ranges[-1][1] == token - 1:
            ranges[-1][1] = token
        else:
            ranges.append([token, token])
    return ranges


def _grow(encoder: Any, request: Request) -> Out:
    counts = []
    for call in request["calls"]:
        if "push" in call:
            encoder.extend(bytes.fromhex(call["push"]))
        else:
            encoder.truncate(call["truncate"])
        counts.append(encoder.token_count)
    return {"counts": counts, "ids": encoder.tokens()}


# ---- whole tokenizers


@dataclass(frozen=True)
class PipelineSession:
    """A whole tokenizer, loaded."""

    tokenizer: Tokenizer
    unknown_ids: UnknownIds = "skip"
    """What decoding does with unknown ids."""

    def answer(self, op: str, request: Request) -> Ok | Refused:
        try:
            return Ok(self._out(op, request))
        except SymbolError as error:
            return Refused("MISSING_CHARACTER", str(error))
        except TokenIdError as error:
            return Refused("UNKNOWN_ID", str(error))
        except DecodingError as error:
            return Refused("INVALID_PREFIX", str(error))

    def decode(self, ids: Sequence[TokenId], *, skip_special_tokens: bool) -> str:
        """Return the text of tokens, as `DecodeStream` needs it."""
        return self.tokenizer.decode(
            ids, skip_special_tokens=skip_special_tokens, unknown_ids=self.unknown_ids
        )

    def _out(self, op: str, request: Request) -> Out:
        """Return the answer to one operation. Raises the errors of `bpe_ref`."""
        if op == "tokenize":
            encoding = self.tokenizer.tokenize(
                request["text"],
                request.get("pair"),
                add_special_tokens=request["add_special_tokens"],
                draw=lambda: 0.5,  # for dropout; records contain no case where it matters
            )
            return {**_part(encoding), "overflowing": list(map(_part, encoding.overflowing))}
        skip, ids = request["skip_special_tokens"], request["ids"]
        if op == "detokenize":
            return {"text": self.decode(ids, skip_special_tokens=skip)}
        if op != "detokenize_stream":
            raise KeyError(op)
        if request["mode"] == "engine":
            stream = DecodeStream(skip_special_tokens=skip)
            return {"parts": [stream.step(self, token) for token in ids], "tail": ""}
        decoder = self.tokenizer.stream(skip_special_tokens=skip, unknown_ids=self.unknown_ids)
        return _streamed(decoder, ids)


def unknown_ids(profile: str) -> UnknownIds:
    """Return what decoding does with unknown ids under a profile.

    >>> unknown_ids("strict")
    'refuse'
    """
    return "skip" if QUIRKS[profile].unknown_ids_dropped else "refuse"


def _part(encoding: Encoding) -> Out:
    """Return an encoding in the format of records, without the overflowing parts."""
    return {
        "ids": list(encoding.ids),
        "tokens": list(encoding.tokens),
        "offsets": [list(span) for span in encoding.offsets],
        "type_ids": list(encoding.type_ids),
        "words": list(encoding.words),
        "special_tokens_mask": list(encoding.special_tokens_mask),
        "attention_mask": list(encoding.attention_mask),
    }
