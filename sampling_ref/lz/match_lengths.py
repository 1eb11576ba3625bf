"""Every match of a buffer in a window, in time that grows with their lengths' sum.

Definition 7 lays the buffer over every place of the window, which costs the product of
their lengths. The Z function does it in the sum (Gusfield, "Algorithms on Strings, Trees,
and Sequences", 1997, section 1.4; there for text search).

Invariant
    `[left, right)` is the stretch that reaches furthest to the right of all stretches
    that are known to equal the beginning of the sequence. A place inside it has a twin
    near the beginning, `place - left`, whose count is known; only what lies past `right`
    is compared, and each such comparison moves `right`.
"""

from collections.abc import Sequence

from sampling_ref.row import TokenId

BORDER = -1
"""No token: what stands between buffer and window, so that no match passes it."""


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
