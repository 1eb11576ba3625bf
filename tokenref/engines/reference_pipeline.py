"""The reference's answers about a whole tokenizer, as its tokenizer.json describes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bpe_ref import DecodingError, SymbolError, TokenId, TokenIdError
from bpe_ref.encoding import Encoding
from bpe_ref.like_tokenizers.decode_stream import DecodeStream
from bpe_ref.quirks import QUIRKS
from bpe_ref.tokenizer import Tokenizer, UnknownIds
from tokenref.answers import Ok, Refused


@dataclass(frozen=True)
class PipelineSession:
    """A whole tokenizer, loaded."""

    tokenizer: Tokenizer
    unknown_ids: UnknownIds = "skip"
    """What decoding does with unknown ids."""

    def answer(self, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        """Answer one request."""
        try:
            return Ok(_OPERATIONS[op](self, request))
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


def unknown_ids(profile: str) -> UnknownIds:
    """Return what decoding does with unknown ids under a profile.

    >>> unknown_ids("strict")
    'refuse'
    """
    return "skip" if QUIRKS[profile].unknown_ids_dropped else "refuse"


def tokenize(session: PipelineSession, request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer `tokenize`."""
    encoding = session.tokenizer.tokenize(
        request["text"],
        request.get("pair"),
        add_special_tokens=request["add_special_tokens"],
        draw=lambda: 0.5,  # for dropout; records contain no case where it matters
    )
    return {**part(encoding), "overflowing": list(map(part, encoding.overflowing))}


def part(encoding: Encoding) -> dict[str, Any]:
    """Return an encoding in the format of records, without the overflowing parts.

    >>> part(Encoding.of([(5, "a", (0, 1), 0)]))["offsets"]
    [[0, 1]]
    """
    return {
        "ids": list(encoding.ids),
        "tokens": list(encoding.tokens),
        "offsets": [list(span) for span in encoding.offsets],
        "type_ids": list(encoding.type_ids),
        "words": list(encoding.words),
        "special_tokens_mask": list(encoding.special_tokens_mask),
        "attention_mask": list(encoding.attention_mask),
    }


def detokenize(session: PipelineSession, request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer `detokenize`."""
    skipped = request["skip_special_tokens"]
    return {"text": session.decode(request["ids"], skip_special_tokens=skipped)}


def detokenize_stream(session: PipelineSession, request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer `detokenize_stream`."""
    skipped = request["skip_special_tokens"]
    if request["mode"] == "engine":
        stream = DecodeStream(skip_special_tokens=skipped)
        return {"parts": [stream.step(session, token) for token in request["ids"]], "tail": ""}
    decoder = session.tokenizer.stream(skip_special_tokens=skipped, unknown_ids=session.unknown_ids)
    parts = [decoder.push(token) for token in request["ids"]]
    return {"parts": parts, "tail": decoder.finish()}


_OPERATIONS: Final[Mapping[str, Callable[[PipelineSession, Mapping[str, Any]], dict[str, Any]]]] = {
    "tokenize": tokenize,
    "detokenize": detokenize,
    "detokenize_stream": detokenize_stream,
}
