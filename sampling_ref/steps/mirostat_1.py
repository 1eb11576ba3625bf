"""Mirostat 1: keep the surprise of the text near a target, by way of Zipf's law.

Basu, Ramachandran, Keskar and Varshney, "Mirostat: A Neural Text Decoding Algorithm that
Directly Controls Perplexity", ICLR 2021, algorithm 1 (https://arxiv.org/abs/2007.14966). The
rule:

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
Impossible candidates
    An engine that keeps them in its list counts them as ranks. Among the ranks of the
    estimate one of them makes k infinite or no number, and one token is left.
s = 1
    e / (1 - N**-e) is 0/0. It cannot happen exactly with rational logits and two ranks. If
    s cannot be told from 1, that is an `UndecidedError`.
Ties
    If some are equal, those with the lowest ids are kept.
Whose surprise, and the draw
    See `steps/mirostat.py`.
Rounding
    k is a real number here, calculated as closely as its whole part needs. The surprise is
    the nearest float, and mu is calculated from it in floats.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor, inf
from typing import Literal

from sampling_ref.numbers.binary32 import quotient, to_binary32
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.glibc import logf, powf
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.numbers.reals import Real, sum_of
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Candidates, Number
from sampling_ref.steps.mirostat import next_mu
from sampling_ref.steps.step import rule

WHOLE = ("floor", "nearest and one")


@rule("keeps as many tokens as hold the surprise near {tau} bits", remember=next_mu)
def mirostat_1(
    candidates: Candidates,
    mu: Number | None = None,
    *,
    tau: Number,
    ranks: int = 100,
    size: int | None = None,
    whole: str = "floor",
    flat: Literal["limit", "one"] = "limit",
    largest_k: int | None = None,
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the k most probable candidates; `mu` is twice tau by default.

    `size` is N, the size of the vocabulary, by default the length of the row.

    >>> row = [4.0, 3.0, 2.0, 1.0]
    >>> mirostat_1(row, mu=1.0, tau=3.0).tokens, mirostat_1(row, mu=3.0, tau=3.0).tokens
    ([0], [0, 1, 2])
    """
    read_choice("whole", whole, WHOLE)
    read_whole("ranks", ranks, 2)
    if largest_k is not None:
        read_whole("largest_k", largest_k, 1)
    most = 2 * read_fraction("tau", tau) if mu is None else read_fraction("mu", mu)
    here = numbers.of(candidates).ordered()
    tokens = len(here.values)
    vocabulary = tokens if size is None else read_whole("size", size, tokens)
    best = [here.values[place] for place in here.largest(ranks, "lowest id")]
    if here.rounds:
        count = _count_in_32_bits(here.probabilities(), ranks, float(most), vocabulary, largest_k)
    elif len(best) == 1 or -inf in best:
        count = 1
    else:
        steps = [
            (Fraction(one) - Fraction(two)) * here.candidates.factor for one, two in pairwise(best)
        ]
        count = _count(steps, most, vocabulary, len(here.possible()), whole, flat, largest_k)
    return here.keep(here.largest(count, "lowest id"), "falling")


def _count(
    steps: list[Fraction],
    mu: Fraction,
    size: int,
    tokens: int,
    whole: str,
    flat: Literal["limit", "one"],
    largest_k: int | None,
) -> int:
    """Return how many of the possible tokens k means."""
    if any(steps):
        log_k = _log_k(steps, mu, size)
        is_huge = largest_k is not None and log_k >= Real(largest_k + 1).log()
        return 1 if is_huge else _whole_part(log_k, tokens, whole)
    if flat == "one":
        return 1
    if mu < 0:
        return 1
    if mu >= size.bit_length():  # k is infinite; 2**mu may be too large to be written down
        return tokens
    if mu.denominator == 1 and 2 ** int(mu) == size - 1:
        return 1 + (whole == "nearest and one")
    return tokens if Real(2).log() * mu > Real(size - 1).log() else 1


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


def _whole_part(log_k: Real, most: int, whole: str) -> int:
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


def _count_in_32_bits(
    shares: Sequence[float], ranks: int, mu: float, size: int, largest_k: int | None
) -> int:
    """Return k as llama.cpp calculates it, divisions by zero included."""
    products = squares = 0.0
    for i in range(min(ranks, len(shares)) - 1):
        t = logf(float(i + 2) / float(i + 1))
        b = logf(quotient(shares[i], shares[i + 1]))
        products = to_binary32(products + to_binary32(t * b))
        squares = to_binary32(squares + to_binary32(t * t))
    exponent = to_binary32(quotient(products, squares))
    excess = to_binary32(exponent - 1)
    raised = to_binary32(excess * powf(2.0, to_binary32(mu)))
    damping = to_binary32(1 - powf(float(size), -excess))
    k = powf(quotient(raised, damping), quotient(1.0, exponent))
    return int(k) if 1 <= k < (inf if largest_k is None else largest_k + 1) else 1
