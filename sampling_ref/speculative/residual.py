"""What is left of the target row when a draft has been rejected.

Leviathan et al. 2023, section 2.3 (https://arxiv.org/abs/2211.17192); Chen et al. 2023,
theorem 1 (https://arxiv.org/abs/2302.01318). The rule:

    Subtract the draft's share of each token from the target's, but not below zero, and
    scale what is left to sum to one. A draw from this row replaces the draft.

Why this makes the output follow the target
    A token comes out by acceptance with probability q(x) min(1, p(x) / q(x)), which is
    the smaller of the two shares. What is missing from p(x) is max(p(x) - q(x), 0). These
    missing parts sum to exactly the probability of a rejection, and in a rejection the
    residual hands them out in exactly these proportions.

Equal rows
    Then nothing is missing and nothing is ever rejected, so this is an error. An engine can
    get here nevertheless, by rounding or because it rejects where u * q(x) equals p(x);
    "target" returns the target row, as mistral.rs does. (vLLM's argmax over zeros returns
    token 0, SGLang the last token, transformers and torch raise.)

By token
    Shares are subtracted token by token. Where target and draft are lists of candidates,
    filtered and sorted each in its own way, equal places are not equal tokens.

Mixture (`ensemble`): a mixture of target and draft, taken as the target.

transformers 5.23.0, `assistant_ensemble_weight` (`generation/utils.py:4440-4493`), after
"DIVERSE" (https://arxiv.org/abs/2604.07622). The rule:

    Accept a draft x as if the target were w p + (1 - w) q: with probability
    1 - w + w p(x) / q(x). The residual needs no change, because (w p + (1 - w) q) - q is
    w (p - q): the same proportions.

So each place with a draft follows the mixture and not the target, by choice; the bonus
token, for which there is no draft, follows the target itself.
"""

from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from sampling_ref.errors import RowError
from sampling_ref.parameters import read_choice, read_fraction
from sampling_ref.row import Number, whole_numbers
from sampling_ref.speculative.shares import read_two_shares

IfEqual: TypeAlias = Literal["error", "target"]
"""What the residual of two equal rows is."""


def subtract(p: list[Fraction], q: list[Fraction], if_equal: IfEqual) -> list[Fraction]:
    """Return the residual of two rows that each sum to one; nothing is checked."""
    zero = Fraction(0)
    missing = [
        mine - offered if mine > offered else zero for mine, offered in zip(p, q, strict=True)
    ]
    wholes, _ = whole_numbers(missing)
    if total := sum(wholes):
        return [Fraction(whole, total) if whole else zero for whole in wholes]
    if if_equal == "target":
        return p
    raise RowError("target and draft are equal, so nothing is ever rejected")


def residual(target: Any, draft: Any, *, if_equal: IfEqual = "error") -> list[Fraction]:
    """Return the row to draw from after a rejection, as exact shares.

    >>> residual([0.5, 0.25, 0.25], [0.25, 0.75, 0.0])
    [Fraction(1, 2), Fraction(0, 1), Fraction(1, 2)]
    >>> residual([0.5, 0.5], [2.0, 2.0])
    Traceback (most recent call last):
    sampling_ref.errors.RowError: target and draft are equal, so nothing is ever rejected
    >>> residual([0.5, 0.5], [2.0, 2.0], if_equal="target")
    [Fraction(1, 2), Fraction(1, 2)]
    """
    read_choice("if_equal", if_equal, get_args(IfEqual))
    return subtract(*read_two_shares(target, draft), if_equal)


def ensemble(target: Any, draft: Any, weight: Number) -> list[Fraction]:
    """Return `weight` times the target plus the rest of one times the draft, as shares.

    >>> ensemble([1.0, 0.0], [0.5, 0.5], 0.5)
    [Fraction(3, 4), Fraction(1, 4)]
    """
    w = read_fraction("weight", weight, "[0, 1]")
    p, q = read_two_shares(target, draft)
    return [w * mine + (1 - w) * offered for mine, offered in zip(p, q, strict=True)]
