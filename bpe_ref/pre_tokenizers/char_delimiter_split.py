"""`CharDelimiterSplit`: cut at one character, and drop it.

Source: pre_tokenizers/delimiter.rs of Hugging Face tokenizers 0.23.3. It leaves
nothing open: the delimiter is exactly one character.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText
from bpe_ref.parameters import check_character
from bpe_ref.patterns.matches import Literal, find_matches
from bpe_ref.pre_tokenizers.splitting import split


@dataclass(frozen=True)
class CharDelimiterSplit:
    """Cuts at one character and drops it.

    >>> CharDelimiterSplit("-").cut_text("a--b")
    ['a', 'b']
    """

    delimiter: str

    def __post_init__(self) -> None:
        """Refuse what is not a single character."""
        check_character("delimiter", self.delimiter)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces."""
        return split(text, find_matches(Literal(self.delimiter), text.text), "Removed")

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts."""
        return [piece for piece in text.split(self.delimiter) if piece]
