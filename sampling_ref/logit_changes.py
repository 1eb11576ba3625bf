"""Changing some logits of a row: what every penalty does, and what every mask does.

Impossible tokens
    A token at minus infinity stays there: nothing is calculated with it.
Too large, too small
    A result that no float can hold is what IEEE 754 makes of it if it is negative: minus
    infinity. Above, and where there is no number at all, it is an error, because a row
    holds neither plus infinity nor NaN.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf, nan

from sampling_ref.errors import RowError, shown
from sampling_ref.row import Number, TokenId


def change_logits(
    step: str,
    logits: Sequence[Number],
    tokens: Iterable[TokenId],
    formula: Callable[[TokenId, Number], Number],
) -> list[Number]:
    """Return the row with `formula(token, logit)` in place of the logit of each of `tokens`.

    `logits` is a row that was read; `step` names the step in the error.

    >>> change_logits("doubling", [1.0, 2.0], [1], lambda token, logit: logit * 2)
    [1.0, 4.0]
    >>> change_logits("doubling", [1e308], [0], lambda token, logit: logit * 2)
    Traceback (most recent call last):
    sampling_ref.errors.RowError: doubling makes no finite number of the logit of token 0, 1e+308
    """
    changed = list(logits)
    for token in tokens:
        logit = logits[token]
        if logit == -inf:
            continue
        try:
            number = formula(token, logit)
        except (OverflowError, ZeroDivisionError):
            number = nan
        if not -inf <= number < inf:
            sentence = (
                f"{step} makes no finite number of the logit of token {token}, {shown(logit)}"
            )
            raise RowError(sentence)
        changed[token] = number
    return changed


def ban(logits: Sequence[Number], tokens: Iterable[TokenId]) -> list[Number]:
    """Return the row with the logit of each of `tokens` at minus infinity.

    >>> ban([1.0, 2.0], [0])
    [-inf, 2.0]
    """
    changed = list(logits)
    for token in tokens:
        changed[token] = -inf
    return changed


def force(logits: Sequence[Number], tokens: Iterable[TokenId]) -> list[Number]:
    """Return a row of minus infinities with a zero for each of `tokens`.

    >>> force([1.0, 2.0, 3.0], [1])
    [-inf, 0.0, -inf]
    """
    forced: list[Number] = [-inf] * len(logits)
    for token in tokens:
        forced[token] = 0.0
    return forced
