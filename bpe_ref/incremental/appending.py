"""A text that grows at its end, and what it encodes to at any moment.

    The encoding of a text is its last token, after the encoding of what is
    left without it. So remember the last token of every prefix, and the number
    of tokens up to there; one more byte is one more prefix.

Source: `AppendableEncoder` of GitHub's `bpe` crate
(https://github.com/github/rust-gems/tree/main/crates/bpe, README, "Incremental
encoding"). Theirs cannot list the tokens, and goes wrong where `compatibility`
explains; this one is right for every vocabulary.

Representation
    After `n` bytes there are `n + 1` prefixes. For the prefix of length `i`,
    `states[i]` is the state of the automaton, `last_tokens[i]` the place (see
    `Derivations`) of its last token, and `counts[i]` the number of its tokens.

Invariant
    `last_tokens[i]` is the last token of what the first `i` bytes encode to
    alone. Nothing in it depends on later bytes, so to shorten the text is to
    forget the entries at the end.

Why this is the same answer as encoding every prefix
    See `encoders.prefix_table`: of the tokens that end at a place, exactly one
    is compatible with the last token before it.

Why a byte takes constant time, amortised
    The automaton lists the tokens that end here without looking at the text
    again, and of those no more are tried than there are, which is a constant
    of the vocabulary. Whoever truncates and appends again and again may pay
    for the same falls of the automaton each time, at most as many as the
    longest token has bytes.
"""

from collections.abc import Iterable, Sequence

from bpe_ref.automata import KEYS, ROOT, automaton_of_made_tokens, lengths_of_made_tokens
from bpe_ref.compatibility import build_derivations, compatibility, joint_table
from bpe_ref.incremental.checks import as_bytes_given, check_length, raise_for_byte
from bpe_ref.incremental.seams import MOST_SEAMS, known_seams
from bpe_ref.tries import NOTHING
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId


class AppendEncoder:
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

    __slots__ = (
        "_compatible",
        "_counts",
        "_crossed",
        "_ends",
        "_falls",
        "_ids",
        "_known",
        "_last_tokens",
        "_lengths",
        "_letters",
        "_shorter",
        "_states",
        "_steps",
    )

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Start with the empty piece. The tables are built once for each vocabulary."""
        automaton = vocabulary.remember(automaton_of_made_tokens)
        self._steps, self._falls = automaton.steps, automaton.falls
        self._ends, self._shorter = automaton.ends, automaton.shorter
        self._lengths = vocabulary.remember(lengths_of_made_tokens)
        self._ids = vocabulary.remember(build_derivations).ids
        self._compatible = vocabulary.remember(compatibility)
        self._known = vocabulary.remember(known_seams)
        self._crossed = vocabulary.remember(joint_table)
        self._letters = bytearray()
        self._states = [ROOT]
        self._last_tokens = [NOTHING]
        self._counts = [0]

    def __len__(self) -> int:
        """Return the number of bytes."""
        return len(self._letters)

    @property
    def piece(self) -> bytes:
        """The bytes so far."""
        return bytes(self._letters)

    @property
    def token_count(self) -> int:
        """The number of tokens that the bytes so far encode to."""
        return self._counts[-1]

    def push(self, byte: int) -> None:
        """Append one byte.

        Raises `SymbolError` if it is no token of its own, `ParameterError` if
        it is no byte; then nothing is appended.
        """
        letters = self._letters
        steps, state = self._steps, self._states[-1]
        try:
            found = steps.get(state * KEYS + byte)
            while found is None:
                if state == ROOT:
                    raise_for_byte(byte, len(letters))
                state = self._falls[state]
                found = steps.get(state * KEYS + byte)
            letters.append(byte)
        except (TypeError, ValueError):  # what is no byte leads from no state to another
            raise_for_byte(byte, len(letters))
        lengths, last_tokens, known = self._lengths, self._last_tokens, self._known
        token = self._ends[found]
        end = len(letters)
        start = end - lengths[token]
        crossed = self._crossed
        # no token before the first one; most seams of ordinary text are no joint
        while start and crossed[letters[start - 1] << 8 | letters[start]]:
            seam = last_tokens[start] * len(lengths) + token
            fits = known.get(seam)
            if fits is None:
                if len(known) >= MOST_SEAMS:
                    known.clear()
                fits = known[seam] = self._compatible(last_tokens[start], token)
            if fits:
                break
            token = self._shorter[token]
            start = end - lengths[token]
        self._states.append(found)
        last_tokens.append(token)
        self._counts.append(self._counts[start] + 1)

    def extend(self, piece: Iterable[int]) -> None:
        """Append bytes, one after the other.

        Raises as `push` does, at the first byte that cannot be appended; those
        before it are.
        """
        for byte in as_bytes_given("piece", piece):
            self.push(byte)

    def truncate(self, length: int) -> None:
        """Keep the first `length` bytes only. Raises `ParameterError` if there are fewer."""
        check_length(length, len(self))
        del self._letters[length:]
        for table in (self._states, self._last_tokens, self._counts):
            del table[length + 1 :]

    def tokens(self) -> list[TokenId]:
        """Return the tokens that the bytes so far encode to, in time proportional to them."""
        found: list[TokenId] = []
        end = len(self)
        while end:
            token = self._last_tokens[end]
            found.append(self._ids[token])
            end -= self._lengths[token]
        found.reverse()
        return found

    def count_of_prefix(self, length: int) -> int:
        """Return the number of tokens that the first `length` bytes encode to alone.

        Raises `ParameterError` if there are fewer bytes.
        """
        check_length(length, len(self))
        return self._counts[length]

    def prefix_counts(self) -> Sequence[int]:
        """Return the number of tokens of every prefix, by its length, as a copy."""
        return self._counts.copy()

    def last_places(self) -> Sequence[int]:
        """Return the place (see `Derivations`) of the last token of every prefix, as a copy.

        That of the empty prefix is `NOTHING`.
        """
        return self._last_tokens.copy()
