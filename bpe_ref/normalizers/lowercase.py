"""`Lowercase`: every capital on its own becomes its small letter.

Source: normalizers/utils.rs of Hugging Face tokenizers 0.23.3, `char::to_lowercase` of the Rust
standard library, which follows Unicode 17.0: 1,488 capitals.

What the source leaves open
    *Context*: none is looked at. A capital sigma at the end of a word becomes
    `\u03c3`, where Python's `str.lower` writes `\u03c2`. *Lengths*: only U+0130 becomes two
    characters, `i` and U+0307.
"""

from dataclasses import dataclass

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.normalizers.normalizer_tables import lowercase_table
from bpe_ref.normalizers.rewriting import rewritten


def lowercase(text: str) -> str:
    """Return the text in small letters.

    >>> lowercase("\u039f\u03a3") == "\u03bf\u03c3"
    True
    """
    return text.lower() if text.isascii() else text.translate(lowercase_table())


@dataclass(frozen=True)
class Lowercase:
    """Small letters.

    >>> Lowercase().normalize(AlignedText.of("\u0130B")).spans
    ((0, 1), (0, 1), (1, 2))
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text in small letters."""
        if not text.starts_with_insertion and lowercase(text.text) == text.text:
            return text
        return rewritten(text, lowercase)

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return lowercase(text)

    def meeting(self, left: str, right: str) -> Meeting:
        """Return what the two characters become; see `components.Meeting`."""
        return Meeting(frozenset(lowercase(left)[-1]), frozenset(lowercase(right)[0]))
