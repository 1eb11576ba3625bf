"""The window and the buffer that the LZ penalty pretends to have: equation 1.

Ginart et al., "LZ Penalty: An information-theoretic repetition penalty for
autoregressive language models", 2025, section 2.2, equation 1
(https://arxiv.org/abs/2504.20131). In our words:

    The buffer is the end of the history. The window is what came directly before it.

A compressor that reads a stream fills its buffer and empties it. The penalty wants a
number at every token, so it takes the buffer as full at every step.

How many tokens
    The slices of the equation have one token more than the sizes that name them. Here
    the buffer has exactly `buffer` tokens and the window exactly `window`.
Overlap
    There is none: a token is in the window or in the buffer. A token that occurs in the
    buffer only therefore counts as new, however often it occurs there.
Short histories
    The paper says nothing. The buffer is filled first. A history no longer than the
    buffer leaves an empty window, in which nothing can be found.
Sizes
    Definition 8 wants a window larger than the buffer. Nothing in it depends on that, and
    short histories break it in any case, so it is not asked for.
"""

from collections.abc import Sequence

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
