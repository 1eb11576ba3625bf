"""Loops in a text: a measure of degenerate repetition.

Ginart et al., "LZ Penalty: An information-theoretic repetition penalty for autoregressive
language models", 2025, section 4.1 (https://arxiv.org/abs/2504.20131). The rule:

    A text is degenerate if any substring is repeated at least 20 times.

Repeated
    means: one copy directly behind the other. The paper does not say so, but a word like "the"
    occurs 20 times in every long text.
Unit
    Here the characters of the text are tokens; one token repeated is a loop too.
Which loop counts
    The one with the most complete copies; of several, the one with the shortest unit, then the
    one that begins first. A shorter unit has at least as many copies, so that `a b a b a b` is
    three times `a b`, and never once `a b a b`.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import eq
from typing import NamedTuple

from sampling_ref.parameters import read_history, read_whole
from sampling_ref.row import TokenId

TIMES = 20
"""The number of copies from which the paper calls a text degenerate."""


class Loop(NamedTuple):
    """A unit of `length` tokens that is repeated `times` times in a row, beginning at `start`."""

    start: int
    length: int
    times: int


def most_repeated(tokens: Iterable[TokenId]) -> Loop:
    """Return the loop with the most copies; of a text without one, a single token.

    Takes time proportional to the square of the length, divided by the number of copies.

    >>> most_repeated([7, 1, 2, 1, 2, 1, 2, 1])
    Loop(start=1, length=2, times=3)
    >>> most_repeated([]), most_repeated([5, 6])
    (Loop(start=0, length=0, times=0), Loop(start=0, length=1, times=1))
    """
    read = read_history(tokens, None, "tokens")
    best = Loop(0, 1, 1) if read else Loop(0, 0, 0)
    length = 1
    while length * (best.times + 1) <= len(read):  # a longer unit has no place for more copies
        best = max(best, _longest_loop(read, length), key=lambda loop: loop.times)
        length += 1
    return best


def _longest_loop(tokens: Sequence[TokenId], length: int) -> Loop:
    """Return the loop with the most copies of a unit of this length.

    Copies of a unit are where tokens equal those one unit later.

    >>> _longest_loop([7, 1, 2, 1, 2, 1], 2)
    Loop(start=1, length=2, times=2)
    """
    start, best = 0, Loop(0, length, 1)
    for is_equal, run in groupby(map(eq, tokens, tokens[length:])):
        equal = sum(1 for _ in run)
        if is_equal and equal // length >= best.times:
            best = Loop(start, length, equal // length + 1)
        start += equal
    return best


def is_degenerate(tokens: Iterable[TokenId], times: int = TIMES) -> bool:
    """Return whether some tokens are repeated at least `times` times, one copy behind the other.

    >>> is_degenerate([1, 2, 3] * 20), is_degenerate([1, 2, 3] * 19)
    (True, False)
    """
    return most_repeated(tokens).times >= read_whole("times", times, 1)
