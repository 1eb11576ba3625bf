"""What the incremental encoders refuse, in one sentence each."""

from collections.abc import Iterable
from typing import NoReturn

from bpe_ref.errors import ParameterError, SymbolError

_LAST_BYTE = 0xFF


def raise_for_byte(byte: object, place: int) -> NoReturn:
    """Raise the error for what cannot be appended (or put in front) as a byte.

    >>> raise_for_byte(256, 0)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: byte must be an int in [0, 255], got 256
    """
    if type(byte) is not int or not 0 <= byte <= _LAST_BYTE:
        raise ParameterError("byte", byte, "must be an int in [0, 255]")
    raise SymbolError(
        f"byte 0x{byte:02X} at position {place} of the piece is not a token "
        "of this vocabulary, so the piece cannot be encoded"
    )


def as_bytes_given(name: str, piece: object) -> Iterable[int]:
    """Return the bytes; raise `ParameterError` for text by mistake.

    >>> as_bytes_given("piece", "abc")
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: piece must be bytes, got 'abc'
    """
    if isinstance(piece, str) or not isinstance(piece, Iterable):
        raise ParameterError(name, piece, "must be bytes")
    return piece


def check_length(length: int, longest: int) -> None:
    """Raise `ParameterError` for a length that no prefix has.

    >>> check_length(3, 2)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: length must be an int in [0, 2], got 3
    """
    if type(length) is not int or not 0 <= length <= longest:
        raise ParameterError("length", length, f"must be an int in [0, {longest}]")


def check_range(start: int, stop: int, length: int) -> None:
    """Raise `ParameterError` unless 0 <= start <= stop <= length.

    >>> check_range(2, 1, 5)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: start must be an int in [0, 1], got 2
    """
    if type(stop) is not int or not 0 <= stop <= length:
        raise ParameterError("stop", stop, f"must be an int in [0, {length}]")
    if type(start) is not int or not 0 <= start <= stop:
        raise ParameterError("start", start, f"must be an int in [0, {stop}]")


def check_count(name: str, number: int, least: int) -> None:
    """Raise `ParameterError` for what is not a whole number of at least `least`.

    >>> check_count("limit", -1, 0)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: limit must be an int of at least 0, got -1
    """
    if type(number) is not int or number < least:
        raise ParameterError(name, number, f"must be an int of at least {least}")
