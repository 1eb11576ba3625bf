"""How many tokens any part of a text encodes to, without encoding the part.

Source: `IntervalEncoding` of GitHub's `bpe` crate
(https://github.com/github/rust-gems/tree/main/crates/bpe, README, "Interval
counting").

The tree of prefixes
    Let the parent of a prefix be the prefix without its last token (see
    `appending`). That makes a tree, whose root is the empty prefix. The way
    from the root to a prefix is its encoding, and its depth is the number of
    its tokens.

Counting the part from `start` to `stop`
    Encode from `start` on, as `encoders.backtracking` does, and after each
    token ask whether its end lies on the way to `stop` and whether it is the
    last token of the prefix that ends there. Once it is, the rest is known:
    the difference of two depths.

Why this is the same answer
    Say that happens at `end`, with the token t. The tokens from `start` to
    `end` are an encoding whose last token is t. The way to `stop` is an
    encoding too, and so is the part of it that begins with this same t. Each
    two neighbours in the one or the other are compatible, so all neighbours
    are when they are joined at t; and what has compatible neighbours, of
    tokens that encode to themselves, is the encoding of what it spells (see
    `encoders.backtracking`). That needs t itself on both sides, not only a
    border at the same place. GitHub's asks about the token after t as well,
    which the proof does not need. The tokens need not be the ones that a search
    through the whole part would keep: two encodings of the part do not exist.

Representation
    Prefixes are numbered in an order in which each is followed at once by all
    that lie below it in the tree: `places[i]` is the number of the prefix of
    length `i`, and `beyond[i]` the first number that is not below it. So
    whether `stop` lies below `end` is a comparison of numbers.

How long it takes
    Preparation is linear. Typically a few tokens suffice to meet the way to
    `stop`, wherever the part begins and ends, so counting takes constant time;
    nothing is copied. Where all letters are alike and the tokens' lengths do
    not fit, the two never meet, and the part is encoded to its end, in linear
    time.
"""

from array import array

from bpe_ref.compatibility import compatibility, joint_table
from bpe_ref.encoders.backtracking import trie_of_made_tokens
from bpe_ref.incremental.appending import AppendEncoder
from bpe_ref.incremental.checks import check_range
from bpe_ref.tries import NOTHING
from bpe_ref.vocabulary import Vocabulary


class IntervalCounter:
    """Counts the tokens of any part of a piece.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> counter = IntervalCounter(vocabulary, b"abab")
    >>> [counter.count(0, stop) for stop in range(5)], counter.count(1, 4)
    ([0, 1, 1, 2, 3], 2)
    """

    __slots__ = (
        "_beyond",
        "_compatible",
        "_crossed",
        "_depths",
        "_last_tokens",
        "_lengths",
        "_longest",
        "_piece",
        "_places",
        "_shorter",
        "_spelling",
    )

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

    def __len__(self) -> int:
        """Return the number of bytes of the piece."""
        return len(self._piece)

    def count(self, start: int, stop: int) -> int:
        """Return the number of tokens that the bytes from `start` to `stop` encode to alone.

        Raises `ParameterError` unless 0 <= start <= stop <= the piece's length.
        """
        check_range(start, stop, len(self._piece))
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
