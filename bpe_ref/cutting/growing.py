"""A text that grows at one of its ends, counted by a whole tokenizer at any moment.

    The count after each character is that of the text so far, encoded alone.

Counts fall as well as rise: " d" after a word may turn two tokens into one, and
the last character of a special token turns all of its tokens into one.

How
    Behind the last safe cut (see `whole`) the text is counted anew with every
    character, before it nothing changes any more. In ordinary text there is a
    safe cut at nearly every word, so this takes constant time. Where a text is
    one long piece it would take quadratic time; so a piece of `LONG` characters
    or more grows in place, as long as what is added only makes it longer
    (`LongPieces`). What is known of no safe cuts is counted from scratch.
    What stands behind a safe cut is counted as a rest (see `whole`).

Representation
    One `_State` for each number of characters; to shorten the text is to
    forget the last ones.
"""

from dataclasses import dataclass
from typing import Final

from bpe_ref.cutting.borders import REACH
from bpe_ref.cutting.counting import checked_text, count_part
from bpe_ref.cutting.whole import LongPieces, PieceCounter, Whole
from bpe_ref.errors import ParameterError

LONG: Final = 64
"""Pieces of so many characters grow in place; shorter ones are counted anew as fast."""


@dataclass(frozen=True, slots=True)
class _State:
    """What is known about the text after some number of characters."""

    cut: int = 0
    """The last settled cut, in characters from where the text began to grow."""

    beyond: int = 0
    """The number of tokens on its far side, where nothing changes any more.

    In front of the text that is before the cut; behind it, where the text grows at its front, as a
    rest.
    """

    beside: int = 0
    """The number of tokens between there and the piece that grows."""

    piece: int = 0
    """The length of the piece that grows, in characters; 0 if it is not known."""

    count: int = 0


class AppendCounter:
    """The number of tokens of a text to which characters are appended.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> from bpe_ref.cutting.pipelines import whole_of
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> counter = AppendCounter(whole_of(tokenizer_of(vocabulary)))
    >>> counter.extend("aab")
    >>> counter.count, counter.text
    (2, 'aab')
    >>> counter.truncate(2)
    >>> counter.count
    2
    """

    def __init__(self, whole: Whole, *, alone: bool = True, added: int = 0) -> None:
        """Start with the empty text; not `alone` for one that begins at a safe cut.

        `added` is the number of tokens that a template adds.
        """
        self._whole = whole
        self._added = added
        self._growth = _Growth(whole, forwards=True, alone=alone)

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self._growth.characters)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._growth.characters)

    @property
    def count(self) -> int:
        """The number of tokens of the text so far, encoded alone."""
        return self._growth.states[-1].count + self._added

    def push(self, character: str) -> None:
        """Append one character. Raises `ParameterError`, and whatever the tokenizer raises."""
        self._growth.push(character)

    def extend(self, text: str) -> None:
        """Append characters, one after the other."""
        for character in checked_text(text):
            self.push(character)

    def truncate(self, length: int) -> None:
        """Keep the first `length` characters only. Raises `ParameterError` if there are fewer."""
        self._growth.truncate(length)


class PrependCounter:
    """The number of tokens of a text in front of which characters are put.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> from bpe_ref.cutting.pipelines import whole_of
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> counter = PrependCounter(whole_of(tokenizer_of(vocabulary)))
    >>> counter.extend("bb")
    >>> counter.push("a")
    >>> counter.count, counter.text
    (2, 'abb')
    """

    def __init__(self, whole: Whole) -> None:
        """Start with the empty text."""
        self._growth = _Growth(whole, forwards=False)

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self._growth.characters)

    @property
    def text(self) -> str:
        """The text so far, in its order."""
        return "".join(reversed(self._growth.characters))

    @property
    def count(self) -> int:
        """The number of tokens of the text so far, encoded alone."""
        return self._growth.states[-1].count

    @property
    def count_as_rest(self) -> int:
        """The number of its tokens if it begins at a safe cut of a longer text."""
        return self._growth.count_as_rest()

    def push(self, character: str) -> None:
        """Put one character in front. Raises `ParameterError`, and what the tokenizer raises."""
        self._growth.push(character)

    def extend(self, text: str) -> None:
        """Put text in front, given in its order."""
        for character in reversed(checked_text(text)):
            self.push(character)

    def truncate(self, length: int) -> None:
        """Keep the last `length` characters only. Raises `ParameterError` if there are fewer."""
        self._growth.truncate(length)


