"""The wire format of Protocol Buffers: a message is a row of numbered fields.

Definition
    A field is a *tag*, a variable-length number that holds the field's number
    and its wire type, and then a value: (0) a variable-length number, (1) 8
    bytes, (2) a length and that many bytes, (5) 4 bytes. A variable-length
    number has seven bits in each byte, the lowest first, and all bytes but the
    last have their highest bit set.

Source: https://protobuf.dev/programming-guides/encoding/

What the source leaves open
    *Numbers longer than 64 bits.* At most ten bytes; bits beyond 64 are dropped.
    *Tags* have at most 32 bits, and field 0 does not exist.
    *Groups* (wire types 3 and 4), which nobody has written for fifteen years,
    are refused, as are wire types 6 and 7.
    *What a field means*, whether it may come twice, and what to do with unknown
    ones, is for the reader of the message to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bpe_ref.errors import VocabularyFileError

NUMBER: Final = 0
EIGHT_BYTES: Final = 1
BYTES: Final = 2
FOUR_BYTES: Final = 5

_LONGEST_NUMBER: Final = 10
_BITS: Final = 2**64 - 1
_MAXIMUM_TAG: Final = 2**32 - 1
_FIXED: Final = {EIGHT_BYTES: 8, FOUR_BYTES: 4}


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
