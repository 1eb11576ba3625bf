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

Three ways to cut
    *Before one letter*, the one that most tokens begin with (in SentencePiece's
    vocabularies the mark of a space): fast, and good for ordinary text. Where
    that letter is joined to nothing before it but itself, and does not stand
    twice in a row, each of it has a border before it.
    *By kind*: letters that stand side by side in some token are of one kind, and
    so are two that are of one kind with a third. So there is a border between
    letters of different kinds. Nobody says what kinds there are, but in real
    vocabularies they turn out to be the Latin letters, the Cyrillic ones,
    punctuation, and little else; once the one letter is taken out, before which
    all words are cut anyway, and which stays with what follows it.
    *Everywhere*: letter by letter, the definition.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from operator import add
from typing import Final

from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE
from bpe_ref.vocabulary.merges import TokenId

MOST_PAIRS: Final = 1 << 16
"""How many pairs of characters are remembered."""
_MOST_KINDS: Final = 8  # as many are tried in turn, and the smallest ones are seldom seen


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
        self.joints = set(chain.from_iterable(map(add, token, token[1:]) for token in made))
        firsts = Counter(token[0] for token in made)
        self.letter = max(firsts, key=firsts.__getitem__, default="")
        befores = {joint[0] for joint in self.joints if joint[1] == self.letter}
        self._begins_words = bool(self.letter) and befores <= {self.letter}
        self._before = re.compile(self._before_letter(befores))
        self._by_kind = re.compile(self._of_one_kind())
        self._joined = frozenset(chain.from_iterable(self.joints))

    def cut_before_letter(self, text: str) -> list[str]:
        """Return the parts that begin with `letter`, without it; the first part as it is."""
        if self.known is None and self._begins_words and self.letter * 2 not in text:
            return text.split(self.letter)
        return self._before.split(text)

    def cut_by_kind(self, text: str) -> list[str]:
        """Return the parts between most of the borders, at little cost.

        Letters that are in no token with others stay together: see `is_unjoined`.

        >>> Borders({}, ["_ab", "_bc", "12"], falls_back=True).cut_by_kind("_abc1_2_xy1")
        ['_abc', '1', '_2', '_', 'xy', '1']
        """
        return self._by_kind.findall(text) if self.known is None else self.cut(text)

    def is_unjoined(self, part: str) -> bool:
        """Tell whether a part of `cut_by_kind` has a border wherever two letters meet.

        >>> Borders({}, ["ab"], falls_back=True).is_unjoined("xy")
        True
        """
        return self.known is None and part[0] not in self._joined

    def is_border(self, left: str, right: str) -> bool:
        """Tell whether there is a border between two letters.

        >>> Borders({}, ["ab"], falls_back=True).is_border("a", "b")
        False
        """
        if self.known is not None and not (left in self.known and right in self.known):
            return False
        return left + right not in self.joints

    def cut(self, text: str) -> list[str]:
        """Return the parts between all borders."""
        joints, known = self.joints, self.known
        places = [
            place for place, pair in enumerate(map(add, text, text[1:]), 1) if pair not in joints
        ]
        if known is not None:
            places = [at for at in places if text[at - 1] in known and text[at] in known]
        return [text[start:stop] for start, stop in pairwise((0, *places, len(text)))]

    def _before_letter(self, joined: set[str]) -> str:
        """Return a pattern for `letter` where there is a border before it."""
        letter = re.escape(self.letter)
        if not letter or (self.known is not None and self.letter not in self.known):
            return "(?!)"
        if self.known is None:
            others = "^" + "".join(map(re.escape, sorted(joined))) if joined else r"\s\S"
        else:
            others = "".join(map(re.escape, sorted(self.known - joined)))
        return f"{letter}(?<=[{others}]{letter})" if others else "(?!)"

    def _of_one_kind(self) -> str:
        """Return a pattern for a part of one kind, or of unjoined letters; together all text."""
        begins = self.letter if self._begins_words else ""
        inner = [joint for joint in self.joints if not begins or begins not in joint]
        kinds = _kinds(inner)
        kinds[_MOST_KINDS:] = [set(chain(*kinds[_MOST_KINDS:]))]  # one kind of all the small ones
        joined = set(chain.from_iterable(self.joints))
        alone = joined - {begins} - set(chain(*kinds))  # joined to `begins` only
        some = "|".join([*(f"{_one_of(kind)}+" for kind in kinds), _one_of(alone)])
        prefix = re.escape(begins)
        others = "".join(map(re.escape, sorted(joined)))
        unjoined = f"[^{others}]+" if joined else r"[\s\S]+"
        return f"{unjoined}|{prefix}*(?:{some})|{prefix}+" if begins else f"{unjoined}|{some}"


class CharacterBorders(dict[str, bool]):
    """From two characters to whether there is a border between them, found when first asked for.

    That is one between the last letter of the first and the first letter of the second, written as
    bytes. In scripts beyond Latin most words of a text are new, or a whole clause is one piece. But
    few of their characters merge, so that the parts between borders come again and again.

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


def _kinds(joints: Iterable[str]) -> list[set[str]]:
    """Return the sets of letters that are joined, directly or by way of others; largest first.

    >>> [sorted(kind) for kind in _kinds(["de", "ab", "cb"])]
    [['a', 'b', 'c'], ['d', 'e']]
    """
    beside: dict[str, set[str]] = {}
    for joint in joints:
        left, right = joint[0], joint[1]
        beside.setdefault(left, set()).add(right)
        beside.setdefault(right, set()).add(left)
    kinds: list[set[str]] = []
    while beside:
        kind: set[str] = set()
        waiting = {next(iter(beside))}
        while waiting:
            letter = waiting.pop()
            kind.add(letter)
            waiting |= beside.pop(letter, set())
        kinds.append(kind)
    return sorted(kinds, key=len, reverse=True)


def _one_of(letters: Iterable[str]) -> str:
    """Return a pattern for one of these letters."""
    inside = "".join(map(re.escape, sorted(letters)))
    return f"[{inside}]" if inside else "(?!)"
