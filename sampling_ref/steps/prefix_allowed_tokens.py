"""Allowed by a function: what may follow depends on the history.

De Cao et al., "Autoregressive Entity Retrieval", ICLR 2021, section 3
(https://arxiv.org/abs/2010.00904); as in Hugging Face transformers 5.23.0,
`generation/logits_process.py`, class `PrefixConstrainedLogitsProcessor`. The rule:

    A function is given the history and returns the tokens that may follow; all others are
    impossible.

None
    If the function returns no token, that is an error.
Nothing possible left
    If every allowed token was impossible before, transformers gives each of them the
    logit 0, so that the constraint holds whatever was masked (`when_none="force"`, the
    default); `"leave"` returns a row that is all minus infinity.
The history
    The function gets its own list and may change it.
"""

from collections.abc import Callable, Collection
from math import inf
from typing import Literal

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_token_set
from sampling_ref.row import Number, ReadRow, TokenId, force, mask
from sampling_ref.steps.step import row_rule


@row_rule("only tokens that a function of the history allows")
def prefix_allowed_tokens(
    logits: ReadRow,
    history: list[TokenId],
    allowed_after: Callable[[list[TokenId]], Collection[TokenId]],
    *,
    when_none: Literal["force", "leave"] = "force",
) -> list[Number]:
    """Return the row with only the tokens left that `allowed_after` allows.

    >>> prefix_allowed_tokens([1.0, 2.0, 3.0], [1], lambda history: [history[-1] + 1])
    [-inf, -inf, 3.0]
    >>> prefix_allowed_tokens([1.0, float("-inf")], [0], lambda history: [1])
    [-inf, 0.0]
    """
    if not callable(allowed_after):
        raise ParameterError("allowed_after", allowed_after, "must be a function of the history")
    kept = read_token_set(allowed_after(history), len(logits), "allowed_after(history)")
    if not kept:
        raise ParameterError("allowed_after(history)", [], "must name at least one token")
    masked = mask(logits, kept)
    return force(logits, kept) if when_none == "force" and max(masked) == -inf else masked
