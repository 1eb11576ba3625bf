r"""`Whitespace` and `WhitespaceSplit`: drop white space, and cut words from symbols or not.

Definition
    `WhitespaceSplit`: the pieces are what lies between white space.
    `Whitespace`: the pieces are runs of word characters, and runs of what is
    neither a word character nor white space: `\w+|[^\w\s]+`.

Source: pre_tokenizers/whitespace.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open: white space is the property White_Space, 25 code
points, without U+001C to U+001F and U+200B. A word character is what the Rust
crate `regex` calls `\w`: letters, marks, decimal digits, letter numbers,
connectors such as `_`, and the joiners U+200C and U+200D, by Unicode 16.0.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.patterns.unicode_tables import EVERY_CODE_POINT, TABLES
from bpe_ref.pre_tokenizers.character_classes import CharacterClass, Search, search_for
from bpe_ref.pre_tokenizers.splitting import split

_SPACE: Final = CharacterClass("unicode-16.0", "White_Space")


@dataclass(frozen=True)
class Whitespace:
    """Cuts words, and what is between them, from each other; drops white space.

    >>> Whitespace().cut_text("don't  stop...")
    ['don', "'", 't', 'stop', '...']
    """

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces."""
        return [text.slice(start, end) for start, end in _runs().spans(text.text)]

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts."""
        return _runs().pieces(text)


@dataclass(frozen=True)
class WhitespaceSplit:
    """Cuts at white space and drops it.

    >>> WhitespaceSplit().cut_text("don't  stop...")
    ["don't", 'stop...']
    """

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces."""
        return split(text, _SPACE.find(text.text), "Removed")

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts."""
        return _SPACE.cut("Removed", text)


@lru_cache(maxsize=1)
def _runs() -> Search:
    table = TABLES["unicode-16.0"]
    word, space = table.code_points("word"), table.code_points("White_Space")
    return search_for("W+|X+", {"W": word, "X": EVERY_CODE_POINT ^ (word | space)})
