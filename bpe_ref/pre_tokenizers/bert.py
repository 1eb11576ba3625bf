"""`BertPreTokenizer`: drop white space, isolate punctuation.

Definition: `WhitespaceSplit`, then `Punctuation` with behavior `Isolated`.

Source: pre_tokenizers/bert.rs of Hugging Face tokenizers 0.23.3. Its classes of
white space and punctuation are those of the two other components: measured
over all code points.
"""

from dataclasses import dataclass
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.pre_tokenizers.punctuation import Punctuation
from bpe_ref.pre_tokenizers.whitespace import WhitespaceSplit

_WORDS: Final = WhitespaceSplit()
_PARTS: Final = Punctuation("Isolated")


@dataclass(frozen=True)
class BertPreTokenizer:
    """Cuts at white space, which it drops, and at punctuation.

    >>> BertPreTokenizer().cut_text("Hi, you!")
    ['Hi', ',', 'you', '!']
    """

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces."""
        return [part for word in _WORDS.cut(text) for part in _PARTS.cut(word)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts."""
        return [part for word in _WORDS.cut_text(text) for part in _PARTS.cut_text(word)]
