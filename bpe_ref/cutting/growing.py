"""A text to which characters are appended, and its number of tokens at any moment.

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
from bpe_ref.cutting.long_pieces import LONG, REACH, LongPieces, PieceCounter
from bpe_ref.cutting.safe_cuts import TextCounter
from bpe_ref.parameters import check_character, check_index, check_text


@dataclass(frozen=True, slots=True)
class _State:
    """What is known about the text after some number of characters."""

    cut: int = 0
    """The last settled cut: nothing before it changes any more."""

    before: int = 0
    """The number of tokens before it."""

    beside: int = 0
    """The number of tokens between there and the piece that grows."""

    piece: int = 0
    """The length of the piece that grows, in characters; 0 if it is not known."""

    count: int = 0


class AppendCounter:
    """The number of tokens of a text to which characters are appended.

    `counter` counts texts; see `safe_cuts.counter_of`.

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

    def __init__(self, counter: TextCounter) -> None:
        self._counter = checked_counter(counter)
        self._characters: list[str] = []
        self._states = [_State()]
        self._growing: PieceCounter | None = None
        self._growing_from = 0  # where the growing piece begins

    def __repr__(self) -> str:
        """Return the numbers of characters and tokens."""
        return f"<AppendCounter, {len(self)} characters, {self.count} tokens>"

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self._characters)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._characters)

    @property
    def count(self) -> int:
        """The number of tokens of the text so far, encoded alone."""
        return self._states[-1].count + self._counter.added

    def push(self, character: str) -> None:
        """Append one character. Raises `ParameterError`, and whatever the tokenizer raises."""
        check_character("character", character)
        self._characters.append(character)
        try:
            state = self._next_state()
        except BaseException:
            self._characters.pop()
            raise
        self._states.append(state)

    def extend(self, text: str) -> None:
        """Append text, one character after the other."""
        check_text("text", text)
        for character in text:
            self.push(character)

    def truncate(self, length: int) -> None:
        """Keep the first `length` characters. Raises `ParameterError` if there are fewer."""
        check_index("length", length, len(self._characters))
        del self._characters[length:]
        del self._states[length + 1 :]
        if self._growing is not None:
            kept = max(0, length - self._growing_from)
            self._growing.truncate(min(len(self._growing), kept))

    def _next_state(self) -> _State:
        """Return the state after the character that was just appended."""
        last, place = self._states[-1], len(self._characters) - 1
        cut, before = last.cut, last.before
        if place > cut and self._is_safe_cut(place):
            cut, before = place, last.count
        elif last.piece >= LONG and (long := self._counter.long_pieces) is not None:
            near = self._characters[-1 - min(REACH, last.piece) : -1]
            if long.joins(near, self._characters[-1]):
                count = before + last.beside + self._grown(long, last.piece).count()
                return _State(cut, before, last.beside, last.piece + 1, count)
        tail = "".join(self._characters[cut:])
        if len(tail) < LONG or (long := self._counter.long_pieces) is None:
            left = self._characters[cut - 1] if cut and self._is_safe_cut(cut) else ""
            return _State(cut, before, count=before + self._counter.count_after(left, tail))
        settled = long.settled(tail)
        before += self._counter.count(tail[:settled])
        last_piece = long.last_piece(tail[settled:])
        piece, beside = len(last_piece.piece), last_piece.others
        return _State(cut + settled, before, beside, piece, before + last_piece.total)

    def _is_safe_cut(self, place: int) -> bool:
        left, right = self._characters[place - 1 : place + 1]
        return self._counter.is_safe_cut(left, right)

    def _grown(self, long: LongPieces, piece: int) -> PieceCounter:
        """Return the growing piece with the newest character.

        Built anew where the text was shortened beyond the piece's beginning;
        else only what is missing is added.
        """
        begin = len(self._characters) - 1 - piece
        counter = self._growing
        if counter is None or self._growing_from != begin:
            counter = long.piece_counter()
            self._growing, self._growing_from = counter, begin
        counter.truncate(min(len(counter), piece))
        counter.push("".join(self._characters[begin + len(counter) :]))
        return counter
