"""Mutants that give text too late, twice or never, or misplace tokens."""

import codecs
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from authoring.mutants.growing import encoded
from authoring.mutants.mutant import Mutant, Witness, bytewise, mutant, spelled
from bpe_ref import (
    ENCODERS,
    DecodingError,
    StreamDecoder,
    SymbolError,
    TokenId,
    Tokenizer,
    Vocabulary,
)
from bpe_ref.decoders.offsets import decode_with_offsets
from bpe_ref.decoders.to_bytes import bytes_to_text, decode_bytes
from tokenref.engines.tools import Completions, Tools, completions

_REPLACEMENT: Final = "\ufffd"

# ---- streams


@dataclass
class WrongStream:
    """A stream that decodes everything anew, and gives what a rule lets through.

    `shown` says how much of the text is given: of all bytes so far and of their text.
    """

    vocabulary: Vocabulary
    errors: str
    shown: Callable[[bytes, str], str]
    last: Callable[[bytes, str, str], str]
    """What the end adds: of all bytes, of their text, and of what was given."""

    data: bytes = b""
    given: str = ""

    def push(self, token: TokenId) -> str:
        """Add a token."""
        self.data += decode_bytes(self.vocabulary, [token])
        text = self.shown(self.data, bytes_to_text(self.data, self.errors))
        new = text[len(self.given) :]
        self.given += new
        return new

    def finish(self) -> str:
        """Return what the rule says is left."""
        return self.last(self.data, bytes_to_text(self.data, self.errors), self.given)


def _rest(_data: bytes, text: str, given: str) -> str:
    return text[len(given) :]


def _nothing(_data: bytes, _text: str, _given: str) -> str:
    return ""


def _hold_replacements(_data: bytes, text: str) -> str:
    return text.rstrip(_REPLACEMENT)


def _until_space(_data: bytes, text: str) -> str:
    return text[: text.rfind(" ") + 1]


def _all_at_once(_data: bytes, text: str) -> str:
    return text


def _whole_or_nothing(data: bytes, text: str) -> str:
    """Give nothing while the bytes so far are not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text


def _never(_data: bytes, _text: str) -> str:
    return ""


def _without_replacements(data: bytes, _text: str) -> str:
    return data.decode("utf-8", "ignore").replace(_REPLACEMENT, "")


@dataclass
class _TokenByToken:
    """Decodes each token by itself."""

    vocabulary: Vocabulary
    errors: str

    def push(self, token: TokenId) -> str:
        return bytes_to_text(decode_bytes(self.vocabulary, [token]), "replace")

    def finish(self) -> str:
        return ""


@dataclass
class _LateReplacements:
    """Looks at four bytes before it calls a character impossible."""

    vocabulary: Vocabulary
    errors: str
    data: bytes = b""

    def push(self, token: TokenId) -> str:
        self.data += decode_bytes(self.vocabulary, [token])
        for size in range(min(3, len(self.data)) + 1):
            head, tail = self.data[: len(self.data) - size], self.data[len(self.data) - size :]
            if size and tail[0] < 0xC0:
                continue
            lone = size and len(tail.decode("utf-8", "replace")) == 1 and tail[0] >= 0xC0
            if size == 0 and self._open():
                continue
            if size == 0 or lone:
                self.data = tail
                return bytes_to_text(head, "replace")
        return ""

    def _open(self) -> bool:
        return any(byte >= 0xC0 for byte in self.data[-3:])

    def finish(self) -> str:
        return bytes_to_text(self.data, "replace")


@dataclass
class _OneForEachByte:
    """Replaces each byte of an impossible character."""

    vocabulary: Vocabulary
    errors: str
    data: bytes = b""

    def push(self, token: TokenId) -> str:
        self.data += decode_bytes(self.vocabulary, [token])
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        text = decoder.decode(self.data)
        self.data = decoder.getstate()[0]
        return "".join(_REPLACEMENT if "\udc80" <= c <= "\udcff" else c for c in text)

    def finish(self) -> str:
        return _REPLACEMENT * len(self.data)


@dataclass
class _NeverStrict:
    """Replaces although asked to be strict."""

    vocabulary: Vocabulary
    errors: str
    right: StreamDecoder = field(init=False)

    def __post_init__(self) -> None:
        self.right = StreamDecoder(self.vocabulary)

    def push(self, token: TokenId) -> str:
        return self.right.push(token)

    def finish(self) -> str:
        return self.right.finish()


@dataclass
class _Repeats:
    """Gives the last piece of text again at the end."""

    vocabulary: Vocabulary
    errors: str
    right: StreamDecoder = field(init=False)
    before: str = ""

    def __post_init__(self) -> None:
        self.right = StreamDecoder(self.vocabulary, errors=self.errors)

    def push(self, token: TokenId) -> str:
        self.before = self.right.push(token)
        return self.before

    def finish(self) -> str:
        return self.before + self.right.finish()


# ---- offsets

Offsets = Callable[[Vocabulary, Sequence[TokenId]], tuple[str, list[int]]]


def _starts_in_bytes(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    text, _ = decode_with_offsets(vocabulary, ids)
    sizes = [len(vocabulary.token_bytes(token)) for token in ids]
    return text, [sum(sizes[:at]) for at in range(len(sizes))]


def _next_character(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """Let a token that starts inside a character start at the next one."""
    text, starts = decode_with_offsets(vocabulary, ids)
    inside = [0x80 <= vocabulary.token_bytes(token)[0] < 0xC0 for token in ids]
    return text, [start + late for start, late in zip(starts, inside, strict=True)]


def _ends(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    text, starts = decode_with_offsets(vocabulary, ids)
    return text, [*starts[1:], len(text)] if starts else []


def _utf16_starts(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    text, starts = decode_with_offsets(vocabulary, ids)
    return text, [len(text[:start].encode("utf-16-le")) // 2 for start in starts]


def _replacing(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    try:
        return decode_with_offsets(vocabulary, ids)
    except DecodingError:
        return decode_bytes(vocabulary, ids).decode("utf-8", "replace"), [0] * len(ids)


def _texts_alone(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """Add up the lengths of each token's own text."""
    text, _ = decode_with_offsets(vocabulary, ids)
    sizes = [len(vocabulary.token_bytes(token).decode("utf-8", "replace")) for token in ids]
    return text, [sum(sizes[:at]) for at in range(len(sizes))]


