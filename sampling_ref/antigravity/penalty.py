"""Step 1, for numbers of any kind: a penalty for each occurrence in the window."""

from collections.abc import Sequence
from math import inf

from sampling_ref.antigravity.settings import NumberKind, Settings
from sampling_ref.history import last_tokens
from sampling_ref.row import Number, TokenId


def penalise(
    logits: Sequence[Number],
    history: Sequence[TokenId],
    settings: Settings,
    number: NumberKind,
) -> list[Number]:
    """Return the logits with those of the window's tokens penalised, once per occurrence.

    Zero, infinities and NaN stay as they are, the sign of a zero included: dividing or
    multiplying by a number above 0 leaves them so in any arithmetic.

    >>> from fractions import Fraction
    >>> settings = Settings(repetition_penalty=Fraction(2), repetition_window=3)
    >>> penalise([4.0, -1.0, -0.0], [1, 0, 0, 2], settings, Fraction)
    [Fraction(1, 1), -1.0, -0.0]
    """
    penalised = list(logits)
    for token in last_tokens(history, settings.repetition_window):
        logit = penalised[token]
        if logit < 0 and logit != -inf:
            penalised[token] = number(logit) * settings.repetition_penalty
        elif logit > 0:
            penalised[token] = number(logit) / settings.repetition_penalty
    return penalised
