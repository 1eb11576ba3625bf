"""Eta filtering.

Hewitt, Manning and Liang, "Truncation Sampling as Language Model Desmoothing", Findings of
EMNLP 2022, section 4 (https://arxiv.org/abs/2210.15191). The rule:

    Keep the tokens whose probability is above eta, the smaller one of epsilon and
    alpha * e**(-H), where H is the entropy of the distribution in nats.

Alpha
    The paper sets it to the square root of epsilon, and so does every engine
    (`scale=None`). Any other positive number may be given.
Equality
    The paper's sign is "greater than" ("removed"). The one engine that has this filter
    keeps a token exactly at eta, and so does the default here ("kept").
Least
    Never fewer than `least` tokens, the most probable first; `ties` says which of equals.
    The most probable token always lies above alpha * e**(-H) if alpha is below 1, because
    e**(-H) is a mean of the probabilities (the geometric one).
Impossible tokens
    A token of no weight is never kept and adds nothing to the entropy.
Rounding
    There is none. Given weights, the question is the sign of a sum of logarithms of
    rational numbers, which is always decided. Given logits, alpha * e**(-H) is compared as
    factor * (logit - mean logit) with log alpha; should the two agree to 200 digits, that
    is an `UndecidedError`, not a guess.
"""

from fractions import Fraction
from typing import Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers, OfEntropy
from sampling_ref.parameters import read_fraction, read_whole
from sampling_ref.row import Candidates, Number, Ties
from sampling_ref.steps.step import rule


@rule("keeps tokens with a probability of at least {cutoff}, or less if the entropy is high")
def eta(
    candidates: Candidates,
    cutoff: Number,
    *,
    scale: Number | None = None,
    equality: Literal["kept", "removed"] = "kept",
    least: int = 1,
    ties: Ties = "lowest id",
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates of at least probability eta; `cutoff` is epsilon.

    The entropy of these shares is 1.75 bits, e**(-H) is about 0.297, and half of it 0.149.

    >>> from sampling_ref import WEIGHTS
    >>> eta([0.5, 0.25, 0.125, 0.125], cutoff=0.25, numbers=WEIGHTS).tokens
    [0, 1]
    >>> eta([0.0, 0.0, -0.5, -9.0], cutoff=0.25).tokens
    [0, 1, 2]
    """
    read_whole("least", least, 0)
    share = read_fraction("cutoff", cutoff, "(0, 1)")
    power, base = Fraction(1, 2), share  # the square root of epsilon
    if scale is not None:
        power, base = Fraction(1), read_fraction("scale", scale, "(0, inf)")
    here = numbers.of(candidates)
    return here.keep_at_least(
        OfEntropy(share, power, base), strictly=equality == "removed", least=least, ties=ties
    )
