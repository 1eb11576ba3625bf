r"""Tokenizers that cut text into pieces by a known pattern, or not at all, and merge bytes.

Safe cuts
    With a pattern whose borders are known: its certain borders (see `borders`),
    for merges never cross pieces, whatever the model. Without a pattern: where
    no token has the two bytes left and right of the place next to each other,
    for then nothing merges across it (see `compatibility.joints`). With any
    other pattern: none.

    *Pieces that are taken whole.* A piece that is a token may be that token
    although merging would not make it. With a pattern that is a matter of each
    piece. Without one it is not: cutting may leave such a token alone, with
    the place at one of its ends. So then there is no safe cut behind its last
    character and before its first one (and none at all if text is normalized,
    which may change them).

    *A space in front.* Where one is put before every text that does not begin
    with one, a part is counted as it would be inside the text if it begins with
    a space. So only the places before a space are safe.

Special tokens
    They must not reach over the place, now or later: so wherever some special
    token has these two characters next to each other, nothing is sure. At both
    ends of a special token that is there, the text is cut; but a special token
    elsewhere may take a part of it away, as long as the text grows. So these
    ends are no safe cuts, but *settled* ones once the longest special token
    could not begin there any more.

    Some take the white space before (behind) them. A run of white space that
    begins (ends) at the place has all of it on one side, so that this can
    change nothing on the other one. What else there is: white space left of the
    place, which a token on the right may take; and white space right of it,
    with a token that takes it, or more white space, on the left.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from bpe_ref.cutting.borders import BorderRule
from bpe_ref.cutting.kinds import BLANKS, LINE_ENDS, kinds_of
from bpe_ref.cutting.long_pieces import GrowingPieces
from bpe_ref.cutting.surrogates import any_surrogate, in_the_original
from bpe_ref.cutting.whole import LongPieces, Span
from bpe_ref.given_text import without_surrogates
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations, joints

_FIRST_MARK: Final = "\u0300"
_WHITE: Final = BLANKS + LINE_ENDS


@dataclass(frozen=True)
class SpecialTokens:
    """The special tokens of a tokenizer: what is known of all, and where those of a text are."""

    texts: frozenset[str]

    spans: Callable[[str], Sequence[Span]]
    """Where they are in a text without surrogates, in order."""

    take_before: bool = False
    """Whether some take the white space before them."""

    take_behind: frozenset[str] = frozenset()
    """Those that take the white space behind them."""

    def pairs(self) -> frozenset[str]:
        """Return every two characters next to each other in some special token.

        >>> sorted(SpecialTokens(frozenset({"<a>"}), lambda text: []).pairs())
        ['<a', 'a>']
        """
        return frozenset(a + b for text in self.texts for a, b in pairwise(text))


@dataclass(frozen=True)
class Pieces:
    """How text without special tokens becomes pieces, and pieces tokens."""

    cut: Callable[[str], list[str]]
    """From text to its pieces, normalized."""

    count: Callable[[str], int]
    """From a piece to the number of its tokens."""

    rule: BorderRule | None
    """What is known of the borders; None without a pattern, or if nothing is known."""

    patterned: bool
    normalized: bool

    vocabulary: Vocabulary | None
    """What merges the bytes of a piece; None if nothing is known about that."""

    prefix: Literal["", " "] = ""
    """What is put before every text that does not begin with it."""


@dataclass(frozen=True)
class CountedByPieces:
    """A tokenizer of which the module tells what is sure."""

    counts: Callable[[str], int]
    specials: SpecialTokens
    special_pairs: frozenset[str]
    pieces: Pieces
    longest: int | None
    rest_is_alone: bool = True

    def count(self, text: str) -> int:
        """Return the number of tokens of the text alone."""
        return self.counts(text)

    def count_rest(self, text: str) -> int:
        """Return the same."""
        return self.counts(text)

    def unbreakable(self, text: str) -> Sequence[Span]:
        """Return where the special tokens and the surrogate pairs are."""
        return in_the_original(text, self.specials.spans(without_surrogates(text)))

    def is_safe_cut(self, before: str, left: str, right: str) -> bool:
        """Return whether counts add up between two characters, see the module."""
        pieces = self.pieces
        if left + right in self.special_pairs or not right.startswith(pieces.prefix):
            return False
        if self._is_taken(left, right):
            return False
        if pieces.rule is not None:
            return pieces.rule.is_certain(before, left, right)
        if pieces.patterned or pieces.vocabulary is None or any_surrogate(left + right):
            return False
        if pieces.normalized and max(left, right) >= _FIRST_MARK:
            return False
        firsts, lasts = pieces.vocabulary.remember(_ends_of_dead_tokens)
        if left in lasts or right in firsts or (firsts and pieces.normalized):
            return False
        seam = left.encode()[-1:] + right.encode()[:1]
        return seam.decode("latin-1") not in pieces.vocabulary.remember(joints)

    @property
    def long_pieces(self) -> LongPieces | None:
        """What is known about long pieces: of known patterns, and without a pattern."""
        pieces, specials = self.pieces, self.specials
        if pieces.vocabulary is None or (pieces.rule is None and pieces.patterned):
            return None
        if pieces.prefix or specials.take_before or specials.take_behind:
            return None
        return GrowingPieces(
            self.counts,
            specials.spans,
            specials.texts,
            self.special_pairs,
            pieces.cut,
            pieces.count,
            pieces.rule,
            pieces.normalized,
            pieces.vocabulary,
        )

    def _is_taken(self, left: str, right: str) -> bool:
        """Return whether white space beside the place may belong to a special token beyond it."""
        specials = self.specials
        if specials.take_before and _is_white(left):
            return True
        return (
            bool(specials.take_behind)
            and _is_white(right)
            and (_is_white(left) or any(text[-1] == left for text in specials.take_behind))
        )


def _is_white(character: str) -> bool:
    return kinds_of("unicode-16.0")[character] in _WHITE


def _ends_of_dead_tokens(vocabulary: Vocabulary) -> tuple[frozenset[str], frozenset[str]]:
    """Return first and last characters of the tokens that merging does not make, if taken whole.

    Only those that are text can be a whole piece.
    """
    if not vocabulary.text.whole_piece:
        return frozenset(), frozenset()
    made = set(vocabulary.remember(build_derivations).ids)
    dead: list[str] = []
    for token, content in vocabulary.tokens.items():
        if token not in made:
            with suppress(UnicodeDecodeError):
                dead.append(content.decode())
    return frozenset(text[0] for text in dead), frozenset(text[-1] for text in dead)
