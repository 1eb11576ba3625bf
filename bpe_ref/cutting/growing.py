"""A text that grows at one of its ends, counted and its number of tokens at any moment.

    The count after each character is that of the text so far, encoded alone.

Counts fall as well as rise: " d" after a word may turn two tokens into one, and the last character
of a special token turns all of its tokens into one.

How
    Behind the last safe cut (see `safe_cuts`) the text is counted anew with every character, before
    it nothing changes any more. In ordinary text there is a safe cut at nearly every word, so this
    takes constant time. Where a text is one long piece it would take quadratic time; so a piece of
    `LONG` characters or more grows in place, as long as what is added only makes it longer
    (`long_pieces`). If no safe cuts are known, all is counted anew.

Representation
    One `_State` for each number of characters; to shorten the text is to forget the last ones.
"""

from dataclasses import dataclass

from bpe_ref.cutting.counting import checked_counter
from bpe_ref.cutting.long_pieces import LONG, REACH, PieceCounter
from bpe_ref.cutting.safe_cuts import TextCounter
from bpe_ref.parameters import check_character, check_index, check_text


@dataclass(frozen=True, slots=True)
class _State:
    """What is known about the text after some number of characters."""

    cut: int = 0
    """The last settled cut, in characters from where the text began to grow."""

    beyond: int = 0
    """The number of tokens on its far side, where nothing changes any more.

    That is before the cut; or behind it, if the text grows at its front.
    """

    beside: int = 0
    """The number of tokens between there and the piece that grows."""

    piece: int = 0
    """The length of the piece that grows, in characters; 0 if it is not known."""

    count: int = 0


class _Growth:
    """What both directions share. `characters` are in the order in which they came."""

    forwards: bool

    def __init__(self, counter: TextCounter, *, added: int = 0) -> None:
        self.counter = checked_counter(counter)
        self.added = added
        self.characters: list[str] = []
        self.states = [_State()]
        self.growing: PieceCounter | None = None
        self.growing_from = 0  # where, in `characters`, the growing piece begins

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self.characters)

    @property
    def text(self) -> str:
        """The text so far, in its order."""
        return self._text_from(0)

    @property
    def count(self) -> int:
        """The number of tokens of the text so far, encoded alone."""
        return self.states[-1].count + self.added

    def push(self, character: str) -> None:
        """Add one character. Raises `ParameterError`, and whatever the tokenizer raises."""
        check_character("character", character)
        self.characters.append(character)
        try:
            state = self._next_state()
        except BaseException:
            self.characters.pop()
            raise
        self.states.append(state)

    def extend(self, text: str) -> None:
        """Add text, given in its order, one character after the other."""
        check_text("text", text)
        for character in text if self.forwards else reversed(text):
            self.push(character)

    def truncate(self, length: int) -> None:
        """Keep the first `length` characters added. Raises `ParameterError` if there are fewer."""
        check_index("length", length, len(self.characters))
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
        if len(tail) < LONG or self.counter.long_pieces is None:
            left = self._left_of(cut) if self.forwards else ""
            return _State(cut, beyond, count=beyond + self.counter.count_after(left, tail))
        return self._state_of_long(tail, cut, beyond)

    def _safe_cut(self) -> int | None:
        """Return the newest place if it is a safe cut, as its distance from the far end."""
        characters = self.characters
        if len(characters) < 2:
            return None
        newest, before = characters[-1], characters[-2]
        left, right = (before, newest) if self.forwards else (newest, before)
        return len(characters) - 1 if self.counter.is_safe_cut(left, right) else None

    def _beyond(self, place: int) -> int:
        """Return the number of tokens on the far side of a safe cut."""
        left, right = self.characters[place], self.characters[place - 1]
        if self.forwards or self.counter.counts_alone(left, right):
            return self.states[place].count
        last = self.states[place]
        return last.beyond + self.counter.count_after(left, self._text_from(last.cut, place))

    def _left_of(self, cut: int) -> str:
        """Return the character before a safe cut; "" before a settled place, see `settled`."""
        if not cut:
            return ""
        left, right = self.characters[cut - 1 : cut + 1]
        return left if self.counter.is_safe_cut(left, right) else ""

    def _text_from(self, cut: int, end: int | None = None) -> str:
        grown = self.characters[cut:end]
        return "".join(grown if self.forwards else reversed(grown))

    def _joins(self, piece: int) -> bool:
        """Return whether the newest character only makes the growing piece longer."""
        near = self.characters[-1 - min(REACH, piece) : -1]
        long = self.counter.long_pieces
        return long is not None and long.joins(near, self.characters[-1], forwards=self.forwards)

    def _grown(self, piece: int) -> PieceCounter:
        """Return the growing piece with the newest character.

        Built anew where the text was shortened beyond the piece's beginning;
        else only what is missing is added.
        """
        begin = len(self.characters) - 1 - piece
        counter = self.growing
        if counter is None or self.growing_from != begin:
            assert self.counter.long_pieces is not None  # noqa: S101 - `_joins` said so
            counter = self.counter.long_pieces.piece_counter(forwards=self.forwards)
            self.growing, self.growing_from = counter, begin
        counter.truncate(min(len(counter), piece))
        missing = self.characters[begin + len(counter) :]
        counter.push("".join(missing if self.forwards else reversed(missing)))
        return counter

    def _state_of_long(self, tail: str, cut: int, beyond: int) -> _State:
        long = self.counter.long_pieces
        assert long is not None  # noqa: S101 - asked by the caller
        if not self.forwards:
            first = long.end_piece(tail, forwards=False)
            return _State(cut, beyond, first.others, len(first.piece), beyond + first.total)
        settled = long.settled(tail)
        before = self.counter.count(tail[:settled])
        last = long.end_piece(tail[settled:], forwards=True)
        beyond += before
        return _State(cut + settled, beyond, last.others, len(last.piece), beyond + last.total)


class AppendCounter(_Growth):
    """The number of tokens of a text to which characters are appended.

    Args:
        counter: counts texts; see `safe_cuts.counter_of`.
        added: the number of tokens that a template adds.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> from bpe_ref.cutting.safe_cuts import counter_of
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> counter = AppendCounter(counter_of(tokenizer_of(vocabulary)))
    >>> counter.extend("aab")
    >>> counter.count, counter.text
    (2, 'aab')
    >>> counter.truncate(2)
    >>> counter.count
    2

    """

    forwards = True


class PrependCounter(_Growth):
    """The number of tokens of a text in front of which characters are put.

    >>> from bpe_ref import tokenizer_of, vocabulary_by_concatenation
    >>> from bpe_ref.cutting.safe_cuts import counter_of
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
    >>> counter = PrependCounter(counter_of(tokenizer_of(vocabulary)))
    >>> counter.extend("bb")
    >>> counter.push("a")
    >>> counter.count, counter.text
    (2, 'abb')
    """

    forwards = False
