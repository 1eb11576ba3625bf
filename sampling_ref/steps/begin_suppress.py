"""Suppressed first tokens: some tokens are impossible at the beginning.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`SuppressTokensAtBeginLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    The given tokens are impossible while the history has exactly `begin` tokens.

One place
    Only the token at this place is affected, neither earlier nor later ones.
A forced first token
    `generate()` counts a token that `forced_bos` forces to the beginning: if one is `forced`
    and `begin` is at most 1, the place is the one after it.
"""

from sampling_ref.parameters import read_token_set, read_whole
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, ban
from sampling_ref.steps.step import row_rule


@row_rule("some tokens are banned right after the prompt")
def begin_suppress(
    logits: ReadRow,
    history: list[TokenId],
    tokens: Tokens,
    begin: int,
    *,
    forced: TokenId | None = None,
) -> list[Number]:
    """Return the row, without `tokens` if the next token is the one at place `begin`.

    >>> begin_suppress([1.0, 2.0], [0], tokens=[1], begin=1)
    [1.0, -inf]
    >>> begin_suppress([1.0, 2.0], [0, 0], tokens=[1], begin=1)
    [1.0, 2.0]
    >>> begin_suppress([1.0, 2.0], [0, 0], tokens=[1], begin=1, forced=0)
    [1.0, -inf]
    """
    place = read_whole("begin", begin)
    if forced is not None and place <= 1:
        place += 1
    suppressed = read_token_set(tokens, len(logits), "tokens")
    return ban(logits, suppressed) if len(history) == place else logits
