"""Places between characters that no merge can cross, where a model merges their bytes' letters.

Definition
    Between the characters x and y there is a border if there is one between the
    last letter of x and the first letter of y, written as bytes (`borders`).

What it is good for
    In scripts beyond Latin, most words of a text are new, or a whole clause is one
    piece, as nothing but punctuation separates anything. But the characters of a
    script are few, and few of them merge, so that the parts between borders
    come again and again.
"""

from itertools import pairwise
from operator import add
from typing import Final

from bpe_ref.models.borders import Borders
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE

MOST_PAIRS: Final = 1 << 16
"""How many pairs of characters are remembered."""


class CharacterBorders(dict[str, bool]):
    """From two characters to whether there is a border between them, found when first asked for.

    >>> vocab = {letter: id_ for id_, letter in enumerate("aÃ©®")}
    >>> CharacterBorders(Borders(vocab, ["Ã©", "©a"], falls_back=False)).cut("éaéîa")
    ['éa', 'é', 'î', 'a']
    """

    def __init__(self, borders: Borders) -> None:
        """Take the borders between letters."""
        super().__init__()
        self._borders: Final = borders

    def cut(self, text: str) -> list[str]:
        """Return the parts between all borders."""
        is_border = map(self.__getitem__, map(add, text, text[1:]))
        places = [place for place, border in enumerate(is_border, 1) if border]
        return [text[start:stop] for start, stop in pairwise((0, *places, len(text)))]

    def __missing__(self, pair: str) -> bool:
        """Look at the two letters where the characters meet."""
        left, right = pair[0].encode()[-1], pair[1].encode()[0]
        border = self._borders.is_border(LETTER_OF_BYTE[left], LETTER_OF_BYTE[right])
        if len(self) >= MOST_PAIRS:
            self.clear()
        self[pair] = border
        return border
