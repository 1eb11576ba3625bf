"""What the tests of all filters need: weights for logits, sums over kept tokens, bad numbers."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any, TypeAlias

import sampling_ref
from sampling_ref import EXACT, WEIGHTS
from sampling_ref.row import Candidates, read_possible_logits, read_weights

DIGITS = Context(prec=80, Emin=-999999, Emax=999999)

NO_NUMBERS = [nan, inf, -inf, True, "0.5", None, [0.5]]
"""Values that are not numbers, for any parameter."""


def weights_of(logits: Sequence[float], factor: float = 1.0) -> list[Fraction]:
    """Return rational weights with 80 right digits for each logit of a row.

    A decision on them is the one on the real numbers, unless the two sides of a comparison
    agree to nearly 80 digits; and equal logits have equal weights.
    """
    return [
        Fraction(0)
        if logit == -inf
        else Fraction(DIGITS.exp(DIGITS.multiply(Decimal(logit), Decimal(factor))))
        for logit in logits
    ]


def total(row: Sequence[float | Fraction], tokens: Iterable[int]) -> Fraction:
    return sum((Fraction(row[token]) for token in tokens), start=Fraction(0))


def everything(row: Sequence[float | Fraction]) -> frozenset[int]:
    return frozenset(range(len(row)))


def possible(row: Sequence[float | Fraction]) -> frozenset[int]:
    return frozenset(token for token, weight in enumerate(row) if weight > 0)


Filter: TypeAlias = Callable[..., frozenset[int]]


def of_weights(rule: Callable[..., Candidates]) -> Filter:
    """Return a rule as a function from weights to the set of ids that it keeps."""

    def keep(row: Any, *args: Any, total: Any = None, **choices: Any) -> frozenset[int]:
        weights = read_weights(row)
        if total is not None:
            choices["base"] = "the whole row"
        whole = None if total is None else [total]
        candidates = Candidates(range(len(weights)), weights, whole=whole)
        return frozenset(rule(candidates, *args, **choices, numbers=WEIGHTS).tokens)

    return keep


def of_logits(rule: Callable[..., Candidates]) -> Filter:
    """Return a rule as a function from logits to the set of ids that it keeps."""

    def keep(
        row: Any, *args: Any, total: Any = None, factor: Any = 1, **choices: Any
    ) -> frozenset[int]:
        logits = read_possible_logits(row)
        if total is not None:
            choices["base"] = "the whole row"
        candidates = Candidates(range(len(logits)), logits, factor, whole=total)
        return frozenset(rule(candidates, *args, **choices, numbers=EXACT).tokens)

    return keep


epsilon, epsilon_logits = of_weights(sampling_ref.epsilon), of_logits(sampling_ref.epsilon)
eta, eta_logits = of_weights(sampling_ref.eta), of_logits(sampling_ref.eta)
min_p, min_p_logits = of_weights(sampling_ref.min_p), of_logits(sampling_ref.min_p)
tail_free = of_weights(sampling_ref.tail_free)
tail_free_logits = of_logits(sampling_ref.tail_free)
top_a, top_a_logits = of_weights(sampling_ref.top_a), of_logits(sampling_ref.top_a)
top_h, top_h_logits = of_weights(sampling_ref.top_h), of_logits(sampling_ref.top_h)
top_k, top_k_logits = of_weights(sampling_ref.top_k), of_logits(sampling_ref.top_k)
top_n_sigma_logits = of_logits(sampling_ref.top_n_sigma)
top_p, top_p_logits = of_weights(sampling_ref.top_p), of_logits(sampling_ref.top_p)
typical, typical_logits = of_weights(sampling_ref.typical), of_logits(sampling_ref.typical)
xtc, xtc_logits = of_weights(sampling_ref.xtc), of_logits(sampling_ref.xtc)
"""The rules on weights and on logits, as functions to sets of ids."""
