"""`Strip` and `StripAccents`: white space at the ends, and marks, are left out.

Source: normalizers/strip.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open
    *White space* is the property White_Space: 25 characters, without the separators U+001C to
    U+001F that Python's `str.strip` takes. *Accents* are the categories Mn, Mc and Me of Unicode
    9.0, whether vowel signs or accents; a letter with an accent in it stays, unless NFD comes
    first.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.normalizers.normalizer_tables import one_of
from bpe_ref.normalizers.rewriting import without
from bpe_ref.parameters import check_flag
from bpe_ref.patterns.unicode_tables import white_space


@dataclass(frozen=True)
class Strip:
    """Leaves out white space at the beginning, the end, or both.

    >>> Strip(strip_left=True, strip_right=False).normalize(AlignedText.of(" a ")).spans
    ((1, 2), (2, 3))
    """

    strip_left: bool
    strip_right: bool

    def __post_init__(self) -> None:
        """Raise `ParameterError` unless every flag is a bool."""
        check_flag("strip_left", self.strip_left)
        check_flag("strip_right", self.strip_right)

    def normalize(self, text: AlignedText) -> AlignedText:
        kept = self.normalize_text(text.text)
        if len(kept) == len(text.text):
            return text
        leading = len(text.text) - len(text.text.lstrip(white_space())) if self.strip_left else 0
        return text.transform([(character, 0) for character in kept], leading)

    def normalize_text(self, text: str) -> str:
        if self.strip_left:
            text = text.lstrip(white_space())
        return text.rstrip(white_space()) if self.strip_right else text

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return the two characters unless x may end sooner; see `components.Meeting`."""
        if left in white_space():
            return None
        alone = not self.strip_left or right not in white_space()
        return Meeting(frozenset(left), frozenset(right), alone=alone)


@dataclass(frozen=True)
class StripAccents:
    """Leaves out combining marks.

    >>> StripAccents().normalize(AlignedText.of("e\u0301a")).spans
    ((0, 1), (2, 3))
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        return without(text, one_of("COMBINING_MARKS"))

    def normalize_text(self, text: str) -> str:
        return text if text.isascii() else one_of("COMBINING_MARKS").sub("", text)
