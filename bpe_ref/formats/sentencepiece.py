"""SentencePiece's `.model` files, of type BPE or unigram: a `ModelProto` in Protocol Buffers.

What is read
    The pieces (string, score, type), of `trainer_spec` the model type, byte fallback,
    `treat_whitespace_as_suffix`, and the strings of the special pieces, and both normalizer specs.
    All other fields say how the model was trained and change nothing; they are skipped, like
    unknown ones.

Protocol Buffers
    A message is a row of fields. A field is a *tag*, a variable-length number that holds the
    field's number and its wire type, and then a value: (0) a variable-length number, (1) 8 bytes,
    (2) a length and that many bytes, (5) 4 bytes. A variable-length number has seven bits in each
    byte, the lowest first, and all bytes but the last have their highest bit set. Numbers have at
    most ten bytes, whose bits beyond 64 are dropped. Tags have at most 32 bits, and field 0 does
    not exist. Groups (wire types 3 and 4) are refused, as are wire types 6 and 7.

Source: src/sentencepiece_model.proto of google/sentencepiece; the wheel 0.2.3;
https://protobuf.dev/programming-guides/encoding/

What the source leaves open, and what holds here
    *Other types.* A word or character model is refused by its name. A file without a type is a
    unigram model: that is the field's default.
    *Fields that come twice.* The last one counts; of messages within the message all fields count,
    each by this rule. A field with another wire type than it should have is an unknown field, and a
    kind of piece that nobody knows leaves the piece a normal one. So says Protocol Buffers.
    *Text that is not UTF-8* is refused; the library takes it.
    *Scores* are 32-bit floats and are compared as such.
    *Writing* such files is not offered.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from bpe_ref.decoders.sentencepiece import SentencePieceDecoder
from bpe_ref.errors import VocabularyFileError
from bpe_ref.formats.files import as_text, located
from bpe_ref.models.sentencepiece import Piece, PieceKind, SentencePieceModel, SpecialPieces
from bpe_ref.normalizers.charsmap import Charsmap
from bpe_ref.normalizers.sentencepiece import NormalizationRules, SentencePieceNormalizer
from bpe_ref.tokenizer import Tokenizer

NUMBER: Final = 0
EIGHT_BYTES: Final = 1
BYTES: Final = 2
FOUR_BYTES: Final = 5

_LONGEST_NUMBER: Final = 10
_BITS: Final = 2**64 - 1
_MAXIMUM_TAG: Final = 2**32 - 1
_FIXED: Final = {EIGHT_BYTES: 8, FOUR_BYTES: 4}

_PIECES: Final = 1
_TRAINER: Final = 2
_NORMALIZER: Final = 3
_DENORMALIZER: Final = 5

_PIECE_TEXT: Final = 1
_PIECE_SCORE: Final = 2
_PIECE_KIND: Final = 3

KINDS: Final[Mapping[int, PieceKind]] = {
    1: "normal",
    2: "unknown",
    3: "control",
    4: "user-defined",
    5: "unused",
    6: "byte",
}
"""The kinds of pieces by their numbers."""

_MODEL_TYPES: Final = {1: "unigram", 2: "BPE", 3: "word", 4: "character"}

_TRAINER_FIELDS: Final = {
    3: ("model_type", NUMBER),
    24: ("treat_whitespace_as_suffix", NUMBER),
    35: ("byte_fallback", NUMBER),
    44: ("unk_surface", BYTES),
    46: ("bos_piece", BYTES),
    47: ("eos_piece", BYTES),
    48: ("pad_piece", BYTES),
}
_NORMALIZER_FIELDS: Final = {
    2: ("precompiled_charsmap", BYTES),
    3: ("add_dummy_prefix", NUMBER),
    4: ("remove_extra_whitespaces", NUMBER),
    5: ("escape_whitespaces", NUMBER),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its number, its wire type, its value."""

    number: int
    wire_type: int

    value: int
    """The number, of wire type 0; else 0."""

    start: int
    end: int
    """Where the value's bytes stand in the data, of the other wire types."""


