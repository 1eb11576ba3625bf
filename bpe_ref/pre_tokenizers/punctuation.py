"""`Punctuation` and `BertPreTokenizer`: cut at every punctuation character.

Definition: `BertPreTokenizer` is `WhitespaceSplit`, then `Punctuation` with behavior `Isolated`.

Source: pre_tokenizers/punctuation.rs and bert.rs of Hugging Face tokenizers 0.23.3. Both have the
same classes of white space and punctuation: measured over all code points.

What the source leaves open: punctuation is general category P of an old
Unicode version, and the 32 punctuation and symbol characters of ASCII: `$` is
one, `€` is none. The table `tokenizers-punctuation` holds these 726.
"""

from dataclasses import dataclass
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.pre_tokenizers.character_classes import CharacterClass
from bpe_ref.pre_tokenizers.splitting import check_behavior, split
from bpe_ref.pre_tokenizers.whitespace import WhitespaceSplit

_PUNCTUATION: Final = CharacterClass("tokenizers-punctuation", "P")


@dataclass(frozen=True)
class Punctuation:
    """Cuts at punctuation.

    >>> Punctuation().cut_text("a, €$")
    ['a', ',', ' €', '$']
    """

    behavior: str = "Isolated"

    def __post_init__(self) -> None:
        """Refuse a behavior that does not exist."""
        check_behavior(self.behavior)

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces."""
        return split(text, _PUNCTUATION.find(text.text), self.behavior)

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the pieces' texts."""
        return _PUNCTUATION.cut(self.behavior, text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return whether a piece always ends between the characters; see `components.Meeting`."""
        return _PUNCTUATION.meeting(self.behavior, left, right)


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
