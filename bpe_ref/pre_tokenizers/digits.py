"""`Digits`: cut numbers off, as a whole or digit by digit.

Definition: cut at every number character, with behavior `Isolated` if
`individual_digits`, else `Contiguous`.

Source: pre_tokenizers/digits.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open: a number character is what the library's Rust
calls numeric, general categories Nd, Nl and No of Unicode 17.0; the table
`tokenizers-digits` holds these 1924. CJK numerals are letters there.
"""

from dataclasses import dataclass
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.parameters import check_flag
from bpe_ref.pre_tokenizers.character_classes import CharacterClass
from bpe_ref.pre_tokenizers.splitting import split

_NUMBERS: Final = CharacterClass("tokenizers-digits", "N")


@dataclass(frozen=True)
class Digits:
    """Cuts numbers off.

    >>> Digits(individual_digits=True).cut_text("a12")
    ['a', '1', '2']
    """

    individual_digits: bool

    def __post_init__(self) -> None:
        """Refuse what is not a bool."""
        check_flag("individual_digits", self.individual_digits)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces."""
        return split(text, _NUMBERS.find(text.text), self._behavior())

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts."""
        return _NUMBERS.cut(self._behavior(), text)

    def _behavior(self) -> str:
        return "Isolated" if self.individual_digits else "Contiguous"

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return whether a piece always ends between the characters; see `components.Meeting`."""
        return _NUMBERS.meeting(self._behavior(), left, right)
