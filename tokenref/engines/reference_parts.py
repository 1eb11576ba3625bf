"""The reference's answers about growing texts, parts of texts, and streams.

`Tools` are the functions that it answers with besides its encoder. A mutant replaces one of them by
a wrong one, as it does with the components of a tokenizer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bpe_ref import (
    Special,
    TokenId,
    Tokenizer,
    Vocabulary,
    encode_with_unstable,
    is_canonical,
    vocabulary_of,
)
from bpe_ref.decoders.to_bytes import bytes_to_text, decode_bytes, decode_with_offsets
from bpe_ref.grammar import Grammar, GrammarMatcher
from bpe_ref.growing.counting import IntervalCounter
from bpe_ref.growing.eager import EagerEncoder
from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder

Request: TypeAlias = Mapping[str, Any]
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


def answer_part(  # noqa: C901, PLR0911 - one case for each operation
    tokenizer: Tokenizer, tools: Tools, op: str, request: Request
) -> dict[str, Any]:
    """Return the answer to one of `PARTS`."""
    vocabulary = vocabulary_of(tokenizer)
    match op:
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
            parts = [decoder.push(token) for token in request["ids"]]
            return {"parts": parts, "tail": decoder.finish()}
        case "offsets":
            text, starts = tools.offsets(vocabulary, request["ids"])
            return {"text": text, "offsets": starts}
        case "completions":
            stable, found = tools.completions(tokenizer, request["text"], request["complete"])
            return {"stable": stable, "completions": [list(tokens) for tokens in sorted(found)]}
        case "grammar_mask":
            return _grammar_masks(tools.matcher(request["pattern"], vocabulary), request)
    return {"canonical": tools.is_canonical(vocabulary, request["ids"])}


PARTS: Final = frozenset(
    {
        *("append", "prepend", "eager", "intervals", "limit", "split", "chunks", "stream"),
        *("offsets", "completions", "canonical", "grammar_mask"),
    }
)
"""The operations that are answered here."""


def _grammar_masks(matcher: Any, request: Request) -> dict[str, Any]:
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


def _grow(encoder: Any, request: Request) -> dict[str, Any]:
    counts = []
    for call in request["calls"]:
        if "push" in call:
            encoder.extend(bytes.fromhex(call["push"]))
        else:
            encoder.truncate(call["truncate"])
        counts.append(encoder.token_count)
    return {"counts": counts, "ids": encoder.tokens()}
