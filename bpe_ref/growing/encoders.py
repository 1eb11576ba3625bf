"""A text that grows at its end or at its front, and what it encodes to at any moment.

    The encoding of a text is its last token, after the encoding of what is left without it. So
    remember the last token of every prefix, and the number of tokens up to there; one more byte is
    one more prefix. What is left of an encoding without its *first* token is an encoding too. So if
    the text grows at its front, remember the first token of every suffix.

Source: `AppendableEncoder` and `PrependableEncoder` of GitHub's `bpe` crate
(https://github.com/github/rust-gems/tree/main/crates/bpe, README, "Incremental encoding"). Theirs
cannot list the tokens, and go wrong where `compatibility` explains; these are right for every
vocabulary.

Invariant
    Bytes are in the order in which they came. For the part of the text of length `i`, a prefix, or
    a suffix if the text grows at its front, `states[i]` is the state of the automaton, `tokens[i]`
    the place (see `Derivations`) of its newest token, and `counts[i]` the number of its tokens.
    Nothing in them depends on later bytes, so to shorten the text is to forget the entries at the
    end.

Both directions
    A text that grows at its front is one that grows at its end, spelled backwards. Only merging is
    no mirror image: of two equal pairs the left one merges first. But compatibility already knows
    that. So `_Direction` has an automaton of the tokens spelled backwards, and asks about
    compatibility with the new token on the left.

Why this is the same answer as encoding every part
    See `encoders.prefix_table`: of the tokens that end at a place, exactly one is compatible with
    the last token before it.

Why a byte takes constant time, amortised
    The automaton lists the tokens that end here, whose number is bounded by the vocabulary, without
    looking at the text again. Whoever truncates and appends again and again may pay for the same
    falls of the automaton each time, at most as many as the longest token has bytes.

What the source leaves open
    `PrependEncoder.extend` takes the bytes in the order of the text, and puts the last of them in
    front first: `extend(b"ab")` makes `c` into `abc`. GitHub's takes them in the order in which
    they are put in front.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

from bpe_ref.errors import ParameterError
from bpe_ref.parameters import check_index
from bpe_ref.vocabulary import Vocabulary, missing_symbol
from bpe_ref.vocabulary.automata import (
    KEYS,
    ROOT,
    Automaton,
    automaton_of_made_tokens,
    automaton_of_reversed_tokens,
    lengths_of_made_tokens,
)
from bpe_ref.vocabulary.compatibility import build_derivations, compatibility, joint_table
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import NOTHING

MOST_SEAMS: Final = 1 << 17
"""Text has the same words again and again, so remembering this many seams saves a quarter of the
time (English prose, cl100k). A full table is emptied, and soon holds what is useful now."""


def raise_for_byte(byte: object, place: int) -> NoReturn:
    """Raise the error for what cannot be appended (or put in front) as a byte.

    >>> raise_for_byte(256, 0)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: byte must be an int in [0, 255], got 256
    """
    if type(byte) is not int or not 0 <= byte <= 0xFF:
        raise ParameterError("byte", byte, "must be an int in [0, 255]")
    raise missing_symbol(byte, place)


def as_bytes_given(name: str, piece: object) -> Iterable[int]:
    """Return the bytes; raise `ParameterError` for text by mistake.

    >>> as_bytes_given("piece", "abc")
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: piece must be bytes, got 'abc'
    """
    if isinstance(piece, str) or not isinstance(piece, Iterable):
        raise ParameterError(name, piece, "must be bytes")
    return piece


@dataclass(frozen=True, eq=False)
class _Direction:
    """What differs between growing at the end and growing at the front.

    `old` is always the token that was there before `new`.
    """

    automaton: Automaton
    crossed: bytes
    """A flag for each `old << 8 | new` byte: whether a merge can cross between them."""

    compatible: Callable[[int, int], bool]
    """Whether `old` and `new` may stand side by side."""

    known: dict[int, bool] = field(default_factory=dict)
    """Answers of `compatible` by `old * number of tokens + new`."""


def _at_the_end(vocabulary: Vocabulary) -> _Direction:
    return _Direction(
        vocabulary.remember(automaton_of_made_tokens),
        vocabulary.remember(joint_table),
        vocabulary.remember(compatibility),
    )


def _at_the_front(vocabulary: Vocabulary) -> _Direction:
    crossed, compatible = vocabulary.remember(joint_table), vocabulary.remember(compatibility)
    return _Direction(
        vocabulary.remember(automaton_of_reversed_tokens),
        bytes(crossed[new << 8 | old] for old in range(256) for new in range(256)),
        lambda old, new: compatible(new, old),
    )


class _GrowingEncoder:
    """The encoding of one piece that grows in one direction."""

    _forwards: bool

    def __init__(self, vocabulary: Vocabulary) -> None:
        direction = vocabulary.remember(_at_the_end if self._forwards else _at_the_front)
        automaton = direction.automaton
        self._steps, self._falls = automaton.steps, automaton.falls
        self._ends, self._shorter = automaton.ends, automaton.shorter
        self._open_lengths = automaton.open_lengths
        self._lengths = vocabulary.remember(lengths_of_made_tokens)
        self._ids = vocabulary.remember(build_derivations).ids
        self._compatible, self._known = direction.compatible, direction.known
        self._crossed = direction.crossed
        self._letters = bytearray()
        self._states = [ROOT]
        self._tokens = [NOTHING]
        self._counts = [0]

    def __repr__(self) -> str:
        """Return the numbers of bytes and tokens."""
        return f"<{type(self).__name__}, {len(self)} bytes, {self._counts[-1]} tokens>"

    def __len__(self) -> int:
        """Return the number of bytes."""
        return len(self._letters)

    @property
    def piece(self) -> bytes:
        """The bytes so far, in the order of the text."""
        return bytes(self._letters if self._forwards else reversed(self._letters))

    @property
    def token_count(self) -> int:
        """The number of tokens that the bytes so far encode to."""
        return self._counts[-1]

    @property
    def open_length(self) -> int:
        """The most bytes at the growing end with which a longer token begins; see `automata`."""
        return self._open_lengths[self._states[-1]]

    def push(self, byte: int) -> None:
        """Add one byte.

        Raises `SymbolError` if it is no token of its own, `ParameterError` if
        it is no byte; then nothing is added.
        """
        letters = self._letters
        steps, state = self._steps, self._states[-1]
        try:
            found = steps.get(state * KEYS + byte)
            while found is None:
                if state == ROOT:
                    raise_for_byte(byte, self._place())
                state = self._falls[state]
                found = steps.get(state * KEYS + byte)
            letters.append(byte)
        except (TypeError, ValueError):  # something that is not a byte leads to no state
            raise_for_byte(byte, self._place())
        lengths, tokens, known = self._lengths, self._tokens, self._known
        token = self._ends[found]
        size = len(letters)
        rest = size - lengths[token]
        crossed = self._crossed
        # There is no seam if nothing is left; most seams of ordinary text are no joint.
        while rest and crossed[letters[rest - 1] << 8 | letters[rest]]:
            seam = tokens[rest] * len(lengths) + token
            fits = known.get(seam)
            if fits is None:
                if len(known) >= MOST_SEAMS:
                    known.clear()
                fits = known[seam] = self._compatible(tokens[rest], token)
            if fits:
                break
            token = self._shorter[token]
            rest = size - lengths[token]
        self._states.append(found)
        tokens.append(token)
        self._counts.append(self._counts[rest] + 1)

    def extend(self, piece: Iterable[int]) -> None:
        """Add bytes, given in the order of the text, those next to the old ones first.

        Raises as `push` does, at the first byte that cannot be added; those before it are.
        """
        given = as_bytes_given("piece", piece)
        for byte in given if self._forwards else reversed(list(given)):
            self.push(byte)

    def truncate(self, length: int) -> None:
        """Keep the `length` bytes that came first. Raises `ParameterError` if there are fewer."""
        check_index("length", length, len(self))
        del self._letters[length:]
        for table in (self._states, self._tokens, self._counts):
            del table[length + 1 :]

    def count_of(self, length: int) -> int:
        """Return the number of tokens that the `length` bytes that came first encode to alone.

        Raises `ParameterError` if there are fewer bytes.
        """
        check_index("length", length, len(self))
        return self._counts[length]

    def tokens(self) -> list[TokenId]:
        """Return the tokens that the bytes so far encode to, in time proportional to them."""
        found: list[TokenId] = []
        rest = len(self)
        while rest:
            token = self._tokens[rest]
            found.append(self._ids[token])
            rest -= self._lengths[token]
        if self._forwards:
            found.reverse()
        return found

    def _place(self) -> int:
        """Return where in the text the next byte would be."""
        return len(self) if self._forwards else 0


class AppendEncoder(_GrowingEncoder):
    """The encoding of one piece, to which bytes are appended.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> encoder = AppendEncoder(vocabulary)
    >>> encoder.extend(b"ab")
    >>> encoder.token_count, encoder.tokens()
    (1, [3])
    >>> encoder.push(ord("a"))
    >>> encoder.token_count, encoder.tokens(), len(encoder)
    (2, [0, 2], 3)
    >>> encoder.truncate(2)
    >>> encoder.tokens()
    [3]
    """

    _forwards = True

    def prefix_counts(self) -> Sequence[int]:
        """Return the number of tokens of every prefix, by its length, as a copy."""
        return self._counts.copy()

    def last_places(self) -> Sequence[int]:
        """Return the place (see `Derivations`) of the last token of every prefix, as a copy.

        For the empty prefix it is `NOTHING`.
        """
        return self._tokens.copy()


class PrependEncoder(_GrowingEncoder):
    """The encoding of one piece, in front of which bytes are put.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> encoder = PrependEncoder(vocabulary)
    >>> encoder.extend(b"ba")
    >>> encoder.push(ord("a"))
    >>> encoder.token_count, encoder.tokens(), encoder.piece
    (2, [0, 2], b'aba')
    >>> encoder.truncate(1)
    >>> encoder.tokens(), encoder.piece
    ([0], b'a')
    """

    _forwards = False
