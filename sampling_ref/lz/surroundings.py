"""What the LZ penalty must know of a window and a buffer: sections 2.2 and 3 of its paper.

Ginart et al., "LZ Penalty", 2025 (https://arxiv.org/abs/2504.20131). In our words:

    The longest match of the buffer in the window has length l. A token *extends* it if it
    is the token that followed a longest match. Every other token of the window is a match
    of its own, of length one.

Which longest match
    The paper speaks of the match as if there were one. Here a token extends if it
    followed *any* of the longest matches, and of those that it followed, the nearest
    decides its distance. If only the nearest match counted, a loop whose period divides
    the size of the buffer would escape: its nearest match ends at the border of the
    window, where nothing follows, and its true continuation would count as a match of one
    token.
What follows a match
    A token of the window. After a match at distance 1 comes the buffer, which is not
    searched, so such a match has no continuation.
Distances
    `following[a]` is the distance of the token itself (delta in the paper); the match
    that it extends is one further back (d = delta + 1), so d is at least 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sampling_ref.lz.match_lengths import match_lengths
from sampling_ref.row import TokenId


@dataclass(frozen=True)
class Surroundings:
    """The longest matches, and which tokens of the window stand where.

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
