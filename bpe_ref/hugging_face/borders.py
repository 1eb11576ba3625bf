"""Places in a long piece that no merge can cross, so that its parts can be encoded one by one.

Definition
    Between the letters x and y there is a border if both are tokens, and no token
    that a merge makes has x and y side by side.

Why the parts' tokens are the piece's
    A merge across the border would join a token that ends with x to one that
    begins with y, as letters only ever come together in the order of the text; so
    it would make a token in which x and y stand side by side. There is none.
    As no merge crosses, each side merges as if it were alone: what is lowest and
    leftmost among the pairs of one side does not depend on the other. And as x
    and y are tokens themselves, no unknown token is waiting at the border, and
    nothing vanished there.

    A letter that is no token becomes bytes, if the model has the tokens of all 256
    (`falls_back`). If none of those can merge, such a letter has borders on both
    sides: then every letter counts as a token, and there is no unknown token.

    That needs symbols to be letters wherever they stand, so there are no borders
    where the model has a prefix or a suffix; nor with `ignore_merges`, which
    would take a part for a whole; nor with dropout.

Two ways to cut
    *Before one letter*, the one that most tokens begin with (in SentencePiece's
    vocabularies the mark of a space): fast, and good for ordinary text.
    *Everywhere*: letter by letter, for the stretches that are still long.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import add

from bpe_ref.merges import TokenId


class Borders:
    """Where the pieces of a model may be cut.

    Attributes:
        letter: the one that `cut_before_letter` cuts before.

    >>> borders = Borders({"a": 0, "b": 1, "_": 2}, ["_a", "ab", "_ab"], falls_back=False)
    >>> borders.letter, borders.cut_before_letter("_ab_b__a"), borders.cut("_aab_x")
    ('_', ['_ab', 'b', '', 'a'], ['_a', 'ab', '_x'])

    """

    def __init__(
        self, vocab: Mapping[str, TokenId], made: Sequence[str], *, falls_back: bool
    ) -> None:
        """Take the vocabulary, and the tokens that merges make."""
        self.known = None if falls_back else {token for token in vocab if len(token) == 1}
        self.joints = {token[at : at + 2] for token in made for at in range(len(token) - 1)}
        firsts = Counter(token[0] for token in made)
        self.letter = max(firsts, key=firsts.__getitem__, default="")
        self._before = re.compile(self._pattern())

    def _pattern(self) -> str:
        """Return a pattern for `letter` where there is a border before it."""
        letter = re.escape(self.letter)
        joined = {joint[0] for joint in self.joints if joint[1] == self.letter}
        if not letter or (self.known is not None and self.letter not in self.known):
            return "(?!)"
        if self.known is None:
            others = "^" + "".join(map(re.escape, sorted(joined))) if joined else r"\s\S"
        else:
            others = "".join(map(re.escape, sorted(self.known - joined)))
        return f"{letter}(?<=[{others}]{letter})" if others else "(?!)"

    def cut_before_letter(self, text: str) -> list[str]:
        """Return the parts that begin with `letter`, without it; the first part as it is."""
        return self._before.split(text)

    def cut(self, text: str) -> list[str]:
        """Return the parts between all borders."""
        joints, known = self.joints, self.known
        places = [
            place for place, pair in enumerate(map(add, text, text[1:]), 1) if pair not in joints
        ]
        if known is not None:
            places = [at for at in places if text[at - 1] in known and text[at] in known]
        return [text[start:stop] for start, stop in pairwise((0, *places, len(text)))]
