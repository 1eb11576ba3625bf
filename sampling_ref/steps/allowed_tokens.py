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

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import read_token_set
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, mask
from sampling_ref.steps.step import row_rule


@row_rule("only some tokens are allowed")
def allowed_tokens(logits: ReadRow, history: list[TokenId], tokens: Tokens) -> list[Number]:
    """Return the row with only `tokens` left.

    >>> allowed_tokens([1.0, 2.0, 3.0], [], [0, 2])
    [1.0, -inf, 3.0]
    """
    kept = read_token_set(tokens, len(logits), "tokens")
    if not kept:
        raise ParameterError("tokens", tokens, "must name at least one token")
    return mask(logits, kept)
