"""Invalid numbers out: the one step that takes a row with NaN or plus infinity.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`InfNanRemoveLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    NaN becomes 0, plus infinity the largest number of the row's kind, and minus infinity
    the smallest.

Masks
    A token that was impossible gets a finite logit. Beside any ordinary logit its
    probability is too small for a float, but in a row that was all minus infinity every
    token is now equally likely.
NaN
    becomes 0, which in a row of negative logits is the likeliest token.
Kind
    `largest` is that of 32-bit floats, in which the engine calculates.
"""

from math import inf
from typing import Any

from sampling_ref.parameters import read_history, read_number
from sampling_ref.row import Number, numbers_of
from sampling_ref.steps.step import row_rule

LARGEST_BINARY32 = (2 - 2.0**-23) * 2.0**127
"""The largest finite 32-bit float, about 3.4e38."""


@row_rule("impossible tokens get the smallest number of 32 bits", reads=False)
def remove_invalid_values(
    logits: Any, history: Any, *, largest: Number = LARGEST_BINARY32
) -> list[Number]:
    """Return the row with a finite number in place of each that is not finite.

    >>> inf, nan = float("inf"), float("nan")
    >>> remove_invalid_values([1.0, nan, inf, -inf], [], largest=1024.0)
    [1.0, 0.0, 1024.0, -1024.0]
    """
    numbers = numbers_of(logits, "logits")
    read_history(history, len(numbers))
    read_number("largest", largest, "(0, inf)")
    replaced: list[Number] = []
    for number in numbers:
        if number == inf:
            replaced.append(largest)
        elif number == -inf:
            replaced.append(-largest)
        else:
            replaced.append(0.0 if number != number else number)  # noqa: PLR0124 - NaN alone
    return replaced
