"""The ids of pieces, merged part by part where no merge crosses, and remembered.

Definition: those of the model, where symbols are characters wherever they stand,
no piece is taken whole, and nothing is drawn.

The quick way
    A piece as short as a line is cut by kind of letter, and the parts are looked up.
    A longer one may be a whole text, if nothing cut it before. It is cut
    before the letter that most tokens begin with. Of these words, most were seen
    before. A new one that has more than a few letters is cut once more, by kind.
    In what is new even then, and longer than a piece that can be remembered, all
    borders are looked for.

Why this is the same answer: no merge crosses a border (see `borders`), so the
ids of a piece are those of its parts, in order, wherever it is cut at borders.
"""

from collections.abc import Callable
from itertools import chain
from typing import Final

from bpe_ref.models.borders import Borders, CharacterBorders
from bpe_ref.models.piece_cache import LONGEST_PIECE, PieceCache
from bpe_ref.vocabulary.merges import TokenId

_WHOLE: Final = 5  # letters; looking for borders in shorter parts costs more than it saves
_LONGEST_PART: Final = 2 * LONGEST_PIECE  # rules drawn with hyphens are as long as a line


class Partwise:
    """Encodes pieces part by part.

    >>> from bpe_ref.models.borders import joined
    >>> borders = Borders({"a": 0, "b": 1, "ab": 2}, joined(["ab"]), falls_back=False)
    >>> Partwise(lambda part: [len(part)], borders).ids("abbab")
    [2, 1, 2]
    """

    def __init__(self, merge: Callable[[str], list[TokenId]], borders: Borders) -> None:
        """Start with nothing seen; `merge` returns the ids of a part in one go."""
        self._merge: Final = merge
        self._borders: Final = borders
        self._heads: Final = PieceCache(self._word)
        self._words: Final = PieceCache(lambda tail: self._word(borders.letter + tail))
        self._parts: Final = PieceCache(self._part, _LONGEST_PART)

    def ids(self, piece: str) -> list[TokenId]:
        """Return the ids of a piece."""
        if len(piece) <= _LONGEST_PART:
            return self._parts.encode(self._borders.cut_by_kind(piece))
        # All words but the first begin with the same letter, so they are kept without it.
        head, *tails = self._borders.cut_before_letter(piece)
        words = chain.from_iterable(map(self._words.__getitem__, tails))
        return [*self._heads[head], *words] if head else list(words)

    def _word(self, word: str) -> list[TokenId]:
        """Return the ids of a word, which may still be long."""
        if len(word) <= _WHOLE:
            return self._merge(word)
        parts = self._borders.cut_by_kind(word)
        return self._parts.encode(parts) if len(parts) > 1 else self._part(word)

    def _part(self, part: str) -> list[TokenId]:
        """Return the ids of a part of letters of one kind."""
        if len(part) > 1 and self._borders.is_unjoined(part):
            return self._parts.encode(part)
        if len(part) > _LONGEST_PART:
            parts = self._borders.cut(part)
            if len(parts) > 1:
                return self._parts.encode(parts)
        return self._merge(part)


def parts_of_text(
    merge: Callable[[str], list[TokenId]], borders: CharacterBorders
) -> Callable[[str], list[TokenId]]:
    """Return what encodes pieces whose symbols are the bytes of text, part by part.

    >>> parts_of_text(lambda part: [len(part)], CharacterBorders(["éa".encode()]))("éaéa")
    [2, 2]
    """
    parts = PieceCache(merge)
    return lambda piece: parts.encode(borders.cut(piece))
