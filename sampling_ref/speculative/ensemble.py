"""A mixture of target and draft, taken as the target.

transformers 5.23.0, `assistant_ensemble_weight` (`generation/utils.py:4440-4493`), after
"DIVERSE" (https://arxiv.org/abs/2604.07622). In our words:

    Accept a draft x as if the target were w p + (1 - w) q: with probability
    1 - w + w p(x) / q(x). The residual needs no change, because (w p + (1 - w) q) - q is
    w (p - q): the same proportions.

So each place with a draft follows the mixture and not the target, by choice; the bonus
token, for which there is no draft, follows the target itself.
"""

from fractions import Fraction
from typing import Any

from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number
from sampling_ref.speculative.shares import read_two_shares


def ensemble(target: Any, draft: Any, weight: Number) -> list[Fraction]:
    """Return `weight` times the target plus the rest of one times the draft, as shares.

    >>> ensemble([1.0, 0.0], [0.5, 0.5], 0.5)
    [Fraction(3, 4), Fraction(1, 4)]
    """
    w = read_fraction("weight", weight, "[0, 1]")
    p, q = read_two_shares(target, draft)
    return [w * mine + (1 - w) * offered for mine, offered in zip(p, q, strict=True)]