def fields(data: bytes, start: int, end: int, source: str) -> Iterator[Field]:
    r"""Yield the fields of the message in `data[start:end]`.

    Raises `VocabularyFileError`, with the place in `data`, for what is no
    message; `source` names the data.

    >>> [(field.number, field.value) for field in fields(b"\x08\x96\x01", 0, 3, "example")]
    [(1, 150)]
    >>> list(fields(b"\x0a\x05ab", 0, 4, "example"))
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example, byte 1: field 1 must have 5 bytes, there are 2 left
    """
    place = start
    while place < end:
        at = place
        tag, place = _number(data, place, end, source)
        number, wire_type = tag >> 3, tag & 7
        if tag > _MAXIMUM_TAG or number == 0:
            raise VocabularyFileError(
                f"{source}, byte {at}: a field's number must be from 1 to 2^29-1, got {number}"
            )
        if wire_type == NUMBER:
            value, place = _number(data, place, end, source)
            yield Field(number, NUMBER, value, place, place)
            continue
        at = place
        if wire_type == BYTES:
            length, place = _number(data, place, end, source)
        elif wire_type in _FIXED:
            length = _FIXED[wire_type]
        else:
            raise VocabularyFileError(
                f"{source}, byte {at}: field {number} must have wire type 0, 1, 2 or 5, "
                f"got {wire_type}"
            )
        if length > end - place:
            raise VocabularyFileError(
                f"{source}, byte {at}: field {number} must have {length} bytes, "
                f"there are {end - place} left"
            )
        yield Field(number, wire_type, 0, place, place + length)
        place += length


def _number(data: bytes, start: int, end: int, source: str) -> tuple[int, int]:
    """Return a variable-length number, and the place behind it."""
    value = 0
    for place in range(start, min(end, start + _LONGEST_NUMBER)):
        byte = data[place]
        value |= (byte & 0x7F) << 7 * (place - start)
        if byte < 0x80:
            return value & _BITS, place + 1
    reason = "is cut off" if end - start < _LONGEST_NUMBER else "has more than ten bytes"
    raise VocabularyFileError(f"{source}, byte {start}: a variable-length number {reason}")


def parse_sentencepiece(data: bytes, source: str) -> SentencePieceModel:
    r"""Return the model in the content of a file; `source` names it in errors.

    Raises `VocabularyFileError`.

    >>> data = b"\n\x05\n\x01?\x18\x02\n\x03\n\x01a\x12\x02\x18\x02"
    >>> [(piece.text, piece.kind) for piece in parse_sentencepiece(data, "example").pieces]
    [('?', 'unknown'), ('a', 'normal')]
    >>> parse_sentencepiece(b"\x12\x02\x18\x03", "example")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example must be of type BPE or unigram, it is a word model
    """
    pieces: list[Piece] = []
    trainer = _Settings()
    normalizer = _Settings()
    denormalizer = _Settings()
    for found in fields(data, 0, len(data), source):
        if found.wire_type != BYTES:
            continue
        if found.number == _PIECES:
            pieces.append(_piece(data, found, source, len(pieces)))
        elif found.number == _TRAINER:
            trainer = trainer.with_message(data, found, source, _TRAINER_FIELDS)
        elif found.number == _NORMALIZER:
            normalizer = normalizer.with_message(data, found, source, _NORMALIZER_FIELDS)
        elif found.number == _DENORMALIZER:
            denormalizer = denormalizer.with_message(data, found, source, _NORMALIZER_FIELDS)
    algorithm = _algorithm(trainer, source)
    with located(f"{source}: "):
        return SentencePieceModel(
            pieces,
            normalizer.rules(source, space_behind=trainer.flag("treat_whitespace_as_suffix")),
            denormalizer.rules(source) if denormalizer.octets("precompiled_charsmap") else None,
            trainer.flag("byte_fallback"),
            trainer.text("unk_surface", " \u2047 ", source),
            SpecialPieces(
                trainer.text("bos_piece", "", source) or "<s>",
                trainer.text("eos_piece", "", source) or "</s>",
                trainer.text("pad_piece", "", source) or "<pad>",
            ),
            algorithm,
        )


