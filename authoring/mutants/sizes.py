"""Mutants of tokenizers that are right about small inputs: longer ones are cut, or wrap round."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from authoring.mutants.calls import Call, Request, Right, remembering
from authoring.mutants.calls import Given as GivenAnswer
from authoring.mutants.growing import Wrong, encoded
from authoring.mutants.mutant import (
    RIGHT,
    Mutant,
    Witness,
    answering,
    bytewise,
    decode,
    encode,
    replacing,
    replacing_tool,
    spelled,
)
from authoring.mutants.parts import at_most, beginning, chunked, interval
from authoring.mutants.streams import canonical, completed, started
from bpe_ref import (
    Special,
    TextRules,
    TokenId,
    Tokenizer,
    Vocabulary,
    is_canonical,
    vocabulary_by_concatenation,
)
from bpe_ref.decoders.to_bytes import decode_with_offsets
from bpe_ref.growing.eager import EagerEncoder
from tokenref.answers import SESSION, Ok, Refused, request_text
from tokenref.engines.reference import (
    Completions,
    ReferenceSession,
    completions,
    cut,
    special,
    till_limit,
)
from tokenref.engines.reference import stream as right_stream


def _doubling(powers: int) -> Vocabulary:
    """Return the vocabulary of runs of one letter whose lengths are powers of two."""
    return spelled(" ".join("a" * 2**power for power in range(powers + 1)))


_RUNS: Final = spelled("a aaa aa b")
_BYTES: Final = bytewise()
_WORDS: Final = bytewise(r" ?\w+|\W", b" b", b"aa")
_SPECIAL: Final = bytewise(special_tokens={f"<{number}>": 1000 + number for number in range(300)})


def _of_text(change: Callable[[bytes], bytes]) -> Callable[..., Ok | Refused]:
    """Return a handler that encodes, counts and cuts another text."""

    def handle(session: ReferenceSession, op: str, request: Mapping[str, Any]) -> Ok | Refused:
        if op not in ("encode", "count", "pieces"):
            return session.answer(op, request)
        content = request_text(request)
        data = content if isinstance(content, bytes) else content.encode()
        other = change(data)
        return session.answer(op, request if other == data else {"bytes": other.hex()})

    handle.__doc__ = change.__doc__
    handle.__name__ = change.__name__
    return handle


def _blocks(content: Sequence[Any], size: int) -> list[Any]:
    return [content[at : at + size] for at in range(0, len(content), size)]


# ---- texts


@answering(encode(spelled("a"), "a" * 65_537))
@_of_text
def text_length_in_16_bits(data: bytes) -> bytes:
    """The length of a text is kept in 16 bits, so of 65,537 bytes one is left."""
    return data[: len(data) & 0xFFFF]


@answering(encode(spelled("a"), "a" * 32_768))
@_of_text
def text_length_with_a_sign(data: bytes) -> bytes:
    """The length of a text is a number of 16 bits with a sign; a negative one is an empty text."""
    low = len(data) & 0xFFFF
    return data[:low] if low < 1 << 15 else b""


@answering(encode(spelled("a"), "a" * 1025))
@_of_text
def text_buffer_of_1024(data: bytes) -> bytes:
    """A text is copied into a buffer of 1,024 bytes, and the rest is lost."""
    return data[:1024]


@replacing("cutter", encode(bytewise(r"\w+|\W", b"aa"), "b" + "a" * 4098))
def text_blocks_of_4096(vocabulary: Vocabulary) -> Callable[[str], list[str]]:
    """A text is read in blocks of 4,096 characters, and each is cut into pieces by itself."""
    right = RIGHT.cutter(vocabulary)
    return lambda text: [piece for block in _blocks(text, 4096) for piece in right(block)]


@replacing("cutter", encode(bytewise(r"\w+|\W", b"aa"), "b" + "a" * 258))
def text_blocks_of_256(vocabulary: Vocabulary) -> Callable[[str], list[str]]:
    """A text is read in blocks of 256 characters, and each is cut into pieces by itself."""
    right = RIGHT.cutter(vocabulary)
    return lambda text: [piece for block in _blocks(text, 256) for piece in right(block)]


@replacing("cutter", encode(bytewise(r"\w|\W"), "a" * 1001))
def pieces_at_most_1000(vocabulary: Vocabulary) -> Callable[[str], list[str]]:
    """A list of pieces has room for 1,000."""
    right = RIGHT.cutter(vocabulary)
    return lambda text: right(text)[:1000]


@replacing("cutter", encode(bytewise(r"\w|\W"), "a" * 130))
def pieces_in_a_signed_byte(vocabulary: Vocabulary) -> Callable[[str], list[str]]:
    """Pieces are numbered in a byte with a sign, and after 127 of them a loop ends."""
    right = RIGHT.cutter(vocabulary)
    return lambda text: right(text)[:127]


# ---- pieces and tokens


def _merging_blocks(size: int, vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    return [
        token
        for block in _blocks(symbols, size)
        for token in RIGHT.encode_symbols(vocabulary, block)
    ]


@replacing("encode_symbols", encode(_RUNS, "a" * 66))
def merges_in_blocks_of_64(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """A long piece is merged in blocks of 64 symbols, as threads of a GPU do."""
    return _merging_blocks(64, vocabulary, symbols)


@replacing("encode_symbols", encode(_RUNS, "a" * 2049))
def merges_in_blocks_of_2048(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """A long piece is merged in blocks of 2,048 symbols."""
    return _merging_blocks(2048, vocabulary, symbols)


@replacing("encode_symbols", encode(_RUNS, "a" * 32_769))
def merges_in_blocks_of_32768(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Places in a piece are numbers of 15 bits, so that longer ones are merged in parts."""
    return _merging_blocks(1 << 15, vocabulary, symbols)


