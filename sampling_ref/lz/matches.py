"""The longest match of a buffer in a window: definition 7, `findLongestMatch`.

Ginart et al., "LZ Penalty", 2025, section 2.2, definition 7
(https://arxiv.org/abs/2504.20131). In our words:

    Lay the beginning of the buffer over every place of the window and count how many
    tokens agree. Take the place with the largest count.

Direction
    Window and buffer are read *newest first* here, and in everything built on this
    module. The paper writes a buffer that has grown by the next token `a` as "a b", with
    `a` in front, and matches beginnings. Only if the front is the newest end does that
    speak of the next token. In the order of time, such a match is a match of suffixes.
Distance
    The newest token of the window has distance 1. The distance of a match is the distance
    of its newest token, so that it shrinks by one when the match grows by the token that
    followed it, as the paper needs (delta = d - 1). The distance of Lempel and Ziv, to
    the oldest token of the match, would not shrink.
Ties
    The paper names none. The nearest of equally long matches is taken.
Border
    A match lies wholly inside the window and never runs on into the buffer.
Number of tokens
    The slice of the definition has one token more than the count that it stands for. A
    match of length k has k tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sampling_ref.row import TokenId


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
