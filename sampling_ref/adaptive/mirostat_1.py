"""Mirostat 1: keep the surprise of the text near a target, by way of Zipf's law.

Basu, Ramachandran, Keskar and Varshney, "Mirostat: A Neural Text Decoding Algorithm that
Directly Controls Perplexity", ICLR 2021, algorithm 1 (https://arxiv.org/abs/2007.14966). In
our words:

    Suppose that probabilities fall like rank**-s. Estimate s from the most probable tokens
    by least squares: with t_i = log((i + 2) / (i + 1)) and b_i = log(p_i / p_(i+1)), ranks
    from 0, s = sum of t_i * b_i / sum of t_i**2. With e = s - 1 and N tokens in the
    vocabulary, keep the k most probable tokens, where

        k = (e * 2**mu / (1 - N**-e)) ** (1 / s)

    Draw one of them. Then lower mu by eta times what the surprise of the drawn token, in
    bits, exceeds the target tau by. At the start, mu is twice tau.

How many ranks
    `ranks` tokens take part in the estimate, or all possible ones if they are fewer: 100
    in the paper, 3001 in the authors' program.
Whole numbers
    "floor": k without its fraction, but at least 1, as llama.cpp has it. "nearest and one":
    rounded to the nearest, and one more, as the authors' program has it.
One candidate
    No ratio, so no s. The candidate is kept.
Flat rows
    If the ranks of the estimate are equally probable, s = 0 and 1/s has no value. "limit":
    what k tends to when s goes to 0, which is all tokens if 2**mu is above N - 1, and none
    below, so that the rule for whole numbers decides. "one": one token. (llama.cpp converts
    infinity, or zero, to a whole number; on x86 processors that gives one token.)
Huge k
    A k above `largest_k` leaves one token; no k is too large if that is None. (llama.cpp
    converts k to a whole number of 32 bits; what does not fit becomes the smallest one on
    x86 processors.)
s = 1
    e / (1 - N**-e) is 0/0. It cannot happen exactly with rational logits and two ranks. If
    s cannot be told from 1, that is an `UndecidedError`.
Ties
    Of equals, those of the lowest ids are kept.
Whose surprise
    "whole": in the distribution before the removal, as the authors' program has it. "kept":
    in the distribution that the token was drawn from, as llama.cpp has it.
The draw
    Tokens are walked by falling probability and rising id; the first one is drawn whose
    running share of the kept weight is at least the uniform number given.
Rounding
    k is a real number here, calculated as closely as its whole part needs. The surprise is
    the nearest float, and mu is calculated from it in floats.
"""

from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any, Literal, get_args

from sampling_ref.mirostat import Whose, draw_falling, next_mu
from sampling_ref.numbers.orders import largest
from sampling_ref.numbers.reals import Real, sum_of
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Number, TokenId, possible, read_possible_logits

Whole = Literal["floor", "nearest and one"]
Flat = Literal["limit", "one"]


def mirostat_1_kept(
    logits: Any,
    mu: Number,
    *,
    ranks: int = 100,
    vocabulary: int | None = None,
    whole: Whole = "floor",
    flat: Flat = "limit",
    largest_k: int | None = None,
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the k most probable tokens.

    `vocabulary` is N, by default the length of the row.

    >>> row = [4.0, 3.0, 2.0, 1.0]
    >>> sorted(mirostat_1_kept(row, mu=1.0)), sorted(mirostat_1_kept(row, mu=3.0))
    ([0], [0, 1, 2])
    """
    row = read_possible_logits(logits)
    most = read_fraction("mu", mu, "(-inf, inf)")
    scale = read_fraction("factor", factor, "(0, inf)")
    read_whole("ranks", ranks, 2)
    read_choice("whole", whole, get_args(Whole))
    read_choice("flat", flat, get_args(Flat))
    if largest_k is not None:
        read_whole("largest_k", largest_k, 1)
    size = len(row) if vocabulary is None else read_whole("vocabulary", vocabulary, len(row))
    tokens = possible(row)
    if len(tokens) == 1:
        return frozenset(tokens)
    best = largest([row[token] for token in tokens], ranks, "lowest id")
    steps = [
        (Fraction(row[tokens[one]]) - Fraction(row[tokens[two]])) * scale
        for one, two in pairwise(best)
    ]
    if any(steps):
        log_k = _log_k(steps, most, size)
        is_huge = largest_k is not None and log_k >= Real(largest_k + 1).log()
        count = 1 if is_huge else _whole_part(log_k, len(tokens), whole)
    elif flat == "one":
        count = 1
    elif most >= 0 and 2**most > size - 1:  # k is infinite
        count = len(tokens)
    else:
        count = 1 + (whole == "nearest and one" and 2**most == size - 1)
    chosen = largest([row[token] for token in tokens], count, "lowest id")
    return frozenset(tokens[place] for place in chosen)


def _log_k(steps: list[Fraction], mu: Fraction, size: int) -> Real:
    """Return the logarithm of k, given the logarithms of the ratios p_i / p_(i+1)."""
    expected = [Real(Fraction(rank + 2, rank + 1)).log() for rank in range(len(steps))]
    products = sum_of(t * b for t, b in zip(expected, steps, strict=True))
    exponent = products / sum_of(t * t for t in expected)
    excess = exponent - 1
    damping = 1 - (-excess * Real(size).log()).exp()
    # Both are positive, or both are negative.
    ratio = excess / damping
    return (ratio.log() + Real(2).log() * mu) / exponent


def _whole_part(log_k: Real, most: int, whole: Whole) -> int:
    """Return how many of at most `most` tokens k means."""
    if log_k >= Real(most + 1).log():
        return most
    lowest = Fraction(1) if whole == "floor" else Fraction(1, 2)
    if log_k < Real(lowest).log():
        return 1
    k = log_k.exp()
    shifted = k if whole == "floor" else k + Fraction(1, 2)
    number = floor(float(shifted))
    if number > shifted:  # the float was rounded up
        number -= 1
    return number if whole == "floor" else number + 1


def mirostat_1(
    logits: Any,
    mu: Number,
    *,
    tau: Number,
    eta: Number,
    uniform: Number,
    ranks: int = 100,
    vocabulary: int | None = None,
    whole: Whole = "floor",
    flat: Flat = "limit",
    whose: Whose = "whole",
    factor: Number = 1,
) -> tuple[TokenId, Number]:
    """Return the token drawn with a random number in [0, 1), and mu for the next token.

    >>> token, mu = mirostat_1([4.0, 3.0, 2.0, 1.0], 3.0, tau=1.5, eta=0.5, uniform=0.75)
    >>> token, round(mu, 4)
    (1, 2.7111)
    """
    row = read_possible_logits(logits)
    kept = mirostat_1_kept(
        row, mu, ranks=ranks, vocabulary=vocabulary, whole=whole, flat=flat, factor=factor
    )
    token = draw_falling(row, kept, uniform, factor=factor)
    after = next_mu(row, kept, token, mu, tau=tau, eta=eta, whose=whose, factor=factor)
    return token, after
