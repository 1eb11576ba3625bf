"""The LZ penalties of the published fork of SGLang, in March and in July 2025.

Source: github.com/tginart/sglang, python/sglang/srt/sampling/penaltylib/lz_penalty.py. What it
does:

    The look-back is the last `window` tokens of the *output*. For each of its tokens with
    at least `buffer` tokens before it, let m be one more than the number of tokens before
    it that agree with the end of the look-back, at most `buffer` of them, and i its
    distance (the newest token of the look-back has distance 1). For a next token `a`,

    in March  cost(a) = the smallest (log2(i + 1) + log2(m)) / m over the places of `a`,
    in July   cost(a) = log2(i) at the place of `a` with the largest m, the nearest of equals,
              but at most log2(V), and log2(V) if there is no place,

    and strength * (log2(V) - cost(a)) is subtracted from the logit.

March is commit d3879438 (4226b723 has the same arithmetic under other names), July ab08e697.

Where both depart from their paper
    Window and buffer overlap: the window includes the buffer, so a token that was just
    written is no new token. The prompt is not seen. A new token costs log2(V), so that the
    constant of the paper cancels.
March
    A cost is divided by the number of tokens it stands for, and the cheapest place wins, not
    the longest match. The distance is one too large.
July
    The length of the match chooses the place and then has no effect. A place at distance V or
    more counts as new. The code does not run as it is: a tensor of integers is filled with
    infinity, which PyTorch refuses. With that tensor made one of floats it does what is
    described here.
Short outputs
    Nothing changes as long as the look-back has no more than `buffer` tokens.
Precision
    The fork computes in 32-bit floats. Here the real numbers are given. Which place is
    cheapest is decided on whole numbers: log2(x) / m < log2(y) / k where x^k < y^m.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from sampling_ref.lz.changes import Change, Changes
from sampling_ref.lz.matches import Match, own_beginnings
from sampling_ref.row import TokenId


def _matches(
    history: Sequence[TokenId], window: int, buffer: int
) -> Iterator[tuple[TokenId, Match]]:
    """Yield each token of the look-back with its m and i, the newest first."""
    seen = list(history[max(0, len(history) - window) :])[::-1]
    agreeing = own_beginnings(seen)
    for place in range(len(seen) - buffer):
        yield seen[place], Match(min(agreeing[place + 1], buffer) + 1, distance=place + 1)


def fork_march(history: Sequence[TokenId], size: int, window: int, buffer: int) -> Changes:
    """Return the change that each next token brings, in bits, to be added.

    `history` is the output: what the model wrote, without the prompt.

    >>> changes = fork_march([1, 2, 3, 4, 5, 1, 2, 3], size=8, window=8, buffer=3)
    >>> changes.of(3).power, changes.of(3).root  # i = 1, m = 1: cost 1, less log2(8)
    (Fraction(1, 4), 1)
    >>> changes.of(4).power, changes.of(4).root  # i = 5, m = 4: cost log2(24) / 4
    (Fraction(3, 512), 4)
    """
    costs: dict[TokenId, tuple[int, int]] = {}  # (x, m) stands for log2(x) / m
    for token, match in _matches(history, window, buffer):
        m, x = match.length, (match.distance + 1) * match.length
        known = costs.get(token)
        if known is None or x ** known[1] < known[0] ** m:
            costs[token] = (x, m)
    by_token = {
        token: Change(Fraction(min(x, size**m), size**m), root=m) for token, (x, m) in costs.items()
    }
    return Changes(by_token, otherwise=Change(Fraction(1)))


def fork_july(history: Sequence[TokenId], size: int, window: int, buffer: int) -> Changes:
    """Return the change that each next token brings, in bits, to be added.

    `history` is the output: what the model wrote, without the prompt.

    >>> changes = fork_july([1, 2, 3, 4, 5, 1, 2, 3], size=8, window=8, buffer=3)
    >>> changes.of(3).power, changes.of(4).power  # distances 1 and 5, of eight
    (Fraction(1, 8), Fraction(5, 8))
    """
    best: dict[TokenId, Match] = {}
    for token, match in _matches(history, window, buffer):
        if token not in best or match.length > best[token].length:
            best[token] = match
    by_token = {
        token: Change(Fraction(min(match.distance, size), size)) for token, match in best.items()
    }
    return Changes(by_token, otherwise=Change(Fraction(1)))
