r"""How many tokens a piece has, or any part of it, without a list of them.

Source: `count`, `count_till_limit` and `IntervalEncoding` of GitHub's `bpe` crate
(https://github.com/github/rust-gems/tree/main/crates/bpe, README, "Interval counting").

A piece, and limits
-------------------

Call a place a *border* if a token of the final encoding ends there. The tokens before a border are
the encoding of the prefix that ends there.

When is it certain that a piece has more tokens than the limit?
    If there is a border before the end of the piece, the final count is at least one more than that
    of the prefix up to there. A token that covers the place `at` and goes on beyond it starts so
    many bytes before it that what is there up to `at` is the beginning of a longer token. The
    automaton knows the most bytes of which that is true (`open_lengths`): never more than the
    longest token has, mostly a few. So among these last places, and `at` itself, is a border. Once
    all their prefixes have at least `limit` tokens, and there is a byte more, the final count is
    above the limit. Else the last prefix itself tells the final count: its own.

    No prefix has fewer tokens than its length divided by the length of the longest token. So of a
    piece that is too long no more than `limit` times that length is read, and one byte. GitHub's
    gives up when its search holds more than the limit and ten tokens; ten is a guess, and there is
    a piece of two tokens on which the search holds more than twelve.

What the source leaves open
    A byte that is no token and comes after the place where it is certain is not read, and so is no
    error.

Any part
--------

The tree of prefixes
    Let the parent of a prefix be the prefix without its last token. That makes a tree, whose root
    is the empty prefix. The way from the root to a prefix is its encoding, and its depth is the
    number of its tokens.

Counting the part from `start` to `stop`
    Encode from `start` on, as `encoders.backtracking` does, and after each token ask whether its
    end lies on the way to `stop` and whether it is the last token of the prefix that ends there.
    Once it is, the rest is known: the difference of two depths.

Why this is the same answer
    Say that happens at `end`, with the token t. The tokens from `start` to `end` are an encoding
    whose last token is t, and the way to `stop` has a part that begins with this same t. Joined at
    t, all neighbours are compatible, and what has compatible neighbours, of tokens that encode to
    themselves, is the encoding of what it spells (see `encoders.backtracking`). That needs t itself
    on both sides, not only a border at the same place; GitHub's asks about the token after t as
    well, which the proof does not need. The tokens need not be the ones that a search through the
    whole part would keep: two encodings of the part do not exist.

Representation
    Prefixes are numbered in an order in which each is followed at once by all that lie below it in
    the tree: `places[i]` is the number of the prefix of length `i`, and `beyond[i]` the first
    number that is not below it. So whether `stop` lies below `end` is a comparison of numbers.

How long it takes
    Preparation is linear. Typically a few tokens suffice to meet the way to `stop`, so counting
    takes constant time. Where all letters are alike and the tokens' lengths do not fit, the two
    never meet, and the part is encoded to its end, in linear time.
"""

from array import array
from collections.abc import Iterable

from bpe_ref.encoders.backtracking import trie_of_made_tokens
from bpe_ref.growing.encoders import AppendEncoder, as_bytes_given
from bpe_ref.parameters import as_count, check_index
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import compatibility, joint_table
from bpe_ref.vocabulary.tries import NOTHING


def count(vocabulary: Vocabulary, piece: Iterable[int]) -> int:
    """Return the number of tokens that a piece encodes to, in linear time.

    `piece` may be anything that yields bytes. Raises `SymbolError` for a byte that is not a token
    of its own.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> count(vocabulary, b"aaaaa")
    3
    """
    encoder = AppendEncoder(vocabulary)
    encoder.extend(piece)
    return encoder.token_count


