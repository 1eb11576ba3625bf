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

    This requires symbols to be letters everywhere, so there are no borders
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
    all words are cut anyway, and which stays with what follows it. Finding them
    among hundreds of thousands of tokens takes as long as encoding many pages. So for
    text of ASCII, only this is looked for: whether its letters are of another kind than
    its other characters.
    *Everywhere*: letter by letter, the definition.

Runs
    Source code is indented. If all merges within runs of the one letter rank before
    all that join it with another one, such a run is merged before its ends can take
    part in anything. If it has become one token of two letters or more then, and no
    token has two of it beside another letter, nothing merges with that. So such a
    run has borders at both ends, and words are the same wherever they are indented.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from itertools import chain, pairwise
from operator import add
from struct import unpack_from
from typing import Final

from bpe_ref.vocabulary.merges import TokenId

MOST_PAIRS: Final = 1 << 16
"""How many pairs of characters are remembered."""
BETWEEN: Final = "\ud800"
"""A surrogate, which no text contains."""
FEW: Final = 1 << 19
"""Characters of tokens in which kinds of letters are found at once."""
_SOME: Final = 1 << 14  # characters; as many show what most tokens begin with
_ESCAPED: Final = 0xDC00  # plus a byte, how "surrogateescape" writes it
_MOST_KINDS: Final = 8  # as many are tried in turn, and the smallest ones are seldom seen


