"""`FixedLength`: cut into pieces of so many characters.

Source: pre_tokenizers/fixed_length.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open: the last piece may be shorter. Characters are code
points. A length of 0 is an error here; the library loads it and panics at the
first text.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText
from bpe_ref.errors import ParameterError


@dataclass(frozen=True)
class FixedLength:
    """Cuts every `length` characters.

    >>> FixedLength(2).cut_text("abcde")
    ['ab', 'cd', 'e']
    """

    length: int = 5

    def __post_init__(self) -> None:
        """Refuse what is not a positive integer."""
        if not isinstance(self.length, int) or isinstance(self.length, bool):
            raise ParameterError("length", self.length, "must be an int")
        if self.length < 1:
            raise ParameterError("length", self.length, "must be at least 1")

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces."""
        size = len(text.text)
        return [text.slice(at, min(at + self.length, size)) for at in range(0, size, self.length)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts."""
        return [text[at : at + self.length] for at in range(0, len(text), self.length)]
