"""Mutants that give text too late, twice or never, or misplace tokens."""

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

from authoring.mutants.growing import encoded
from authoring.mutants.mutant import Mutant, Witness, bytewise, mutant, replacing_tool, spelled
from bpe_ref import ENCODERS, DecodingError, SymbolError, TokenId, Tokenizer, Vocabulary
from bpe_ref.decoders.to_bytes import bytes_to_text, decode_bytes, decode_with_offsets
from tokenref.engines.reference import Completions, ReferenceEngine, Tools, completions

_REPLACEMENT: Final = "\ufffd"

# ---- streams


@dataclass
class WrongStream:
    """A stream that decodes everything anew, and gives what a rule lets through.

    `shown` says how much of the text is given: of all bytes so far and of their text.
    """

    shown: Callable[[bytes, str], str]
    last: Callable[[bytes, str, str], str]
    """What the end adds: of all bytes, of their text, and of what was given."""

    tokenizer: Tokenizer
    errors: str
    data: bytes = b""
    given: str = ""

    def push(self, token: TokenId) -> str:
        """Add a token."""
        self.data += self.tokenizer.decode_bytes([token])
        text = self.shown(self.data, bytes_to_text(self.data, self.errors))
        new = text[len(self.given) :]
        self.given += new
        return new

    def finish(self) -> str:
        """Return what the rule says is left."""
        return self.last(self.data, bytes_to_text(self.data, self.errors), self.given)


def _rest(_data: bytes, text: str, given: str) -> str:
    return text[len(given) :]


def _hold_replacements(_data: bytes, text: str) -> str:
    return text.rstrip(_REPLACEMENT)


def _without_replacements(data: bytes, _text: str) -> str:
    return data.decode("utf-8", "ignore").replace(_REPLACEMENT, "")


# ---- offsets

Offsets = Callable[[Vocabulary, Sequence[TokenId]], tuple[str, list[int]]]


# ---- completions


# ---- canonical sequences


# ---- witnesses


def streamed(vocabulary: Vocabulary, *ids: TokenId, errors: str = "replace") -> Witness:
    """Return the witness "the text of these tokens, one by one"."""
    return Witness(vocabulary, "stream", {"ids": list(ids), "errors": errors})


def started(vocabulary: Vocabulary, *ids: TokenId) -> Witness:
    """Return the witness "where these tokens start"."""
    return Witness(vocabulary, "offsets", {"ids": list(ids)})


def completed(tokens: str, text: str) -> Witness:
    """Return the witness "all completions of this text"."""
    return Witness(spelled(tokens), "completions", {"text": text, "complete": True})


def canonical(vocabulary: Vocabulary, *ids: TokenId) -> Witness:
    """Return the witness "whether these tokens are an encoding"."""
    return Witness(vocabulary, "canonical", {"ids": list(ids)})


_BYTES: Final = bytewise()


def streaming(
    witness: Witness, last: Callable[[bytes, str, str], str] = _rest
) -> Callable[[Callable[[bytes, str], str]], Mutant]:
    """Return a decorator: the function says how much text is shown (see `WrongStream`)."""

    def engine(label: str, shown: Callable[[bytes, str], str]) -> ReferenceEngine:
        return ReferenceEngine(label, tools=Tools(stream=partial(WrongStream, shown, last)))

    return mutant(witness, engine)


@streaming(streamed(_BYTES, 0xEF, 0xBF, 0xBD, 0x61))
def stream_holds_replacements(data: bytes, text: str) -> str:
    """Text that ends in U+FFFD is held back, even if it is certain or genuine
    (huggingface/text-generation-inference, vllm-project/vllm, DecodeStream).
    """
    return _hold_replacements(data, text)


@streaming(streamed(_BYTES, 0x61, 0xC3), lambda _data, _text, _given: "")
def stream_no_flush(data: bytes, text: str) -> str:
    """An incomplete end is lost because there is no flush (DecodeStream)."""
    return _hold_replacements(data, text)


@streaming(streamed(_BYTES, 0x61, 0x62))
def stream_until_space(_data: bytes, text: str) -> str:
    """Text is emitted word by word, up to the last space (transformers' TextStreamer)."""
    return text[: text.rfind(" ") + 1]


@streaming(streamed(_BYTES, 0xC3, 0xA9))
def stream_all_at_once(_data: bytes, text: str) -> str:
    """The text so far is emitted with its incomplete end replaced; the rest of the character then
    comes too late (ohdearquant and others decode per token).
    """
    return text


