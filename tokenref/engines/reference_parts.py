"""The reference's answers about growing texts, parts of texts, and streams."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from bpe_ref import ParameterError, TokenId, Tokenizer, vocabulary_of
from tokenref.answers import Ok, Refused
from tokenref.engines.tools import Growing, Tools

Request: TypeAlias = Mapping[str, Any]


def append(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `append`."""
    return _grow(tools.append_encoder(vocabulary_of(tokenizer)), request)


def prepend(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `prepend`."""
    return _grow(tools.prepend_encoder(vocabulary_of(tokenizer)), request)


def _grow(encoder: Growing, request: Request) -> Ok:
    counts = []
    for call in request["calls"]:
        if "push" in call:
            encoder.extend(bytes.fromhex(call["push"]))
        else:
            encoder.truncate(call["truncate"])
        counts.append(encoder.token_count)
    return Ok({"counts": counts, "ids": encoder.tokens()})


def eager(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `eager`."""
    encoder = tools.eager_encoder(vocabulary_of(tokenizer))
    parts = [encoder.extend(bytes.fromhex(push)) for push in request["pushes"]]
    return Ok({"parts": parts, "tail": encoder.finish()})


def intervals(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `intervals`."""
    counter = tools.interval_counter(vocabulary_of(tokenizer), bytes.fromhex(request["bytes"]))
    return Ok({"counts": [counter.count(start, stop) for start, stop in request["ranges"]]})


def limit(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `limit`."""
    return Ok({"count": tools.till_limit(tokenizer, request["text"], request["limit"])})


def split(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok | Refused:
    """Answer `split`."""
    try:
        return Ok({"characters": tools.split(tokenizer, request["text"], request["most"])})
    except ParameterError as error:
        return Refused("TOO_LONG", str(error))


def chunks(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok | Refused:
    """Answer `chunks`."""
    most, overlap = request["most"], request["overlap"]
    try:
        found = tools.chunks(tokenizer, request["text"], most, overlap)
    except ParameterError as error:
        return Refused("TOO_LONG", str(error))
    return Ok({"chunks": [list(chunk) for chunk in found]})


def stream(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `stream`."""
    decoder = tools.stream(tokenizer, request["errors"])
    parts = [decoder.push(token) for token in request["ids"]]
    return Ok({"parts": parts, "tail": decoder.finish()})


def offsets(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `offsets`."""
    text, starts = tools.offsets(vocabulary_of(tokenizer), request["ids"])
    return Ok({"text": text, "offsets": starts})


def completions(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `completions`."""
    stable, found = tools.completions(tokenizer, request["text"], request["complete"])
    return Ok({"stable": stable, "completions": _sorted(found)})


def _sorted(found: set[tuple[TokenId, ...]]) -> list[list[TokenId]]:
    return [list(tokens) for tokens in sorted(found)]


def canonical(tokenizer: Tokenizer, tools: Tools, request: Request) -> Ok:
    """Answer `canonical`."""
    return Ok({"canonical": tools.is_canonical(vocabulary_of(tokenizer), request["ids"])})


PARTS: Final[Mapping[str, Callable[[Tokenizer, Tools, Request], Ok | Refused]]] = {
    "append": append,
    "prepend": prepend,
    "eager": eager,
    "intervals": intervals,
    "limit": limit,
    "split": split,
    "chunks": chunks,
    "stream": stream,
    "offsets": offsets,
    "completions": completions,
    "canonical": canonical,
}
"""The function that answers each operation."""