class Borders:
    """Where the pieces of a model may be cut.

    Attributes:
        letter: the one that `cut_before_letter` cuts before.

    >>> borders = Borders({"a": 0, "b": 1, "_": 2}, joined(["_a", "ab", "_ab"]), falls_back=False)
    >>> borders.letter, borders.cut_before_letter("_ab_b__a"), borders.cut("_aab_x")
    ('_', ['_ab', 'b', '', 'a'], ['_a', 'ab', '_x'])

    """

    def __init__(
        self,
        vocab: Mapping[str, TokenId],
        made: str,
        joints: Callable[[], set[str]] | None = None,
        longest_run: int = 0,
        *,
        falls_back: bool,
    ) -> None:
        """Take the vocabulary, and the tokens that merges make, `joined`.

        `joints` returns the pairs of letters where the halves of a merge meet. As halves are made
        of halves, no other letters come together. By default, all neighbours in a token count. Runs
        of 2 to `longest_run` of `letter` have borders at both ends.
        """
        self.known = None if falls_back else {token for token in vocab if len(token) == 1}
        self._find_joints: Final = joints or partial(_joints_in, made)
        self.letter = first_letter(made)
        self._befores = _befores(self.letter, made)
        self._begins_words = self._befores <= {self.letter}
        self._before = re.compile(self._before_letter())
        self._by_letters = None
        if falls_back and len(made) > FEW and _letters_are_apart(made):
            letter = re.escape(self.letter)
            run = f"{letter}{{2,{longest_run}}}(?!{letter})|" if longest_run else ""
            kinds = f"[a-zA-Z]+|[^a-zA-Z{letter}]+"
            self._by_letters = re.compile(run + self._with_letter(kinds))

    @cached_property
    def joints(self) -> set[str]:
        """The pairs of letters that come together."""
        return self._find_joints()

    @cached_property
    def _joined(self) -> frozenset[str]:
        return frozenset(chain.from_iterable(self.joints))

    def cut_before_letter(self, text: str) -> list[str]:
        """Return the parts that begin with `letter`, without it; the first part as it is."""
        if self.known is None and self._begins_words and self.letter * 2 not in text:
            return text.split(self.letter)
        return self._before.split(text)

    def cut_by_kind(self, text: str) -> list[str]:
        """Return the parts between most of the borders, at little cost.

        Letters that are in no token with others stay together: see `is_unjoined`.

        >>> made = joined(["_ab", "_bc", "12"])
        >>> Borders({}, made, falls_back=True).cut_by_kind("_abc1_2_xy1")
        ['_abc', '1', '_2', '_', 'xy', '1']
        """
        if self.known is not None:
            return self.cut(text)
        if self._by_letters is not None and text.replace(self.letter, "").isascii():
            return self._by_letters.findall(text)
        return self._by_kind.findall(text)

    def is_unjoined(self, part: str) -> bool:
        """Return whether a part of `cut_by_kind` has a border wherever two letters meet.

        Where only kinds of ASCII are known at once, of a part that ends with ASCII or `letter` it
        is not known. Merging that takes no longer.

        >>> Borders({}, joined(["ab"]), falls_back=True).is_unjoined("éè")
        True
        """
        plain = self._by_letters is not None and (part[-1].isascii() or part[-1] == self.letter)
        return self.known is None and not plain and part[0] not in self._joined

    def is_border(self, left: str, right: str) -> bool:
        """Return whether there is a border between two letters.

        >>> Borders({}, joined(["ab"]), falls_back=True).is_border("a", "b")
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

    def _before_letter(self) -> str:
        """Return a pattern for `letter` where there is a border before it."""
        letter, befores = re.escape(self.letter), self._befores
        if self.known is not None and self.letter not in self.known:
            return "(?!)"
        if self.known is None:
            others = "^" + "".join(map(re.escape, sorted(befores))) if befores else r"\s\S"
        else:
            others = "".join(map(re.escape, sorted(self.known - befores)))
        return f"{letter}(?<=[{others}]{letter})" if others else "(?!)"

    @cached_property
    def _by_kind(self) -> re.Pattern[str]:
        """A pattern for a part of one kind, or of unjoined letters; together all text."""
        kinds = _kinds(joint for joint in self.joints if self.letter not in joint)
        kinds[_MOST_KINDS:] = [set(chain(*kinds[_MOST_KINDS:]))]  # one kind of all the small ones
        if not self._joined:
            return re.compile(r"[\s\S]+")
        alone = self._joined - {self.letter} - set(chain(*kinds))  # joined to `letter` only
        some = "|".join([*(f"{_one_of(kind)}+" for kind in kinds), _one_of(alone)])
        return re.compile(f"[^{_one_of(self._joined)[1:]}+|{self._with_letter(some)}")

    def _with_letter(self, kinds: str) -> str:
        """Return a pattern for a part of some kind, with `letter` before it.

        A part may have `letter` after one of `_befores`, and then goes on with any kind.
        """
        before, letter = _one_of(self._befores - {self.letter}), re.escape(self.letter)
        return f"{letter}*(?:{kinds})(?:(?<={before}){letter}+(?:{kinds})?)*|{letter}+"


class CharacterBorders(dict[str, str]):
    """From two characters to the first of them, with a mark behind it if there is a border.

    Definition
        A piece starts as bytes, all of which are tokens. There is a border between the characters x
        and y if no token that a merge makes contains the end of x and the beginning of y side by
        side: all of x, or its last byte where the token begins inside it, and then all of y, or its
        first byte where the token ends inside it. For two characters of ASCII it is not looked for.

    Why it is one: a merge across it would make such a token. In scripts beyond Latin most words of
    a text are new, or a whole clause is one piece. But few of their characters merge with their
    neighbours, so that the parts between borders come again and again.

    >>> borders = CharacterBorders(["é".encode(), "éa".encode(), b"b" + "î".encode()[:1]])
    >>> borders.cut("éaéîbîa")
    ['éa', 'é', 'î', 'bî', 'a']
    """

    def __init__(self, made: Iterable[bytes]) -> None:
        """Take the tokens that merges make."""
        super().__init__()
        # Where a token has not all bytes of a character, each of them is read as one of its own.
        tokens = b"\0".join([token for token in made if not token.isascii()])
        text = "\0" + tokens.decode(errors="surrogateescape")
        units, size = text.encode("utf-32-le", "surrogatepass"), len(text)
        places = (size // 2, 0), ((size - 1) // 2, 4)
        self._joints: Final = {
            joint for count, at in places for joint in unpack_from(f"<{count}Q", units, at)
        }
        """The code points that are side by side: the left one, plus 2**32 times the right one."""

    def cut(self, text: str) -> list[str]:
        """Return the parts between all borders."""
        marked = "".join(map(self.__getitem__, map(add, text, text[1:])))
        return (marked + text[-1:]).split(BETWEEN)

    def __missing__(self, pair: str) -> str:
        """Look for tokens that the two characters may share."""
        left, right = pair[0], pair[1]
        last, end = ord(left), _ESCAPED + left.encode()[-1]
        first, start = ord(right) << 32, (_ESCAPED + right.encode()[0]) << 32
        joints = last + first, end + first, last + start, end + start
        is_border = not pair.isascii() and self._joints.isdisjoint(joints)
        marked = left + BETWEEN if is_border else left
        if len(self) >= MOST_PAIRS:
            self.clear()
        self[pair] = marked
        return marked


def joined(tokens: Iterable[str]) -> str:
    """Return tokens as one text, with `BETWEEN` before and behind each."""
    return BETWEEN.join(["", *tokens, ""])


def first_letter(made: str) -> str:
    """Return the letter that most tokens begin with.

    >>> first_letter(joined(["ab", "ac", "b"]))
    'a'
    """
    firsts = Counter(re.findall(f"{BETWEEN}([^{BETWEEN}])", made[:_SOME]))
    return max(firsts, key=firsts.__getitem__, default=BETWEEN)


def _befores(letter: str, made: str) -> set[str]:
    """Return what is before a letter in some token.

    >>> sorted(_befores("_", joined(["_a", "_b", "c_", "__"])))
    ['_', 'c']
    """
    letter = re.escape(letter)  # first, as `re` finds one letter fast
    return set(re.findall(f"{letter}(?<=([^{BETWEEN}]){letter})", made))


def _joints_in(made: str) -> set[str]:
    """Return the pairs of letters that are side by side in some token.

    >>> sorted(_joints_in(joined(["abc", "bcd"])))
    ['ab', 'bc', 'cd']
    """
    return {joint for joint in set(map(add, made, made[1:])) if BETWEEN not in joint}


def _letters_are_apart(made: str) -> bool:
    """Return whether no token has a letter of ASCII beside another character of ASCII.

    >>> _letters_are_apart(joined(["éa", "ab", "1.", "1é"])), _letters_are_apart(joined(["a1"]))
    (True, False)
    """
    others = r"[\x00-@\[-`{-\x7f]"  # first, as they are fewer than letters
    return not re.search(f"{others}(?:(?<=[a-zA-Z](?s:.))|(?=[a-zA-Z]))", made)


def _kinds(joints: Iterable[str]) -> list[set[str]]:
    """Return the sets of letters that are joined, directly or by way of others; largest first.

    >>> [sorted(kind) for kind in _kinds(["de", "ab", "cb"])]
    [['a', 'b', 'c'], ['d', 'e']]
    """
    beside: dict[str, set[str]] = defaultdict(set)
    for joint in joints:
        left, right = joint[0], joint[1]
        beside[left].add(right)
        beside[right].add(left)
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