@streaming(streamed(_BYTES, 0xFF, 0x61))
def stream_stalls(data: bytes, text: str) -> str:
    """After one byte that is not text nothing is emitted any more (ml-rust/splintr)."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text


@streaming(streamed(_BYTES, 0xE0, 0x80, 0x61))
def stream_waits_by_length_only(data: bytes, text: str) -> str:
    """Any continuation byte may follow the first byte of a character, also after E0, ED, F0 and F4,
    so that U+FFFD comes late.
    """
    for size in range(1, min(3, len(data)) + 1):
        first = data[-size]
        if first >= 0xC0:
            is_open = 0xC2 <= first <= 0xF4 and size < 2 + (first >= 0xE0) + (first >= 0xF0)
            return data[:-size].decode("utf-8", "replace") if is_open else text
        if first < 0x80:
            break
    return text


@streaming(streamed(_BYTES, 0x61, 0x20))
def stream_never(_data: bytes, _text: str) -> str:
    """Everything is emitted at the end."""
    return ""


@streaming(
    streamed(_BYTES, 0xEF, 0xBF, 0xBD),
    lambda data, _text, given: _without_replacements(data, "")[len(given) :],
)
def stream_deletes_replacements(data: bytes, text: str) -> str:
    """U+FFFD is deleted, even where the text contains it (replicate/cog-llama-template#75)."""
    return _without_replacements(data, text)


@replacing_tool("stream", streamed(_BYTES, 0xC3, 0xA9))
def stream_token_by_token(tokenizer: Tokenizer, errors: str) -> Any:
    """Each token is decoded by itself (vllm-project/vllm#8627)."""

    class TokenByToken:
        def push(self, token: TokenId) -> str:
            return bytes_to_text(tokenizer.decode_bytes([token]), "replace")

        def finish(self) -> str:
            return ""

    return TokenByToken()


@replacing_tool("stream", streamed(_BYTES, 0xF5, 0x61))
def stream_late_replacements(tokenizer: Tokenizer, _: str) -> Any:
    """A byte that cannot begin a character is waited on as if it could (ml-rust/splintr accepts C0,
    C1 and F5 on as first bytes).
    """

    @dataclass
    class LateReplacements:
        data: bytes = b""

        def push(self, token: TokenId) -> str:
            self.data += tokenizer.decode_bytes([token])
            for size in range(min(3, len(self.data)) + 1):
                head, tail = self.data[: len(self.data) - size], self.data[len(self.data) - size :]
                if size and tail[0] < 0xC0:
                    continue
                lone = size and len(tail.decode("utf-8", "replace")) == 1 and tail[0] >= 0xC0
                if size == 0 and any(byte >= 0xC0 for byte in self.data[-3:]):
                    continue
                if size == 0 or lone:
                    self.data = tail
                    return bytes_to_text(head, "replace")
            return ""

        def finish(self) -> str:
            return bytes_to_text(self.data, "replace")

    return LateReplacements()


@replacing_tool("stream", streamed(_BYTES, 0xE4, 0xBD, 0x61))
def stream_one_for_each_byte(tokenizer: Tokenizer, _: str) -> Any:
    """Each byte of a character cut short is replaced, not each maximal part."""

    @dataclass
    class OneForEachByte:
        data: bytes = b""

        def push(self, token: TokenId) -> str:
            self.data += tokenizer.decode_bytes([token])
            decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
            text = decoder.decode(self.data)
            self.data = decoder.getstate()[0]
            return "".join(_REPLACEMENT if "\udc80" <= c <= "\udcff" else c for c in text)

        def finish(self) -> str:
            return _REPLACEMENT * len(self.data)

    return OneForEachByte()


@replacing_tool("stream", streamed(_BYTES, 0xFF, errors="strict"))
def stream_never_strict(tokenizer: Tokenizer, _: str) -> Any:
    """Bytes that are not text are replaced although errors were requested."""
    return tokenizer.stream()


@replacing_tool("stream", streamed(_BYTES, 0x61))
def stream_repeats(tokenizer: Tokenizer, errors: str) -> Any:
    """The end repeats the last piece (vllm-project/vllm#48853 repeats all of a prompt)."""
    right = tokenizer.stream(errors=errors)

    @dataclass
    class Repeats:
        before: str = ""

        def push(self, token: TokenId) -> str:
            self.before = right.push(token)
            return self.before

        def finish(self) -> str:
            return self.before + right.finish()

    return Repeats()


@replacing_tool("offsets", started(bytewise(None, "é".encode()), 256, 0x61))
def offsets_in_bytes(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """Offsets are in bytes."""
    text, _ = decode_with_offsets(vocabulary, ids)
    sizes = [len(vocabulary.token_bytes(token)) for token in ids]
    return text, [sum(sizes[:at]) for at in range(len(sizes))]


@replacing_tool("offsets", started(_BYTES, 0xC3, 0xA9, 0x61))
def offsets_next_character(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """A token that starts inside a character starts at the next one."""
    text, starts = decode_with_offsets(vocabulary, ids)
    inside = [0x80 <= vocabulary.token_bytes(token)[0] < 0xC0 for token in ids]
    return text, [start + late for start, late in zip(starts, inside, strict=True)]


@replacing_tool("offsets", started(_BYTES, 0x61))
def offsets_ends(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """Each token has the offset of its end."""
    text, starts = decode_with_offsets(vocabulary, ids)
    return text, [*starts[1:], len(text)] if starts else []


@replacing_tool("offsets", started(_BYTES, 0xF0, 0x9F, 0x98, 0x80, 0x61))
def offsets_utf16(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """Offsets are in UTF-16 units, as in JavaScript strings."""
    text, starts = decode_with_offsets(vocabulary, ids)
    return text, [len(text[:start].encode("utf-16-le")) // 2 for start in starts]


@replacing_tool("offsets", started(_BYTES, 0xC3, 0xA9, 0x61))
def offsets_texts_alone(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """The lengths of each token's own text are added up, replacement characters and all."""
    text, _ = decode_with_offsets(vocabulary, ids)
    sizes = [len(vocabulary.token_bytes(token).decode("utf-8", "replace")) for token in ids]
    return text, [sum(sizes[:at]) for at in range(len(sizes))]


@replacing_tool("offsets", started(_BYTES, 0xFF))
def offsets_replacing(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """Bytes that are not text are replaced, and offsets are made up."""
    try:
        return decode_with_offsets(vocabulary, ids)
    except DecodingError:
        return decode_bytes(vocabulary, ids).decode("utf-8", "replace"), [0] * len(ids)


@replacing_tool("completions", completed("a b c d ab bc cd", "abc"))
def completions_as_tiktoken(tokenizer: Tokenizer, text: str, _: bool) -> Completions:
    """Completions that re-encoding finds only further back are missing, as in tiktoken."""
    return completions(tokenizer, text, complete=False)


@replacing_tool("completions", completed("a aa aaa", "aaa"))
def completions_one_token_only(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """Only tokens that begin with the whole rest are found."""
    stable, found = completions(tokenizer, text, complete=complete)
    return stable, {tokens for tokens in found if len(tokens) == 1}


@replacing_tool("completions", completed("a b c bc abc", "ab"))
def completions_last_token_open(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """Only the last token is treated as open."""
    tokens = tokenizer.encode(text, special="ordinary")
    _, found = completions(tokenizer, text, complete=complete)
    return tokens[:-1], found


@replacing_tool("completions", completed("a ab", "a"))
def completions_not_as_it_is(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """The completion in which nothing follows is missing."""
    stable, found = completions(tokenizer, text, complete=complete)
    return stable, found - {tuple(tokenizer.encode(text, special="ordinary")[len(stable) :])}


@replacing_tool("is_canonical", canonical(spelled("a aa"), 0, 0))
def canonical_any_spelling(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """Any existing tokens are accepted as an encoding."""
    decode_bytes(vocabulary, ids)
    return True


@replacing_tool("is_canonical", canonical(spelled("a aa"), 0, 1))
def canonical_same_length(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """Only the number of tokens is compared."""
    return len(encoded(vocabulary, decode_bytes(vocabulary, ids))) == len(ids)


@replacing_tool("is_canonical", canonical(spelled("a b c bc ab"), 0, 3))
def canonical_greedy(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """Greedy tokenization is accepted as the encoding."""
    symbols = vocabulary.symbols(decode_bytes(vocabulary, ids))
    return ENCODERS["greedy"](vocabulary, symbols) == list(ids)


@replacing_tool("is_canonical", canonical(_BYTES, 0xFF))
def canonical_through_text(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """The tokens are decoded to text first, so bytes that are not text are lost."""
    text = decode_bytes(vocabulary, ids).decode("utf-8", "replace")
    try:
        return encoded(vocabulary, text.encode()) == list(ids)
    except SymbolError:
        return False


@replacing_tool("is_canonical", canonical(spelled("a aa aaaa"), 0, 1, 0))
def canonical_no_merge_left(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """Tokens of which no neighbours merge are accepted as an encoding."""
    decode_bytes(vocabulary, ids)
    pairs = pairwise(ids)
    return all(vocabulary.merge(left, right) is None for left, right in pairs)
