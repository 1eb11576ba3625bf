"""Window, buffer and longest match: equation 1, definition 7 and what the penalty reads off them.

Ginart et al., "LZ Penalty: An information-theoretic repetition penalty for
autoregressive language models", 2025, sections 2.2 and 3
(https://arxiv.org/abs/2504.20131). The rule:

    The buffer is the end of the history. The window is what came directly before it.
    Lay the beginning of the buffer over every place of the window and count how many
    tokens agree. The longest match is the place with the largest count; its length is l.
    A token *extends* the longest match if it is the token that followed it. Every other
    token of the window is a match of its own, of length one.

Full buffer
    A compressor that reads a stream fills its buffer and empties it. The penalty wants a
    number at every token, so it takes the buffer as full at every step.
Number of tokens
    The slices of equation and definition have one token more than the sizes that name
    them. Here the buffer has exactly `buffer` tokens and the window exactly `window`, and a
    match of length k has k tokens.
Overlap
    There is none: a token is in the window or in the buffer. A token that occurs in the
    buffer only therefore counts as new, however often it occurs there.
Short histories
    The paper says nothing. The buffer is filled first. A history no longer than the
    buffer leaves an empty window, in which nothing can be found.
Sizes
    Definition 8 wants a window larger than the buffer. Nothing in it depends on that, and
    short histories break it in any case, so it is not required.
Direction
    In everything but `window_and_buffer`, window and buffer are read *newest first*. The
    paper writes a buffer that has grown by the next token `a` as "a b", with `a` in front,
    and matches beginnings. Only if the front is the newest end does that speak of the next
    token. In the order of time, such a match is a match of suffixes.
Distance
    The newest token of the window has distance 1. The distance of a match is the distance
    of its newest token, so that it shrinks by one when the match grows by the token that
    followed it, as the paper needs (delta = d - 1). The distance of Lempel and Ziv, to
    the oldest token of the match, would not shrink.
Ties
    The paper names none, and speaks of the longest match as if there were one.
    `longest_match` takes the nearest. For the penalty a token extends if it followed *any*
    of the longest matches, and of those that it followed, the nearest decides its distance.
    If only the nearest match counted, a loop whose period divides the size of the buffer
    would escape: its nearest match ends at the border of the window, where nothing follows,
    and its true continuation would count as a match of one token.
Border
    A match lies wholly inside the window and never runs on into the buffer.
What follows a match
    A token of the window. After a match at distance 1 comes the buffer, which is not
    searched, so such a match has no continuation.

Laying the buffer over every place costs the product of their lengths. The Z function
(`own_beginnings`) does it in their sum (Gusfield, "Algorithms on Strings, Trees, and
Sequences", 1997, section 1.4; there for text search). Its invariant: `[left, right)` is the
stretch that reaches furthest to the right of all stretches that are known to equal the
beginning of the sequence. A place inside it has a twin near the beginning, `place - left`,
whose count is known; only what lies past `right` is compared, and each such comparison
moves `right`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sampling_ref.row import TokenId


def window_and_buffer(
    history: Sequence[TokenId], window: int, buffer: int
) -> tuple[list[TokenId], list[TokenId]]:
    """Return the window and the buffer of a history, both oldest first.

    >>> window_and_buffer([1, 2, 3, 4, 5, 6], window=3, buffer=2)
    ([2, 3, 4], [5, 6])
    >>> window_and_buffer([1, 2], window=3, buffer=2)
    ([], [1, 2])
    """
    border = max(0, len(history) - buffer)
    return list(history[max(0, border - window) : border]), list(history[border:])


@dataclass(frozen=True)
class Match:
    """A match: `length` tokens, the newest of them `distance` back. Length 0: none found."""

    length: int
    distance: int


def agreement(buffer: Sequence[TokenId], window: Sequence[TokenId], place: int) -> int:
    """Return how many tokens agree if the buffer is laid over the window at a place.

    >>> agreement([3, 2, 1], [4, 3, 2, 9], 1)
    2
    """
    length = 0
    while (
        length < len(buffer)
        and place + length < len(window)
        and buffer[length] == window[place + length]
    ):
        length += 1
    return length


def longest_match(buffer: Sequence[TokenId], window: Sequence[TokenId]) -> Match:
    """Return the longest match of the buffer's front in the window, the nearest of equals.

    Both are newest first. Time: the product of their lengths.

    >>> longest_match(buffer=[3, 2, 1], window=[5, 4, 3, 2, 1])
    Match(length=3, distance=3)
    >>> longest_match(buffer=[6], window=[5, 4])
    Match(length=0, distance=0)
    """
    best = Match(0, 0)
    for place in range(len(window)):
        length = agreement(buffer, window, place)
        if length > best.length:
            best = Match(length, distance=place + 1)
    return best


BORDER = -1
"""Not a token: it separates buffer and window, so that no match passes it."""


def own_beginnings(sequence: Sequence[TokenId]) -> list[int]:
    """Return, for each place, how many tokens from there on equal the sequence's beginning.

    This is the Z function. Its first entry is the length of the sequence.

    >>> own_beginnings([1, 2, 1, 2, 1, 3])
    [6, 0, 3, 0, 1, 0]
    """
    size = len(sequence)
    counts = [size] * min(size, 1) + [0] * (size - 1)
    left = right = 0
    for place in range(1, size):
        count = min(counts[place - left], right - place) if place < right else 0
        while place + count < size and sequence[count] == sequence[place + count]:
            count += 1
        counts[place] = count
        if place + count > right:
            left, right = place, place + count
    return counts


def match_lengths(buffer: Sequence[TokenId], window: Sequence[TokenId]) -> list[int]:
    """Return, for each place of the window, how many tokens of the buffer's front agree.

    Why this is the same answer as `agreement` of `matches`: the border equals no token,
    so a stretch that equals the beginning of "buffer, border, window" ends with the
    buffer, and the window is the last part, so it ends with the window.

    >>> match_lengths([3, 2, 1], [4, 3, 2, 9, 3])
    [0, 2, 0, 0, 1]
    """
    return own_beginnings([*buffer, BORDER, *window])[len(buffer) + 1 :]


@dataclass(frozen=True)
class Surroundings:
    """The longest matches, and where the tokens of the window are.

    `length` is l, and `distance` is the distance of the nearest longest match (0 if l is
    0). `following` and `own` give distances of tokens: of the nearest occurrence that
    follows a longest match, and of the nearest occurrence anywhere in the window.
    """

    length: int
    distance: int
    following: dict[TokenId, int]
    own: dict[TokenId, int]


def look_around(buffer: Sequence[TokenId], window: Sequence[TokenId]) -> Surroundings:
    """Return what surrounds the next token; both sequences are newest first.

    Time: the sum of their lengths.

    >>> found = look_around(buffer=[2, 1], window=[8, 4, 2, 1, 7, 3, 2, 1])
    >>> found.length, found.distance, found.following
    (2, 3, {4: 2, 3: 6})
    """
    lengths = match_lengths(buffer, window)
    length = max(lengths, default=0)
    following: dict[TokenId, int] = {}
    own: dict[TokenId, int] = {}
    for place, token in enumerate(window):
        own.setdefault(token, place + 1)
        if 0 < length == lengths[place] and place > 0:
            following.setdefault(window[place - 1], place)
    distance = lengths.index(length) + 1 if length else 0
    return Surroundings(length, distance, following, own)