@replacing("encode_symbols", encode(_RUNS, "a" * 1100))
def merges_stop_after_1000(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """A loop that merges ends after 1,000 symbols, for fear of never ending."""
    done = RIGHT.encode_symbols(vocabulary, symbols[:1000])
    return [*done, *symbols[1000:]]


def _shorter_tokens(most: int, vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Return the right tokens, but those of too many bytes in parts that are not too long."""
    found: list[TokenId] = []
    for token in RIGHT.encode_symbols(vocabulary, symbols):
        content = vocabulary.tokens[token]
        for part in _blocks(content, most):
            found += RIGHT.encode_symbols(vocabulary, vocabulary.symbols(part))
    return found


@replacing("encode_symbols", encode(_doubling(10), "a" * 1024))
def tokens_at_most_1000_bytes(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """A buffer for the token that is looked up has 1,000 bytes."""
    return _shorter_tokens(1000, vocabulary, symbols)


@replacing("encode_symbols", encode(_doubling(7), "a" * 128))
def tokens_at_most_100_bytes(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """A buffer for the token that is looked up has 100 bytes."""
    return _shorter_tokens(100, vocabulary, symbols)


# ---- decoding


@replacing("decode_bytes", decode(_BYTES, *[97] * 1025))
def decode_at_most_1024(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """A loop decodes 1,024 tokens, and the others are lost."""
    given = list(ids)
    RIGHT.decode_bytes(vocabulary, given)
    return RIGHT.decode_bytes(vocabulary, given[:1024])


@replacing("decode_bytes", decode(_doubling(9), 9))
def decode_tokens_of_256(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """Each token is copied through a buffer of 256 bytes."""
    return b"".join(RIGHT.decode_bytes(vocabulary, [token])[:256] for token in ids)


@replacing("bytes_to_text", decode(_BYTES, *[97] * 63, 0xC3, 0xA9, errors="replace"))
def decode_text_in_blocks_of_64(data: bytes, errors: str) -> str:
    """Bytes become text in blocks of 64, and a character that is in two of them is lost."""
    return "".join(RIGHT.bytes_to_text(block, errors) for block in _blocks(data, 64))


@replacing("bytes_to_text", decode(_BYTES, *[97] * 255, 0xC3, 0xA9, errors="replace"))
def decode_text_in_blocks_of_256(data: bytes, errors: str) -> str:
    """Bytes become text in blocks of 256, and a character that is in two of them is lost."""
    return "".join(RIGHT.bytes_to_text(block, errors) for block in _blocks(data, 256))


@replacing_tool("offsets", started(_BYTES, *[97] * 300))
def offsets_in_a_byte(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """Offsets are kept in a byte."""
    text, offsets = decode_with_offsets(vocabulary, ids)
    return text, [offset & 0xFF for offset in offsets]


@replacing_tool("offsets", started(_doubling(12), *[12] * 17))
def offsets_in_16_bits(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> tuple[str, list[int]]:
    """Offsets are kept in 16 bits."""
    text, offsets = decode_with_offsets(vocabulary, ids)
    return text, [offset & 0xFFFF for offset in offsets]


@dataclass
class _Restarted:
    """A stream that begins anew after some tokens, and gives what was held back."""

    tokenizer: Tokenizer
    errors: str
    every: int
    number: int = 0
    stream: Any = None

    def push(self, token: TokenId) -> str:
        """Add a token."""
        held = ""
        if self.stream is None or self.number % self.every == 0:
            held = "" if self.stream is None else self.stream.finish()
            self.stream = right_stream(self.tokenizer, self.errors)
        self.number += 1
        return str(held + self.stream.push(token))

    def finish(self) -> str:
        """Return the rest."""
        return "" if self.stream is None else self.stream.finish()


def _stream_every(every: int) -> Mutant:
    def begin(tokenizer: Tokenizer, errors: str) -> _Restarted:
        return _Restarted(tokenizer, errors, every)

    begin.__name__ = f"stream_restarts_after_{every}"
    begin.__doc__ = f"A stream keeps {every} tokens, and then begins anew inside of a character."
    request = {"ids": [*[97] * (every - 1), 0xC3, 0xA9], "errors": "replace"}
    return replacing_tool("stream", Witness(_BYTES, "stream", request))(begin)


STREAMS: Final = (_stream_every(64), _stream_every(256))


# ---- special tokens


def _specials(
    session: ReferenceSession, op: str, request: Mapping[str, Any], at: int
) -> Ok | Refused:
    """Take special tokens for text from some character on."""
    if op != "special":
        return session.answer(op, request)
    text = request["text"]
    first = session.answer(op, {**request, "text": text[:at]})
    second = session.answer("encode", {"text": text[at:]})
    if len(text) <= at or isinstance(first, Refused) or isinstance(second, Refused):
        return session.answer(op, request)
    return Ok({"ids": [*first.out["ids"], *second.out["ids"]]})


def _asked_special(text: str, allowed: object = "all", disallowed: object = ()) -> Witness:
    given = {"text": text, "allowed": allowed, "disallowed": disallowed or []}
    return Witness(_SPECIAL, "special", given)


@answering(_asked_special("a" * 4096 + "<1>"))
def special_in_the_first_4096(
    session: ReferenceSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """Special tokens are looked for in the first 4,096 characters only."""
    return _specials(session, op, request, 4096)


@answering(_asked_special("a" * 65_536 + "<1>"))
def special_in_the_first_65536(
    session: ReferenceSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """The place of a special token is a number of 16 bits, and behind that none is found."""
    return _specials(session, op, request, 65_536)


@replacing("split_special", _asked_special("<1>" * 65))
def special_at_most_64(text: str, allowed: frozenset[str]) -> Any:
    """The matches of special tokens are kept in a list of 64."""
    parts = list(RIGHT.split_special(text, allowed))
    yield from parts[:64]
    rest = "".join(stretch + (token or "") for stretch, token in parts[64:])
    yield rest, None


@replacing("split_special", _asked_special("<1>" * 1025))
def special_at_most_1000(text: str, allowed: frozenset[str]) -> Any:
    """The matches of special tokens are kept in a list of 1,000."""
    parts = list(RIGHT.split_special(text, allowed))
    yield from parts[:1000]
    rest = "".join(stretch + (token or "") for stretch, token in parts[1000:])
    yield rest, None


@replacing_tool("special", _asked_special("<257>"))
def special_number_in_a_byte(tokenizer: Tokenizer, text: str, treated: Special) -> list[TokenId]:
    """Special tokens are numbered in a byte, and number 257 is number 1."""
    names = list(tokenizer.added.ids.values())
    places = {token: place for place, token in enumerate(names)}
    right = special(tokenizer, text, treated)
    return [names[places[token] & 0xFF] if token in places else token for token in right]


@answering(_asked_special("<64>", [f"<{number}>" for number in range(65)]))
def special_allowed_64(
    session: ReferenceSession, op: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """Only the first 64 of the allowed special tokens are read."""
    if op != "special" or request["allowed"] == "all":
        return session.answer(op, request)
    return session.answer(op, {**request, "allowed": request["allowed"][:64]})


# ---- normalization beside special tokens

_NFC: Final = vocabulary_by_concatenation(
    {bytes([byte]): byte for byte in range(256)},
    text=TextRules(normalization="nfc"),
    special_tokens={"<x>": 300, "<\u00e9>": 301, "<o\u0302>": 302},
)


def _nfc(text: str, allowed: object = "all") -> Witness:
    return Witness(_NFC, "special", {"text": text, "allowed": allowed, "disallowed": []})


def _normalizing(tokenizer: Tokenizer) -> Callable[[str], str]:
    return str if tokenizer.normalizer is None else tokenizer.normalizer.normalize_text


@replacing_tool("special", _nfc("<e\u0301>"))
def special_after_normalization(tokenizer: Tokenizer, text: str, treated: Special) -> list[TokenId]:
    """The whole text is normalized before special tokens are looked for."""
    return special(tokenizer, _normalizing(tokenizer)(text), treated)


@replacing_tool("special", _nfc("<\u00f4>"))
def special_spelling_normalized(tokenizer: Tokenizer, text: str, treated: Special) -> list[TokenId]:
    """Text and special tokens are normalized before they are compared."""
    change = _normalizing(tokenizer)
    for name in tokenizer.added.ids:
        text = text.replace(change(name), name)
    return special(tokenizer, text, treated)


@replacing_tool("special", _nfc("e\u0301<x>e\u0301"))
def special_first_stretch_normalized(
    tokenizer: Tokenizer, text: str, treated: Special
) -> list[TokenId]:
    """Only the text before the first special token is normalized."""
    right = special(tokenizer, text, treated)
    places = [at for at, token in enumerate(right) if token in set(tokenizer.added.ids.values())]
    if not places:
        return right
    plain = tokenizer.replace(normalizer=None)
    rest = special(plain, text, treated)
    ids = set(tokenizer.added.ids.values())
    first = next(at for at, token in enumerate(rest) if token in ids)
    return [*right[: places[0]], *rest[first:]]


@replacing_tool("special", _nfc("e\u0301<x>"))
def special_switches_normalization_off(
    tokenizer: Tokenizer, text: str, treated: Special
) -> list[TokenId]:
    """A text with a special token takes a path that does not normalize."""
    right = special(tokenizer, text, treated)
    if not set(right) & set(tokenizer.added.ids.values()):
        return right
    return special(tokenizer.replace(normalizer=None), text, treated)


# ---- texts that grow


def _pushed(letters: Sequence[str], op: str = "append", keep: int | None = None) -> Witness:
    calls: list[dict[str, Any]] = [{"push": part.encode().hex()} for part in letters]
    calls += [] if keep is None else [{"truncate": keep}]
    return Witness(spelled("a b ab"), op, {"calls": calls})


@dataclass
class _Limited(Wrong):
    """A growing encoder that encodes in blocks, or cuts at a number with few bits."""

    block: int = 1 << 30
    bits: int = 60

    def extend(self, piece: Iterable[int]) -> None:
        """Add bytes."""
        content = bytes(piece)
        self.text = content + self.text if self.at_front else self.text + content
        self._again()

    def truncate(self, length: int) -> None:
        """Keep some bytes."""
        length &= (1 << self.bits) - 1
        self.text = self.text[len(self.text) - length :] if self.at_front else self.text[:length]
        self._again()

    def _again(self) -> None:
        blocks = _blocks(self.text, self.block)
        self.ids = [token for part in blocks for token in encoded(self.vocabulary, part)]


def _limited(
    name: str, about: str, op: str, witness: Witness, *, block: int = 1 << 30, bits: int = 60
) -> Mutant:
    def begin(vocabulary: Vocabulary) -> _Limited:
        return _Limited(vocabulary, at_front=op == "prepend", block=block, bits=bits)

    begin.__name__, begin.__doc__ = name, about
    return replacing_tool(f"{op}_encoder", witness)(begin)


GROWING: Final = (
    _limited(
        "append_in_blocks_of_128",
        "A text that grows is merged in blocks of 128 bytes.",
        "append",
        _pushed(["a" * 127 + "ab"]),
        block=128,
    ),
    _limited(
        "append_in_blocks_of_4096",
        "A text that grows is merged in blocks of 4,096 bytes.",
        "append",
        _pushed(["a" * 4095 + "ab"]),
        block=4096,
    ),
    _limited(
        "append_cut_in_a_byte",
        "The length to which a text is cut back is kept in a byte.",
        "append",
        _pushed(["a" * 300], keep=260),
        bits=8,
    ),
    _limited(
        "prepend_in_blocks_of_64",
        "A text that grows at its beginning is merged in blocks of 64 bytes.",
        "prepend",
        _pushed(["a" * 63 + "ab"], "prepend"),
        block=64,
    ),
    _limited(
        "prepend_cut_in_a_byte",
        "The length to which a text is cut back at its beginning is kept in a byte.",
        "prepend",
        _pushed(["a" * 300], "prepend", keep=260),
        bits=8,
    ),
)


@dataclass
class _Impatient:
    """An eager encoder that takes tokens for certain after some bytes."""

    vocabulary: Vocabulary
    most: int = 256
    held: int = 0
    encoder: EagerEncoder = field(init=False)

    def __post_init__(self) -> None:
        """Begin."""
        self.encoder = EagerEncoder(self.vocabulary)

    def extend(self, data: bytes) -> list[TokenId]:
        """Add bytes."""
        found: list[TokenId] = []
        for byte in data:
            found += self.encoder.push(byte)
            self.held += 1
            if self.held == self.most:
                found += self.encoder.finish()
                self.held = 0
                self.encoder = EagerEncoder(self.vocabulary)
        return found

    def finish(self) -> list[TokenId]:
        """Return the rest."""
        return self.encoder.finish()


@replacing_tool(
    "eager_encoder", Witness(spelled("a b ab"), "eager", {"pushes": [(b"a" * 256 + b"b").hex()]})
)
def eager_after_256(vocabulary: Vocabulary) -> _Impatient:
    """A buffer of 256 bytes is full, and what is in it is taken for certain."""
    return _Impatient(vocabulary)


@interval(Witness(spelled("a aa"), "intervals", {"bytes": "61" * 300, "ranges": [[0, 260]]}))
def interval_places_in_a_byte(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """Places in a piece are kept in a byte."""
    return len(encoded(vocabulary, piece[start & 0xFF : stop & 0xFF]))


@interval(Witness(spelled("a aa"), "intervals", {"bytes": "61" * 1300, "ranges": [[0, 1260]]}))
def interval_of_1024_at_most(vocabulary: Vocabulary, piece: bytes, start: int, stop: int) -> int:
    """A table of counts has 1,024 entries."""
    return len(encoded(vocabulary, piece[start : min(stop, start + 1024)]))


# ---- texts that are cut


@replacing_tool("till_limit", at_most(spelled("a"), "a" * 300, 310))
def limit_in_a_byte(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """The limit is kept in a byte."""
    return till_limit(tokenizer, text, limit & 0xFF)


@replacing_tool("till_limit", at_most(spelled("a"), "a" * 1025, 1030))
def limit_gives_up_at_1024(tokenizer: Tokenizer, text: str, limit: int) -> int | None:
    """Counting stops at 1,024 tokens, and that is the answer."""
    found = till_limit(tokenizer, text, limit)
    return None if found is None else min(found, 1024)


@replacing_tool("split", beginning(spelled("a"), "a" * 101, 101))
def split_after_100(tokenizer: Tokenizer, text: str, most: int) -> int:
    """No more than 100 tokens are looked at."""
    return tokenizer.split_at(text, min(most, 100))


@replacing_tool("split", beginning(spelled("a"), "a" * 300, 290))
def split_place_in_a_byte(tokenizer: Tokenizer, text: str, most: int) -> int:
    """The place of the cut is kept in a byte."""
    return tokenizer.split_at(text, most) & 0xFF


@replacing_tool("chunks", chunked(spelled("a"), "a" * 130, 1))
def chunks_at_most_128(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> Sequence[tuple[int, int]]:
    """A list has room for 128 chunks."""
    return cut(tokenizer, text, most, overlap)[:128]


@replacing_tool("chunks", chunked(spelled("a"), "a" * 130, 80, 70))
def chunks_overlap_at_most_64(
    tokenizer: Tokenizer, text: str, most: int, overlap: int
) -> Sequence[tuple[int, int]]:
    """Chunks overlap by 64 tokens at most."""
    return cut(tokenizer, text, most, min(overlap, 64))


_LETTERS: Final = "bcdefghijkl"
_MANY: Final = [f"a{one}{two}" for one in ("", *_LETTERS) for two in ("", *_LETTERS)]


@replacing_tool("completions", completed(" ".join([*dict.fromkeys(_MANY), *_LETTERS]), "a"))
def completions_at_most_100(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """A list has room for 100 completions."""
    stable, found = completions(tokenizer, text, complete)
    return stable, set(sorted(found)[:100])


@replacing_tool("completions", completed("a b ab", "b" * 300 + "a"))
def completions_of_the_last_256(tokenizer: Tokenizer, text: str, complete: bool) -> Completions:
    """Only the last 256 characters are looked at."""
    return completions(tokenizer, text[-256:], complete)


@replacing_tool("is_canonical", canonical(spelled("a aa"), *[1] * 64, 0, 0))
def canonical_first_64(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """Only the first 64 tokens are looked at."""
    return is_canonical(vocabulary, ids[:64])


@replacing_tool("is_canonical", canonical(spelled("a aa"), *[1] * 1024, 0, 0))
def canonical_first_1024(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    """Only the first 1,024 tokens are looked at."""
    return is_canonical(vocabulary, ids[:1024])


# ---- several calls


def _texts(*texts: str) -> Witness:
    asked = [{"op": "encode", "in": {"text": text}} for text in texts]
    return Witness(spelled("a b"), SESSION, {"calls": asked})


@remembering(_texts("a" * 256 + "a", "a" * 256 + "b"))
def calls_cached_by_256() -> Call:
    """Only the first 256 characters of a text are its key in a cache."""
    kept: dict[tuple[str, str], GivenAnswer] = {}

    def call(right: Right, op: str, request: Request) -> GivenAnswer:
        if op != "encode" or "text" not in request:
            return right(op, request)
        return kept.setdefault((op, request["text"][:256]), right(op, request))

    return call


@remembering(_texts(*(f"{'a' * (n % 9)}b{'a' * (n // 9)}" for n in range(66)), ""))
def calls_full_cache_of_64() -> Call:
    """A cache has 64 places, and when they are full the oldest answer is given for a new text."""
    kept: dict[tuple[str, str], GivenAnswer] = {}

    def call(right: Right, op: str, request: Request) -> GivenAnswer:
        if op not in ("encode", "count") or "text" not in request:
            return right(op, request)
        key = op, request["text"]
        if key not in kept and len(kept) == 64:
            return (
                kept[next(old for old in kept if old[0] == op)]
                if any(old[0] == op for old in kept)
                else right(op, request)
            )
        return kept.setdefault(key, right(op, request))

    return call
