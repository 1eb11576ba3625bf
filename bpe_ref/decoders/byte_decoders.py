"""Decoders of tokens that stand for bytes: as letters, or as `<0xE4>`.

Source: pre_tokenizers/byte_level.rs and decoders/byte_fallback.rs of Hugging Face tokenizers
0.23.3.

What the source does unexpectedly
    - `ByteLevel` reads a string as bytes where all its letters are byte letters, whoever wrote
      it: an added token `é!` becomes a lone byte E9 and an exclamation mark, and `Ġfoo` loses its
      letter. (`Quirks.byte_level_maps_added_tokens`; a decoder sees strings and not which of
      them are added tokens, so the pipeline has to do otherwise.)
    - `ByteFallback` decodes a run of byte tokens all or not at all, and reads `<0x+1>` as a byte.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bpe_ref.decoders.to_bytes import bytes_to_text
from bpe_ref.parameters import check_flag
from bpe_ref.quirks import HUGGING_FACE, Quirks
from bpe_ref.vocabulary.byte_alphabet import from_letters

_REPLACEMENT = "\ufffd"
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_NUMBER_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")


@dataclass(frozen=True)
class ByteLevel:
    """Reads byte letters as bytes; what is not UTF-8 becomes U+FFFD. The fields mean nothing here.

    >>> ByteLevel(add_prefix_space=True, trim_offsets=True).decode_chain(["Ġa", "Ã", "©"])
    [' aé']
    """

    add_prefix_space: bool
    trim_offsets: bool
    use_regex: bool = True
    errors: str = "replace"
    """What becomes of bytes that are not UTF-8. No field of the format: see `with_errors`."""

    joins_over_special: bool = True
    """Whether bytes on both sides of a special token that is left out can be one character.
    No field of the format: mistral-common decodes what is between special tokens by itself."""

    def __post_init__(self) -> None:
        """Refuse what is not a bool."""
        check_flag("add_prefix_space", self.add_prefix_space)
        check_flag("trim_offsets", self.trim_offsets)
        check_flag("use_regex", self.use_regex)

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return a list of one string."""
        return [bytes_to_text(b"".join(map(self.to_bytes, tokens)), self.errors)]

    def to_bytes(self, token: str) -> bytes:
        """Return the bytes of a token by its string.

        >>> ByteLevel(add_prefix_space=True, trim_offsets=True).to_bytes("Ġa")
        b' a'
        """
        try:
            return from_letters(token)
        except KeyError:  # it has other letters
            return token.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class ByteFallback:
    """Reads tokens such as `<0xE4>` as bytes.

    >>> ByteFallback().decode_chain(["<0xC3>", "<0xA9>", "a", "<0xC3>"])
    ['é', 'a', '\ufffd']
    """

    quirks: Quirks = HUGGING_FACE
    errors: str = "replace"
    """What becomes of bytes that are not UTF-8. No field of the format: see `with_errors`."""

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return the list with a text in the place of each run of byte tokens."""
        bytes_ = {token: self.byte_of(token) for token in set(tokens) if token[:1] == "<"}
        chain: list[str] = []
        run = bytearray()
        for token in tokens:
            byte = bytes_.get(token)
            if byte is not None:
                run.append(byte)
                continue
            if run:
                chain += self._text(bytes(run))
                run.clear()
            chain.append(token)
        return chain + self._text(bytes(run))

    def byte_of(self, token: str) -> int | None:
        """Return the byte that a token stands for, or None.

        >>> ByteFallback().byte_of("<0xC3>"), ByteFallback().byte_of("a")
        (195, None)
        """
        any_number = self.quirks.byte_fallback_reads_any_number
        found = (_NUMBER_TOKEN if any_number else _BYTE_TOKEN).fullmatch(token)
        return int(found[1], 16) if found else None

    def _text(self, run: bytes) -> list[str]:
        """Return the strings that a run becomes; none for an empty one."""
        if not run:
            return []
        if self.errors != "replace" or not self.quirks.byte_fallback_all_or_nothing:
            return [bytes_to_text(run, self.errors)]
        try:
            return [run.decode("utf-8")]
        except UnicodeDecodeError:
            return [_REPLACEMENT] * len(run)
