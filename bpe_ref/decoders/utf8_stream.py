"""UTF-8 to text, some bytes at a time.

    Bytes wait until they are a character, or until no byte can make them one. Then they are text:
    the character, or what `errors` puts in their place.

The rule is that of `to_bytes`: each *maximal part* of a character that cannot be one is replaced at
once. An incomplete character is replaced when the next byte cannot continue it, or at the end. That
next byte starts a new character.

Source: The Unicode Standard 16.0, table 3-7 (which bytes may follow which) and section 3.9.6
(U+FFFD substitution of maximal subparts).

What the source leaves open
    *When* text comes: as soon as it is certain, whatever bytes follow. If it is known which bytes
    can follow, text may be certain earlier: see `hopeless`.
    *"strict"* raises for the byte that breaks a character, not for the character's first one; a
    text that stops inside a character raises at the end.

Invariant
    `waiting` is empty or the beginning of a character, one to three bytes. Of the text that would
    take its place, the first `sent` letters are out.
"""

from collections.abc import Callable
from typing import Final

from bpe_ref.decoders.to_bytes import bytes_to_text
from bpe_ref.errors import DecodingError
from bpe_ref.parameters import check_choice

STREAM_ERRORS: Final = ("strict", "replace", "ignore", "backslashreplace", "surrogateescape")
"""What can become of bytes that are not UTF-8, as in `to_bytes`."""

_ANY: Final = range(0x80, 0xC0)
_SECOND: Final = {
    **dict.fromkeys(range(0xC2, 0xF5), _ANY),
    0xE0: range(0xA0, 0xC0),  # below: longer than need be
    0xED: range(0x80, 0xA0),  # above: surrogates
    0xF0: range(0x90, 0xC0),  # below: longer than need be
    0xF4: range(0x80, 0x90),  # above: beyond U+10FFFF
}
"""From the first byte of a character to the bytes that may be its second."""

_LENGTHS: Final = {range(0x80): 1, range(0xC2, 0xE0): 2, range(0xE0, 0xF0): 3, range(0xF0, 0xF5): 4}
"""From the first byte of a character to how many bytes it has."""


def length_from(first: int) -> int:
    """Return how many bytes the character has that begins with `first`; 0 if none does.

    >>> length_from(0x41), length_from(0xC3), length_from(0xF0), length_from(0xC0)
    (1, 2, 4, 0)
    """
    return next((length for firsts, length in _LENGTHS.items() if first in firsts), 0)


def may_follow(part: bytes, byte: int) -> bool:
    """Return whether `byte` continues an incomplete character.

    >>> may_follow(bytes([0xE0]), 0xA0), may_follow(bytes([0xE0]), 0x80)
    (True, False)
    """
    return byte in (_SECOND[part[0]] if len(part) == 1 else _ANY)


def check_errors(errors: str) -> str:
    """Return `errors`; raise `ParameterError` for one that a stream does not know.

    >>> check_errors("strikt")
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: errors must be one of strict, replace, ignore, ...
    """
    check_choice("errors", errors, STREAM_ERRORS)
    return errors


def never(part: bytes, replaced: str) -> bool:
    """Return False: any byte may follow, so nothing is certain of an incomplete character."""
    return False


class Utf8Stream:
    r"""Bytes in, text out.

    `hopeless(part, replaced)` says whether whatever follows the incomplete
    character `part`, the text is the one that would replace it. Then that text
    comes at once.

    >>> stream = Utf8Stream("replace")
    >>> stream.push(b"a\xc3"), stream.push(b"\xa9\xe2\x82"), stream.push(b"b"), stream.finish()
    ('a', 'é', '\ufffdb', '')
    """

    def __init__(self, errors: str, hopeless: Callable[[bytes, str], bool] = never) -> None:
        """Start empty. Raises `ParameterError` for an `errors` that no stream knows."""
        self.errors: Final = check_errors(errors)
        self._hopeless: Final = hopeless
        self._waiting = b""
        self._sent = 0
        self._position = 0  # of the first byte of `waiting`

    def __repr__(self) -> str:
        """Return the bytes of the character that is not complete yet."""
        return f"<{type(self).__name__}, errors={self.errors!r}, held back: {self._waiting!r}>"

    def push(self, data: bytes) -> str:
        """Return the text that is certain now and was not before.

        Raises `DecodingError` if `errors` is "strict" and the bytes cannot be
        UTF-8; the stream is then as it was before.
        """
        if not self._waiting and data.isascii():
            self._position += len(data)
            return data.decode("ascii")
        text: list[str] = []
        waiting, sent, start = self._waiting, self._sent, self._position
        for place, byte in enumerate(data, self._position + len(waiting)):
            if waiting and not may_follow(waiting, byte):
                text.append(self._replaced(waiting, start, "invalid continuation byte")[sent:])
                waiting, sent = b"", 0
            if not waiting:
                start = place
            waiting += bytes([byte])
            length = length_from(waiting[0])
            if length == 0:
                text.append(self._replaced(waiting, start, "invalid start byte"))
                waiting, start = b"", place + 1
            elif len(waiting) == length:
                text.append(waiting.decode("utf-8")[sent:])
                waiting, sent, start = b"", 0, place + 1
        if waiting and self.errors != "strict":
            replaced = bytes_to_text(waiting, self.errors)
            if len(replaced) > sent and self._hopeless(waiting, replaced):
                text.append(replaced[sent:])
                sent = len(replaced)
        self._waiting, self._sent, self._position = waiting, sent, start
        return "".join(text)

    def finish(self) -> str:
        """Return the rest of the text; the stream is then as new.

        Raises `DecodingError` if `errors` is "strict" and the bytes stop inside
        a character; the stream is then as it was before.
        """
        text = ""
        if self._waiting:
            text = self._replaced(self._waiting, self._position, "unexpected end of data")
        text = text[self._sent :]
        self._waiting, self._sent, self._position = b"", 0, 0
        return text

    def _replaced(self, part: bytes, start: int, reason: str) -> str:
        """Return what takes the place of bytes that are no character."""
        if self.errors == "strict":
            raise DecodingError(
                f"the tokens' bytes must be UTF-8 to decode strictly, "
                f"but byte {start} (0x{part[0]:02X}) is not: {reason}"
            )
        return bytes_to_text(part, self.errors)
