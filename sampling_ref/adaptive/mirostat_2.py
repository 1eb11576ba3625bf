"""Mirostat 2: keep the surprise of the text near a target.

Basu, Ramachandran, Keskar and Varshney, "Mirostat: A Neural Text Decoding Algorithm that
Directly Controls Perplexity", ICLR 2021, algorithm 2 (https://arxiv.org/abs/2007.14966). In
our words:

    Remove the tokens whose surprise, -log2 p, is above mu. Draw one of the others. Then
    lower mu by eta times what the surprise of the drawn token exceeds the target tau by.
    At the start, mu is twice tau.

Equality
    A token whose surprise is exactly mu is kept.
None left
    If even the most probable token is more surprising than mu, it is kept alone, the one
    of the lowest id.
Whose surprise
    "whole": the drawn token's in the distribution before the removal, as the authors'
    program has it. "kept": in the distribution that it was drawn from, as llama.cpp has it.
The draw
    Tokens are walked by falling probability and rising id; the first one is drawn whose
    running share of the kept weight is at least the uniform number given.
Rounding
    What is kept and what is drawn is decided exactly. The surprise is the nearest float,
    and mu is calculated from it in floats.
"""

from typing import Any

from sampling_ref.mirostat import Whose, draw_falling, next_mu
from sampling_ref.numbers.logarithm_sums import sign_of_logarithms
from sampling_ref.numbers.orders import largest
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.thresholds import logits_at_least
from sampling_ref.numbers.totals import log_of_sum
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number, TokenId, possible, read_possible_logits


def mirostat_2_kept(
    logits: Any,
    mu: Number,
    *,
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens of at most `mu` bits of surprise.

    >>> sorted(mirostat_2_kept([0.0, 0.0, 0.0, 0.0], mu=2.0))
    [0, 1, 2, 3]
    >>> sorted(mirostat_2_kept([0.0, 0.0, 0.0, 0.0], mu=1.5))
    [0]
    """
    row = read_possible_logits(logits)
    most = read_fraction("mu", mu, "(-inf, inf)")
    scale = read_fraction("factor", factor, "(0, inf)")
    tokens = possible(row)
    if len({row[token] for token in tokens}) == 1:  # each surprise is log2 of their number
        is_kept = sign_of_logarithms([(1, len(tokens)), (-most, 2)]) <= 0
        return frozenset(tokens if is_kept else tokens[:1])
    threshold = log_of_sum(row, scale) - Real(2).log() * most
    kept = logits_at_least(row, threshold, factor=scale)
    return frozenset(kept or largest(row, 1, "lowest id"))


def mirostat_2(
    logits: Any,
    mu: Number,
    *,
    tau: Number,
    eta: Number,
    uniform: Number,
    whose: Whose = "whole",
    factor: Number = 1,
) -> tuple[TokenId, Number]:
    """Return the token drawn with a random number in [0, 1), and mu for the next token.

    >>> mirostat_2([0.0, 0.0, 0.0, 0.0], mu=2.0, tau=1.0, eta=0.5, uniform=0.75)
    (2, 1.5)
    """
    row = read_possible_logits(logits)
    kept = mirostat_2_kept(row, mu, factor=factor)
    token = draw_falling(row, kept, uniform, factor=factor)
    after = next_mu(row, kept, token, mu, tau=tau, eta=eta, whose=whose, factor=factor)
    return token, after
