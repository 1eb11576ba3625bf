"""`ByteLevel`: every byte of the UTF-8 becomes its letter.

Source: normalizers/byte_level.rs of Hugging Face tokenizers 0.23.3; the letters are those of
`byte_alphabet`.

What the source leaves open: nothing. All letters of a character have its range.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.normalizers.rewriting import rewritten
from bpe_ref.vocabulary.byte_alphabet import to_letters


@dataclass(frozen=True)
class ByteLevel:
    """Letters for bytes.

    >>> ByteLevel().normalize(AlignedText.of("\u00e9 ")).text
    '\u00c3\u00a9\u0120'
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return a letter for each byte."""
        return rewritten(text, lambda character: to_letters(character.encode()))

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return to_letters(text.encode())

    def meeting(self, left: str, right: str) -> Meeting:
        """Return the letters of the bytes where they meet; see `components.Meeting`."""
        last, first = to_letters(left.encode())[-1], to_letters(right.encode())[0]
        return Meeting(frozenset(last), frozenset(first))
