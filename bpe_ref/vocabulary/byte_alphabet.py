"""The letters that stand for bytes: any bytes can be written as visible text, and read back.

Definition
    Bytes 0x21 to 0x7E, 0xA1 to 0xAC and 0xAE to 0xFF are written as the character of the same
    number. The other 68 bytes, in order, are written as U+0100, U+0101, ... U+0143. A space is
    therefore `Ġ` and a line feed `Ċ`.

Source: `bytes_to_unicode` in encoder.py of OpenAI's gpt-2 (2019); `bytes_char` in
pre_tokenizers/byte_level.rs of Hugging Face tokenizers 0.23.3. They leave nothing open.
"""

import codecs
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

_OWN_NUMBER: Final = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS: Final = [byte for byte in range(256) if byte not in _OWN_NUMBER]

LETTER_OF_BYTE: Final[Sequence[str]] = tuple(
    chr(byte) if byte in _OWN_NUMBER else chr(0x100 + _OTHERS.index(byte)) for byte in range(256)
)
"""The letter of each of the 256 bytes."""

BYTE_OF_LETTER: Final[Mapping[str, int]] = MappingProxyType(
    {letter: byte for byte, letter in enumerate(LETTER_OF_BYTE)}
)
"""The byte of each of the 256 letters."""

# The codecs of character sets with one byte a character are the fastest way to convert.
_LETTERS: Final = "".join(LETTER_OF_BYTE)
_FROM_LETTERS: Final = codecs.charmap_build(_LETTERS)

BYTE_PIECES: Final = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The string of the token of each byte, where bytes stand for characters without a token."""


def to_letters(data: bytes) -> str:
    """Return one letter per byte.

    >>> to_letters("é a".encode())
    'Ã©Ġa'
    """
    return codecs.charmap_decode(data, "strict", _LETTERS)[0]


def from_letters(letters: str) -> bytes:
    """Return one byte per letter. A character that is not a letter is a KeyError.

    >>> from_letters("Ã©Ġa").decode()
    'é a'
    """
    try:
        return codecs.charmap_encode(letters, "strict", _FROM_LETTERS)[0]
    except UnicodeEncodeError as error:
        raise KeyError(letters[error.start]) from None


def read_letters(piece: str) -> str:
    """Return the text that a piece in letters stands for; another one as it is.

    >>> read_letters("Ã©Ġa"), read_letters("a b")
    ('é a', 'a b')
    """
    try:
        return from_letters(piece).decode("utf-8", "replace")
    except KeyError:
        return piece