class _Growth:
    """Both directions. `characters` are in the order in which they came."""

    def __init__(self, whole: Whole, *, forwards: bool, alone: bool = True) -> None:
        self.whole = whole
        self.forwards = forwards
        self.alone = alone
        self.long: LongPieces | None = whole.long_pieces
        self.characters: list[str] = []
        self.states = [_State()]
        self.growing: PieceCounter | None = None
        self.growing_from = 0  # where, in `characters`, the growing piece begins

    def push(self, character: str) -> None:
        if not isinstance(character, str) or len(character) != 1:
            raise ParameterError("character", character, "must be a single character")
        self.characters.append(character)
        try:
            state = self._next_state()
        except BaseException:
            self.characters.pop()
            raise
        self.states.append(state)

    def truncate(self, length: int) -> None:
        if type(length) is not int or not 0 <= length <= len(self.characters):
            requirement = f"must be an int in [0, {len(self.characters)}]"
            raise ParameterError("length", length, requirement)
        del self.characters[length:]
        del self.states[length + 1 :]
        if self.growing is not None:
            kept = max(0, length - self.growing_from)
            self.growing.truncate(min(len(self.growing), kept))

    def _next_state(self) -> _State:
        """Return the state after the character that was just added."""
        last = self.states[-1]
        cut, beyond = last.cut, last.beyond
        place = self._safe_cut()
        if place is not None and place > cut:
            beyond = self._beyond(place)
            cut = place
        elif last.piece >= LONG and self._joins(last.piece):
            counter = self._grown(last.piece)
            count = beyond + last.beside + counter.count()
            return _State(cut, beyond, last.beside, last.piece + 1, count)
        tail = self._text_from(cut)
        if len(tail) < LONG or self.long is None:
            alone = self.alone and (not self.forwards or cut == 0)
            return _State(cut, beyond, count=beyond + count_part(self.whole, tail, alone=alone))
        return self._state_of_long(tail, cut, beyond)

    def _safe_cut(self) -> int | None:
        """Return the newest place that is a safe cut, as its distance from the far end.

        In front, the character before the two beside the place must be there
        already: it may matter, and it comes last.
        """
        characters = self.characters
        at = len(characters)
        if self.forwards:
            if at < 2:
                return None
            before = characters[at - 3] if at > 2 else ""
            left, right, place = characters[at - 2], characters[at - 1], at - 1
        else:
            if at < 3:
                return None
            before, left, right = characters[at - 1], characters[at - 2], characters[at - 3]
            place = at - 2
        return place if self.whole.is_safe_cut(before, left, right) else None

    def _beyond(self, place: int) -> int:
        """Return the number of tokens on the far side of a safe cut."""
        if self.forwards or self.whole.rest_is_alone:
            return self.states[place].count
        last = self.states[place]
        return last.beyond + self.whole.count_rest(self._text_from(last.cut, place))

    def count_as_rest(self) -> int:
        """Return what `_beyond` would be if there were a safe cut at the near end."""
        return self._beyond(len(self.characters))

    def _text_from(self, cut: int, end: int | None = None) -> str:
        grown = self.characters[cut:end]
        return "".join(grown if self.forwards else reversed(grown))

    def _joins(self, piece: int) -> bool:
        """Return whether the newest character only makes the growing piece longer."""
        near = self.characters[-1 - min(REACH, piece) : -1]
        if self.long is None:
            return False
        if self.forwards:
            return self.long.joins_last("".join(near), self.characters[-1])
        return self.long.joins_first(self.characters[-1], "".join(reversed(near)))

    def _grown(self, piece: int) -> PieceCounter:
        """Return the growing piece with the newest character.

        Built anew where the text was shortened beyond the piece's beginning;
        else only what is missing is added.
        """
        begin = len(self.characters) - 1 - piece
        counter = self.growing
        if counter is None or self.growing_from != begin:
            assert self.long is not None  # noqa: S101 - `_joins` said so
            counter = self.long.appender() if self.forwards else self.long.prepender()
            self.growing, self.growing_from = counter, begin
        counter.truncate(min(len(counter), piece))
        missing = self.characters[begin + len(counter) :]
        counter.push("".join(missing if self.forwards else reversed(missing)))
        return counter

    def _state_of_long(self, tail: str, cut: int, beyond: int) -> _State:
        assert self.long is not None  # noqa: S101 - asked by the caller
        if not self.forwards:
            first = self.long.starts(tail)
            return _State(cut, beyond, first.others, len(first.piece), beyond + first.total)
        settled = self.long.settled(tail)
        before = self.whole.count(tail[:settled])
        last = self.long.ends(tail[settled:])
        beyond += before
        return _State(cut + settled, beyond, last.others, len(last.piece), beyond + last.total)