def sentencepiece_tokenizer(model: SentencePieceModel, name: str | None = None) -> Tokenizer:
    """Return the tokenizer of a model. It adds no token before or behind a text.

    A template adds them: `tokenizer.replace(post_processor=...)`.

    >>> pieces = [Piece("<unk>", kind="unknown"), Piece("▁"), Piece("a"), Piece("▁a", -1.0)]
    >>> tokenizer = sentencepiece_tokenizer(SentencePieceModel(pieces))
    >>> tokenizer.encode("aa"), tokenizer.tokenize("aab c").tokens, tokenizer.decode([3, 2])
    ([3, 2], ('▁a', 'a', 'b', '▁', 'c'), 'aa')
    """
    return Tokenizer(
        model,
        normalizer=SentencePieceNormalizer(model.normalization, model.user_defined),
        decoder=SentencePieceDecoder(model),
        name=name,
    )


@dataclass(frozen=True, slots=True)
class _Settings:
    """The fields of a message that have a meaning here, by name."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    strings: Mapping[str, bytes] = field(default_factory=dict)

    def with_message(
        self, data: bytes, message: Field, source: str, known: Mapping[int, tuple[str, int]]
    ) -> "_Settings":
        """Return these settings with those of a message, which count where both say something."""
        numbers, strings = dict(self.numbers), dict(self.strings)
        for found in fields(data, message.start, message.end, source):
            name, wire_type = known.get(found.number, ("", NUMBER))
            if not name or found.wire_type != wire_type:
                continue
            if wire_type == BYTES:
                strings[name] = data[found.start : found.end]
            elif name != "model_type" or _as_int32(found.value) in _MODEL_TYPES:
                numbers[name] = found.value
        return _Settings(numbers, strings)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return whether a flag is set."""
        return bool(self.numbers.get(name, default))

    def octets(self, name: str) -> bytes:
        """Return a field of bytes, or none if it is absent."""
        return self.strings.get(name, b"")

    def text(self, name: str, default: str, source: str) -> str:
        """Return a field of text; raise `VocabularyFileError` if it is not UTF-8."""
        if name not in self.strings:
            return default
        return as_text(self.strings[name], f"{source}: {name}")

    def rules(self, source: str, *, space_behind: bool = False) -> NormalizationRules:
        """Return the normalization that a normalizer spec asks for."""
        charsmap = self.octets("precompiled_charsmap")
        with located(f"{source}: "):
            read = Charsmap(charsmap) if charsmap else None
        return NormalizationRules(
            charsmap=read,
            add_dummy_prefix=self.flag("add_dummy_prefix", default=True),
            remove_extra_whitespaces=self.flag("remove_extra_whitespaces", default=True),
            escape_whitespaces=self.flag("escape_whitespaces", default=True),
            space_behind=space_behind,
        )


def _piece(data: bytes, message: Field, source: str, number: int) -> Piece:
    text, score = b"", 0.0
    kind: PieceKind = "normal"
    for found in fields(data, message.start, message.end, source):
        if found.number == _PIECE_TEXT and found.wire_type == BYTES:
            text = data[found.start : found.end]
        elif found.number == _PIECE_SCORE and found.wire_type == FOUR_BYTES:
            (score,) = struct.unpack_from("<f", data, found.start)
        elif found.number == _PIECE_KIND and found.wire_type == NUMBER:
            kind = KINDS.get(_as_int32(found.value), kind)
    return Piece(as_text(text, f"{source}: piece {number}"), score, kind)


def _as_int32(value: int) -> int:
    """Return what Protocol Buffers makes of a number where 32 bits are asked for."""
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low


def _algorithm(trainer: _Settings, source: str) -> Literal["bpe", "unigram"]:
    """Return how the model works; raise `VocabularyFileError` unless it is BPE or unigram."""
    kind = _MODEL_TYPES[_as_int32(trainer.numbers.get("model_type", 1))]
    if kind == "BPE":
        return "bpe"
    if kind == "unigram":
        return "unigram"
    raise VocabularyFileError(f"{source} must be of type BPE or unigram, it is a {kind} model")
