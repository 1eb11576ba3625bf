"""Suppressed tokens: some tokens are never possible.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`SuppressTokensLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    The given tokens are impossible.

All banned
    Nothing keeps a token possible. If all are banned the row is all minus infinity.
Finite masks
    Some engines lower the logit to a large negative number instead (mistral.rs: by 1e9,
    exllamav2: to -1e30), so that a row of nothing but suppressed tokens still gives one.
"""

from sampling_ref.parameters import read_token_set
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, ban
from sampling_ref.steps.step import row_rule


@row_rule("some tokens are banned")
def suppress(logits: ReadRow, history: list[TokenId], tokens: Tokens) -> list[Number]:
    """Return the row without `tokens`.

    >>> suppress([1.0, 2.0, 3.0], [], [0, 2])
    [-inf, 2.0, -inf]
    """
    return ban(logits, read_token_set(tokens, len(logits), "tokens"))
