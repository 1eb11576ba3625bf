"""Remember what pieces encode to: ordinary text says the same words again and again.

The cache holds pieces only, never whole texts, and it is bounded twice: by the
number of pieces, and by the length of each. When it is full it is emptied;
a handful of words from the text at hand soon fill it with what is useful now,
and nothing has to be counted or reordered on the way.

Tokens are kept as tuples, which lie in memory as one block; a list is two.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, TypeVar

MOST_PIECES: Final = 1 << 16
LONGEST_PIECE: Final = 64  # characters; longer ones are rare and seldom come again


_Kept = TypeVar("_Kept")


class PieceCache(dict[str, tuple[_Kept, ...]]):
    """From piece to its tokens: ids, or more of each. Reading a key that is missing encodes it.

    >>> cache = PieceCache(lambda piece: [len(piece)])
    >>> cache.encode(["to", "be", "or", "to"]), sorted(cache)
    ([2, 2, 2, 2], ['be', 'or', 'to'])
    """

    def __init__(
        self, encode_piece: Callable[[str], Sequence[_Kept]], longest: int = LONGEST_PIECE
    ) -> None:
        """Remember the answers of `encode_piece`, for pieces of up to `longest` characters."""
        super().__init__()
        self._encode_piece = encode_piece
        self._longest = longest

    def __missing__(self, piece: str) -> tuple[_Kept, ...]:
        """Encode the piece, and remember it if it is short."""
        tokens = tuple(self._encode_piece(piece))
        if len(piece) <= self._longest:
            if len(self) >= MOST_PIECES:
                self.clear()
            self[piece] = tokens
        return tokens

    def encode(self, pieces: Sequence[str]) -> list[_Kept]:
        """Return the tokens of all the pieces, in order."""
        if len(pieces) == 1:  # a single word, twice as fast
            return list(self[pieces[0]])
        return list(chain.from_iterable(map(self.__getitem__, pieces)))
