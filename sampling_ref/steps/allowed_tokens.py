"""Allowed tokens: everything else is impossible.

vLLM 0.33.0, `sampling_params.py`, `allowed_token_ids` (https://github.com/vllm-project/vllm).
The rule:

    Only the given tokens stay possible.

Impossible tokens
    An allowed token that was impossible stays so.
None
    An empty list is an error: a request that allows nothing is a mistake. If all allowed
    tokens were impossible before, the row is all minus infinity.
"""

from collections.abc import Collection
from typing import Any

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_history, read_token_set
from sampling_ref.row import Number, TokenId, mask, read_logits
from sampling_ref.steps.step import no_tokens, row_step


def allowed_tokens(
    logits: Any, history: Any, tokens: TokenId | Collection[TokenId]
) -> list[Number]:
    """Return the row with only `tokens` left.

    >>> allowed_tokens([1.0, 2.0, 3.0], [], [0, 2])
    [1.0, -inf, 3.0]
    """
    numbers = read_logits(logits)
    read_history(history, len(numbers))
    kept = read_token_set(tokens, len(numbers), "tokens")
    if not kept:
        raise ParameterError("tokens", tokens, "must name at least one token")
    return mask(numbers, kept)


STEP = row_step("allowed_tokens", allowed_tokens, "only some tokens are allowed", touched=no_tokens)