# ---- completions


def _as_tiktoken(tokenizer: Tokenizer, text: str, _: bool) -> Completions:
    return completions(tokenizer, text, complete=False)


def _only_longer_tokens(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """Find only completions of one token."""
    stable, found = completions(tokenizer, text, complete=complete)
    return stable, {tokens for tokens in found if len(tokens) == 1}


def _last_token_open(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """Call all tokens but the last one stable."""
    tokens = tokenizer.encode_ordinary(text)
    _, found = completions(tokenizer, text, complete=complete)
    return tokens[:-1], found


def _not_as_it_is(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """Leave out what the text is if nothing follows."""
    stable, found = completions(tokenizer, text, complete=complete)
    return stable, found - {tuple(tokenizer.encode_ordinary(text)[len(stable) :])}


# ---- canonical sequences


def _any_spelling(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    decode_bytes(vocabulary, ids)
    return True


def _same_length(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    return len(encoded(vocabulary, decode_bytes(vocabulary, ids))) == len(ids)


def _greedy(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    symbols = vocabulary.symbols(decode_bytes(vocabulary, ids))
    return ENCODERS["greedy"](vocabulary, symbols) == list(ids)


def _through_text(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """Decode to text, which loses bytes that are none."""
    text = decode_bytes(vocabulary, ids).decode("utf-8", "replace")
    try:
        return encoded(vocabulary, text.encode()) == list(ids)
    except SymbolError:
        return False


def _no_merge_left(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """Ask only whether two neighbours could still merge."""
    decode_bytes(vocabulary, ids)
    pairs = pairwise(ids)
    return all(vocabulary.merge(left, right) is None for left, right in pairs)


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


def _stream(
    name: str,
    story: str,
    witness: Witness,
    shown: Callable[[bytes, str], str],
    last: Callable[[bytes, str, str], str] = _rest,
) -> Mutant:
    return _streaming(name, story, witness, lambda v, e: WrongStream(v, e, shown, last))


def _streaming(
    name: str, story: str, witness: Witness, make: Callable[[Vocabulary, str], Any]
) -> Mutant:
    return mutant(f"stream-{name}", story, witness, tools=Tools(stream=make))


def _offsets(name: str, story: str, witness: Witness, rule: Offsets) -> Mutant:
    return mutant(f"offsets-{name}", story, witness, tools=Tools(offsets=rule))


def _completions(
    name: str, story: str, witness: Witness, rule: Callable[[Tokenizer, str, bool], Completions]
) -> Mutant:
    return mutant(f"completions-{name}", story, witness, tools=Tools(completions=rule))


def _canonical(
    name: str, story: str, witness: Witness, rule: Callable[[Vocabulary, Sequence[TokenId]], bool]
) -> Mutant:
    return mutant(f"canonical-{name}", story, witness, tools=Tools(is_canonical=rule))


STREAMS: Final[Iterable[Mutant]] = (
    _stream(
        "holds-replacements",
        "Text that ends in U+FFFD is held back, also where it is certain or genuine "
        "(huggingface/text-generation-inference, vllm-project/vllm, DecodeStream).",
        streamed(_BYTES, 0xEF, 0xBF, 0xBD, 0x61),
        _hold_replacements,
    ),
    _stream(
        "no-flush",
        "What is incomplete at the end is lost: there is no flush (DecodeStream).",
        streamed(_BYTES, 0x61, 0xC3),
        _hold_replacements,
        _nothing,
    ),
    _stream(
        "until-space",
        "Text is given word by word, up to the last space (transformers' TextStreamer).",
        streamed(_BYTES, 0x61, 0x62),
        _until_space,
    ),
    _stream(
        "all-at-once",
        "The text so far is given with its incomplete end replaced; the rest of the character "
        "then comes too late (ohdearquant and others decode per token).",
        streamed(_BYTES, 0xC3, 0xA9),
        _all_at_once,
    ),
    _stream(
        "stalls",
        "One byte that is no text, and nothing is given any more (ml-rust/splintr).",
        streamed(_BYTES, 0xFF, 0x61),
        _whole_or_nothing,
    ),
    _stream(
        "never",
        "Everything comes at the end; own.",
        streamed(_BYTES, 0x61, 0x20),
        _never,
    ),
    _stream(
        "deletes-replacements",
        "U+FFFD is deleted, also where the text really has it (replicate/cog-llama-template#75).",
        streamed(_BYTES, 0xEF, 0xBF, 0xBD),
        _without_replacements,
        lambda data, _text, given: _without_replacements(data, "")[len(given) :],
    ),
    _streaming(
        "token-by-token",
        "Each token is decoded by itself (vllm-project/vllm#8627).",
        streamed(_BYTES, 0xC3, 0xA9),
        _TokenByToken,
    ),
    _streaming(
        "late-replacements",
        "A byte that can begin no character is waited on as if it could (ml-rust/splintr takes "
        "C0, C1 and F5 on for first bytes).",
        streamed(_BYTES, 0xF5, 0x61),
        _LateReplacements,
    ),
    _streaming(
        "one-for-each-byte",
        "Each byte of a character cut short is replaced, not each maximal part.",
        streamed(_BYTES, 0xE4, 0xBD, 0x61),
        _OneForEachByte,
    ),
    _streaming(
        "never-strict",
        "Bytes that are no text are replaced although errors are asked for; own.",
        streamed(_BYTES, 0xFF, errors="strict"),
        _NeverStrict,
    ),
    _streaming(
        "repeats",
        "The end gives the last piece again; own (vllm-project/vllm#48853 gives all of a prompt "
        "again).",
        streamed(_BYTES, 0x61),
        _Repeats,
    ),
    _offsets(
        "in-bytes",
        "Offsets are of bytes.",
        started(bytewise(None, "é".encode()), 256, 0x61),
        _starts_in_bytes,
    ),
    _offsets(
        "next-character",
        "A token that starts inside a character starts at the next one; own.",
        started(_BYTES, 0xC3, 0xA9, 0x61),
        _next_character,
    ),
    _offsets("ends", "Each token has the offset of its end; own.", started(_BYTES, 0x61), _ends),
    _offsets(
        "utf16",
        "Offsets are of UTF-16 units, as strings in JavaScript have them; own.",
        started(_BYTES, 0xF0, 0x9F, 0x98, 0x80, 0x61),
        _utf16_starts,
    ),
    _offsets(
        "texts-alone",
        "The lengths of each token's own text are added up, replacement characters and all; own.",
        started(_BYTES, 0xC3, 0xA9, 0x61),
        _texts_alone,
    ),
    _offsets(
        "replacing",
        "Bytes that are no text are replaced, and offsets made up; own.",
        started(_BYTES, 0xFF),
        _replacing,
    ),
    _completions(
        "as-tiktoken",
        "Completions that re-encoding finds only further back are missing, as in tiktoken.",
        completed("a b c d ab bc cd", "abc"),
        _as_tiktoken,
    ),
    _completions(
        "one-token-only",
        "Only tokens that begin with the whole rest are found; own.",
        completed("a aa aaa", "aaa"),
        _only_longer_tokens,
    ),
    _completions(
        "last-token-open",
        "Only the last token is taken for open; own.",
        completed("a b c bc abc", "ab"),
        _last_token_open,
    ),
    _completions(
        "not-as-it-is",
        "That nothing may follow is forgotten; own.",
        completed("a ab", "a"),
        _not_as_it_is,
    ),
    _canonical(
        "any-spelling",
        "Any tokens that exist are taken for an encoding; own.",
        canonical(spelled("a aa"), 0, 0),
        _any_spelling,
    ),
    _canonical(
        "same-length",
        "Only the number of tokens is compared; own.",
        canonical(spelled("a aa"), 0, 1),
        _same_length,
    ),
    _canonical(
        "greedy",
        "The longest token first is taken for the encoding; own.",
        canonical(spelled("a b c bc ab"), 0, 3),
        _greedy,
    ),
    _canonical(
        "through-text",
        "The tokens are decoded to text in between, and bytes that are none are lost.",
        canonical(_BYTES, 0xFF),
        _through_text,
    ),
    _canonical(
        "no-merge-left",
        "Tokens of which no neighbours merge are taken for an encoding; own.",
        canonical(spelled("a aa aaaa"), 0, 1, 0),
        _no_merge_left,
    ),
)
"""Mutants of `stream`, `offsets`, `completions` and `canonical`."""