def count_till_limit(vocabulary: Vocabulary, piece: Iterable[int], limit: int) -> int | None:
    """Return the number of tokens that a piece encodes to if it is at most `limit`, else None.

    Reads no further than it must to be certain, see above.

    Raises `ParameterError` for a limit below 0, and `SymbolError` for a byte
    that is read and is not a token of its own.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> count_till_limit(vocabulary, b"aaaa", 2), count_till_limit(vocabulary, b"aaaaa", 2)
    (2, None)
    """
    limit = as_count("limit", limit)
    encoder = AppendEncoder(vocabulary)
    few_at = 0 if limit else -1  # the last place whose prefix has fewer tokens than the limit
    for byte in as_bytes_given("piece", piece):
        is_certain = few_at < len(encoder) - encoder.open_length
        encoder.push(byte)
        if is_certain:  # as there is this byte behind that place
            return None
        if encoder.token_count < limit:
            few_at = len(encoder)
    return encoder.token_count if encoder.token_count <= limit else None


class IntervalCounter:
    """Counts the tokens of any part of a piece.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> counter = IntervalCounter(vocabulary, b"abab")
    >>> [counter.count(0, stop) for stop in range(5)], counter.count(1, 4)
    ([0, 1, 1, 2, 3], 2)
    """

    def __init__(self, vocabulary: Vocabulary, piece: bytes) -> None:
        """Prepare to count parts of the piece, in time proportional to its length.

        Raises `SymbolError` for a byte that is not a token of its own.
        """
        encoder = AppendEncoder(vocabulary)
        encoder.extend(piece)
        self._piece = encoder.piece
        self._spelling = self._piece.decode("latin-1")
        trie, self._lengths = vocabulary.remember(trie_of_made_tokens)
        self._longest, self._shorter = trie.longest, trie.shorter
        self._compatible = vocabulary.remember(compatibility)
        self._crossed = vocabulary.remember(joint_table)
        self._last_tokens = array("i", encoder.last_places())
        self._depths = array("i", encoder.prefix_counts())
        self._number()

    def __repr__(self) -> str:
        """Return the number of bytes."""
        return f"<IntervalCounter, {len(self)} bytes>"

    def __len__(self) -> int:
        """Return the number of bytes of the piece."""
        return len(self._piece)

    def count(self, start: int, stop: int) -> int:
        """Return the number of tokens that the bytes from `start` to `stop` encode to alone.

        Raises `ParameterError` unless 0 <= start <= stop <= the piece's length.
        """
        check_index("stop", stop, len(self._piece))
        check_index("start", start, stop)
        if start == stop:
            return 0
        depths, last_tokens = self._depths, self._last_tokens
        if start == 0:
            return depths[stop]
        goal, places, beyond = self._places[stop], self._places, self._beyond
        lengths, longest, shorter = self._lengths, self._longest, self._shorter
        piece, crossed, compatible = self._piece, self._crossed, self._compatible

        closed: set[int] = set()  # where no encoding of the part has a border
        tokens: list[int] = []
        at = start
        while at < stop:
            token = longest(self._spelling, at)
            end = at + lengths[token]
            while (
                end > stop  # the text goes on where the part does not
                or end in closed
                or (
                    tokens
                    and crossed[piece[at - 1] << 8 | piece[at]]
                    and not compatible(tokens[-1], token)
                )
            ):
                token = shorter[token]
                while token == NOTHING:
                    closed.add(at)
                    token = tokens.pop()
                    at -= lengths[token]
                    token = shorter[token]
                end = at + lengths[token]
            tokens.append(token)
            at = end
            if last_tokens[at] == token and places[at] <= goal < beyond[at]:
                return len(tokens) + depths[stop] - depths[at]
        return len(tokens)

    def _number(self) -> None:
        """Give each prefix its number; that of its parent, which is shorter, is there already."""
        last_tokens, lengths = self._last_tokens, self._lengths
        size = len(last_tokens)
        sizes = array("i", [1]) * size
        for at in range(size - 1, 0, -1):
            sizes[at - lengths[last_tokens[at]]] += sizes[at]
        places = array("i", [0]) * size
        following = array("i", [1]) * size  # the number of the next child
        for at in range(1, size):
            parent = at - lengths[last_tokens[at]]
            places[at] = following[parent]
            following[parent] += sizes[at]
            following[at] = places[at] + 1
        self._places = places
        self._beyond = following  # all children numbered, it points behind the last one
