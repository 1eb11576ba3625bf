"""Eta filtering.

Hewitt, Manning and Liang, "Truncation Sampling as Language Model Desmoothing", Findings of
EMNLP 2022, section 4 (https://arxiv.org/abs/2210.15191). In our words:

    Keep the tokens whose probability is above eta, the smaller one of epsilon and
    alpha * e**(-H), where H is the entropy of the distribution in nats.

Alpha
    The paper sets it to the square root of epsilon, and so does every engine
    (`scale=None`). Any other positive number may be given.
Equality
    The paper's sign is "greater than" ("removed"). The one engine that has this filter
    keeps a token exactly at eta, and so does the default here ("kept").
Least
    Never fewer tokens than so many, the most probable first; `ties` says which of equals.
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
from math import inf
from typing import Any, Literal, get_args

from sampling_ref.numbers.logarithm_sums import Term, sign_of_logarithms
from sampling_ref.numbers.orders import Ties, largest
from sampling_ref.numbers.thresholds import above_mean, probabilities_at_least
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Number, TokenId, read_possible_logits, read_weights

Equality = Literal["kept", "removed"]


def eta(
    weights: Any,
    cutoff: Number,
    *,
    scale: Number | None = None,
    equality: Equality = "kept",
    least: int = 1,
    ties: Ties = "lowest id",
) -> frozenset[TokenId]:
    """Return the ids of the tokens of at least probability eta; `cutoff` is epsilon.

    The entropy of this row is 1.75 bits, e**(-H) is about 0.297, and half of it 0.149.

    >>> sorted(eta([0.5, 0.25, 0.125, 0.125], cutoff=0.25))
    [0, 1]
    >>> sorted(eta([0.25, 0.25, 0.25, 0.25], cutoff=0.75))
    [0, 1, 2, 3]
    """
    row = read_weights(weights)
    epsilon, log_scale = _read_choices(cutoff, scale, equality, least)
    total = sum((Fraction(weight) for weight in row), start=Fraction(0))
    probabilities = [Fraction(weight) / total for weight in row]
    coefficient, argument = log_scale
    rest: list[Term] = [(-p, p) for p in probabilities if p]  # their sum is H
    rest.append((-coefficient, argument))

    def is_above(p: Fraction) -> bool:
        # Above the smaller threshold is above one of the two.
        sign = max((p > epsilon) - (p < epsilon), sign_of_logarithms([(1, p), *rest]))
        return sign > 0 or (sign == 0 and equality == "kept")

    decided = {p: is_above(p) for p in set(probabilities) if p}
    passing = {token for token, p in enumerate(probabilities) if p and decided[p]}
    best = largest(row, least, ties) if len(passing) < least else []
    return frozenset(passing.union(token for token in best if row[token] > 0))


def eta_logits(
    logits: Any,
    cutoff: Number,
    *,
    scale: Number | None = None,
    equality: Equality = "kept",
    least: int = 1,
    ties: Ties = "lowest id",
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens of at least probability eta; `cutoff` is epsilon.

    >>> sorted(eta_logits([0.0, 0.0, -0.5, -9.0], cutoff=0.25))
    [0, 1, 2]
    """
    row = read_possible_logits(logits)
    epsilon, (coefficient, argument) = _read_choices(cutoff, scale, equality, least)
    stretch = read_fraction("factor", factor, "(0, inf)")
    strictly = equality == "removed"
    passing = set(probabilities_at_least(row, epsilon, strictly=strictly, factor=stretch))
    passing.update(above_mean(row, coefficient, argument, stretch, strictly=strictly))
    best = largest(row, least, ties) if len(passing) < least else []
    return frozenset(passing.union(token for token in best if row[token] > -inf))


def _read_choices(
    cutoff: Number, scale: Number | None, equality: Equality, least: int
) -> tuple[Fraction, tuple[Fraction, Fraction]]:
    """Return epsilon, and log alpha as (c, a): c times the logarithm of a."""
    read_choice("equality", equality, get_args(Equality))
    read_whole("least", least, 0)
    epsilon = read_fraction("cutoff", cutoff, "(0, 1)")
    if scale is None:
        return epsilon, (Fraction(1, 2), epsilon)
    return epsilon, (Fraction(1), read_fraction("scale", scale, "(0, inf)"))
