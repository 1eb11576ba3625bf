"""The LZ penalty of the published fork of SGLang in July 2025.

Source: github.com/tginart/sglang, commit ab08e697,
python/sglang/srt/sampling/penaltylib/lz_penalty.py. What it does, in our words:

    The look-back is the last `window` tokens of the *output*. For each of its tokens with
    at least `buffer` tokens before it, let m be one more than the number of tokens before
    it that agree with the end of the look-back, at most `buffer` of them, and i its
    distance (the newest token of the look-back has distance 1). For a next token `a`,
    take the place of `a` with the largest m, the nearest of equals:

    cost(a) = log2(i), but at most log2(V), and log2(V) if there is no place,

    and strength * (log2(V) - cost(a)) is subtracted from the logit.

Where it departs from its paper
    As in March: one window that includes the buffer, the output only, and a new token is
    the zero. The length of the match chooses the place and then has no effect. A place at
    distance V or more counts as new.
Does it run
    Not as it is: a tensor of integers is filled with infinity, which PyTorch refuses.
    With that tensor made one of floats it does what is described here.
Short outputs
    Nothing changes as long as the look-back has no more than `buffer` tokens.
Precision
    The fork computes in 32-bit floats. Here the real numbers are given.
"""

from collections.abc import Sequence
from fractions import Fraction

from sampling_ref.lz.changes import Change, Changes
from sampling_ref.lz.matches import Match, own_beginnings
from sampling_ref.row import TokenId


def fork_july(history: Sequence[TokenId], size: int, window: int, buffer: int) -> Changes:
    """Return the change that each next token brings, in bits, to be added.

    `history` is the output: what the model wrote, without the prompt.

    >>> changes = fork_july([1, 2, 3, 4, 5, 1, 2, 3], size=8, window=8, buffer=3)
    >>> changes.of(3).power, changes.of(4).power  # distances 1 and 5, of eight
    (Fraction(1, 8), Fraction(5, 8))
    """
    seen = list(history[max(0, len(history) - window) :])[::-1]
    agreeing = own_beginnings(seen)
    best: dict[TokenId, Match] = {}
    for place in range(len(seen) - buffer):
        token = seen[place]
        length = min(agreeing[place + 1], buffer) + 1
        if token not in best or length > best[token].length:
            best[token] = Match(length, distance=place + 1)
    by_token = {
        token: Change(Fraction(min(match.distance, size), size)) for token, match in best.items()
    }
    return Changes(by_token, otherwise=Change(Fraction(1)))
