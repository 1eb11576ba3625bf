"""A text that grows at its front, and what it encodes to at any moment.

The mirror image of `appending`: what is left of an encoding without its first
token is an encoding too. So remember the *first* token of every suffix, and
the number of tokens from there on; one more byte in front is one more suffix.

Source: `PrependableEncoder` of GitHub's `bpe` crate
(https://github.com/github/rust-gems/tree/main/crates/bpe).

Representation
    Suffixes are counted from the end of the text: the suffix of length `i` has
    `states[i]`, its first token `first_tokens[i]` and `counts[i]` tokens. The
    automaton holds the tokens spelled backwards, and `letters` are backwards
    too.

Invariant
    `first_tokens[i]` is the first token of what the last `i` bytes encode to
    alone. Merging itself is no mirror image (of two equal pairs the left one
    merges first), but compatibility already knows that: it is asked with the
    new token on the left.

What the source leaves open
    `extend` takes the bytes in the order of the text, and the last of them is
    put in front first: `extend(b"ab")` makes `c` into `abc`. GitHub's takes
    them in the order in which they are put in front.
"""

from collections.abc import Iterable

from bpe_ref.automata import KEYS, ROOT, automaton_of_reversed_tokens, lengths_of_made_tokens
from bpe_ref.compatibility import build_derivations, compatibility, joint_table
from bpe_ref.incremental.checks import as_bytes_given, check_length, raise_for_byte
from bpe_ref.incremental.seams import MOST_SEAMS, known_seams
from bpe_ref.tries import NOTHING
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId


class PrependEncoder:
    """The encoding of one piece, in front of which bytes are put.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> encoder = PrependEncoder(vocabulary)
    >>> encoder.extend(b"ba")
    >>> encoder.token_count, encoder.tokens()
    (1, [2])
    >>> encoder.push(ord("a"))
    >>> encoder.token_count, encoder.tokens(), encoder.piece
    (2, [0, 2], b'aba')
    >>> encoder.truncate(1)
    >>> encoder.tokens(), encoder.piece
    ([0], b'a')
    """

    __slots__ = (
        "_compatible",
        "_counts",
        "_crossed",
        "_ends",
        "_falls",
        "_first_tokens",
        "_ids",
        "_known",
        "_lengths",
        "_letters",
        "_shorter",
        "_states",
        "_steps",
    )

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Start with the empty piece. The tables are built once for each vocabulary."""
        automaton = vocabulary.remember(automaton_of_reversed_tokens)
        self._steps, self._falls = automaton.steps, automaton.falls
        self._ends, self._shorter = automaton.ends, automaton.shorter
        self._lengths = vocabulary.remember(lengths_of_made_tokens)
        self._ids = vocabulary.remember(build_derivations).ids
        self._compatible = vocabulary.remember(compatibility)
        self._known = vocabulary.remember(known_seams)
        self._crossed = vocabulary.remember(joint_table)
        self._letters = bytearray()
        self._states = [ROOT]
        self._first_tokens = [NOTHING]
        self._counts = [0]

    def __len__(self) -> int:
        """Return the number of bytes."""
        return len(self._letters)

    @property
    def piece(self) -> bytes:
        """The bytes so far, in the order of the text."""
        return bytes(reversed(self._letters))

    @property
    def token_count(self) -> int:
        """The number of tokens that the bytes so far encode to."""
        return self._counts[-1]

    def push(self, byte: int) -> None:
        """Put one byte in front.

        Raises `SymbolError` if it is no token of its own, `ParameterError` if
        it is no byte; then nothing is put in front.
        """
        letters = self._letters
        steps, state = self._steps, self._states[-1]
        try:
            found = steps.get(state * KEYS + byte)
            while found is None:
                if state == ROOT:
                    raise_for_byte(byte, 0)
                state = self._falls[state]
                found = steps.get(state * KEYS + byte)
            letters.append(byte)
        except (TypeError, ValueError):  # what is no byte leads from no state to another
            raise_for_byte(byte, 0)
        lengths, first_tokens, known = self._lengths, self._first_tokens, self._known
        token = self._ends[found]
        size = len(letters)
        rest = size - lengths[token]
        crossed = self._crossed
        # no token after the last one; in the text, the letter at `rest` is left of its neighbour
        while rest and crossed[letters[rest] << 8 | letters[rest - 1]]:
            seam = token * len(lengths) + first_tokens[rest]
            fits = known.get(seam)
            if fits is None:
                if len(known) >= MOST_SEAMS:
                    known.clear()
                fits = known[seam] = self._compatible(token, first_tokens[rest])
            if fits:
                break
            token = self._shorter[token]
            rest = size - lengths[token]
        self._states.append(found)
        first_tokens.append(token)
        self._counts.append(self._counts[rest] + 1)

    def extend(self, piece: Iterable[int]) -> None:
        """Put bytes in front, given in the order of the text.

        Raises as `push` does, at the last byte that cannot be put there; those
        after it are.
        """
        for byte in reversed(list(as_bytes_given("piece", piece))):
            self.push(byte)

    def truncate(self, length: int) -> None:
        """Keep the last `length` bytes only. Raises `ParameterError` if there are fewer."""
        check_length(length, len(self))
        del self._letters[length:]
        for table in (self._states, self._first_tokens, self._counts):
            del table[length + 1 :]

    def tokens(self) -> list[TokenId]:
        """Return the tokens that the bytes so far encode to, in time proportional to them."""
        found: list[TokenId] = []
        rest = len(self)
        while rest:
            token = self._first_tokens[rest]
            found.append(self._ids[token])
            rest -= self._lengths[token]
        return found

    def count_of_suffix(self, length: int) -> int:
        """Return the number of tokens that the last `length` bytes encode to alone.

        Raises `ParameterError` if there are fewer bytes.
        """
        check_length(length, len(self))
        return self._counts[length]
