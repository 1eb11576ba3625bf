"""Long pieces: where they begin and end, and how they grow.

A text that is one long piece has no safe cuts. But most characters only make
its last piece longer (see `borders`), and a piece that grows by characters is a
row of bytes that grows (see `growing.encoders`).

A special token may end with the new character. It does not where no special
token has the last two characters next to each other, or is the last one alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bpe_ref.cutting.borders import BorderRule
from bpe_ref.cutting.surrogates import any_surrogate
from bpe_ref.cutting.whole import Ends, PieceCounter, Span
from bpe_ref.given_text import without_surrogates
from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder
from bpe_ref.vocabulary import Vocabulary

_FIRST_MARK: Final = "\u0300"


@dataclass(frozen=True)
class GrowingPieces:
    """What is known about long pieces of a tokenizer whose borders are known."""

    count: Callable[[str], int]
    special_spans: Callable[[str], Sequence[Span]]
    """Where the special tokens are in a text without surrogates."""

    specials: frozenset[str]
    special_pairs: frozenset[str]
    """Every two characters next to each other in some special token."""

    cut: Callable[[str], list[str]]
    """From text without special tokens to its pieces, normalized."""

    count_piece: Callable[[str], int]
    rule: BorderRule | None
    """None where there is no pattern, and all that is no special token is one piece."""

    normalized: bool
    vocabulary: Vocabulary

    def ends(self, text: str) -> Ends:
        """Return the last piece, and how many tokens are before it."""
        joined = without_surrogates(text)
        spans = self.special_spans(joined)
        pieces = self.cut(joined[spans[-1][1] if spans else 0 :])
        return self._ends(text, pieces[-1] if pieces and text.endswith(pieces[-1]) else "")

    def starts(self, text: str) -> Ends:
        """Return the first piece, and how many tokens are after it."""
        joined = without_surrogates(text)
        spans = self.special_spans(joined)
        pieces = self.cut(joined[: spans[0][0] if spans else len(joined)])
        return self._ends(text, pieces[0] if pieces and text.startswith(pieces[0]) else "")

    def joins_last(self, before: str, character: str) -> bool:
        """Return whether the character only makes the last piece longer."""
        if before[-1] + character in self.special_pairs or character in self.specials:
            return False
        if self.rule is not None:
            return self.rule.joins_last(before, character)
        return self._stays(before[-1] + character)

    def joins_first(self, character: str, after: str) -> bool:
        """Return whether the character only makes the first piece longer."""
        if character + after[0] in self.special_pairs or character in self.specials:
            return False
        if self.rule is not None:
            return self.rule.joins_first(character, after)
        return self._stays(character + after[0])

    def settled(self, text: str) -> int:
        """Return the last known place where counts add up, however the text goes on; or 0.

        The end of a special token is one if no special token that starts
        before it could still become a longer one. So is a border between two
        numbers, if no special token has both.
        """
        if without_surrogates(text) != text:
            return 0
        longest_special = max(map(len, self.specials), default=0)
        ends = [end for _, end in self.special_spans(text)]
        found = max((end for end in ends if end + longest_special <= len(text)), default=0)
        piece = self.ends(text).piece
        border = len(text) - len(piece)
        if piece and border > found and self.rule is not None:
            left, right = text[border - 1], text[border]
            in_special = left + right in self.special_pairs
            if not in_special and self.rule.is_settled(left, right):
                return border
        return found

    def appender(self) -> PieceCounter:
        """Return an empty piece to which text can be appended."""
        return _GrowingPiece(self.vocabulary, AppendEncoder(self.vocabulary), [])

    def prepender(self) -> PieceCounter:
        """Return an empty piece in front of which text can be put."""
        return _GrowingPiece(self.vocabulary, PrependEncoder(self.vocabulary), [])

    def _ends(self, text: str, piece: str) -> Ends:
        total = self.count(text)
        inside = self.count_piece(piece) if piece else 0
        return Ends(piece, total - inside, total)

    def _stays(self, characters: str) -> bool:
        if any_surrogate(characters):
            return False
        return not self.normalized or max(characters) < _FIRST_MARK


@dataclass(frozen=True)
class _GrowingPiece:
    """A piece in characters, over an encoder that counts bytes."""

    vocabulary: Vocabulary
    encoder: AppendEncoder | PrependEncoder
    sizes: list[int]
    """After each character: the number of bytes."""

    def __len__(self) -> int:
        return len(self.sizes)

    def push(self, text: str) -> None:
        """Add text, in its order."""
        backwards = isinstance(self.encoder, PrependEncoder)
        for character in reversed(text) if backwards else text:
            self.encoder.extend(character.encode())
            self.sizes.append(len(self.encoder))

    def truncate(self, length: int) -> None:
        """Keep as many characters."""
        del self.sizes[length:]
        self.encoder.truncate(self.sizes[-1] if self.sizes else 0)

    def count(self) -> int:
        """Return the number of tokens: one if the piece is a token and is taken whole."""
        if self.vocabulary.text.whole_piece and len(self.encoder) <= _longest(self.vocabulary):
            token = self.vocabulary.ids.get(self.encoder.piece.decode("latin-1"))
            if token is not None:
                return 1
        return self.encoder.token_count


def _longest(vocabulary: Vocabulary) -> int:
    return vocabulary.remember(_longest_token)


def _longest_token(vocabulary: Vocabulary) -> int:
    return max(map(len, vocabulary.tokens.values()), default=0)
