"""Minimum of new tokens: no end before a number of tokens were generated.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`MinNewTokensLengthLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    The tokens that end a text are impossible while fewer than `count` tokens follow the
    prompt.

Reaching it
    After exactly `count` tokens the text may end.
Other names
    `min_tokens` in vLLM, which puts the stop tokens of the request among the ends.
"""

from sampling_ref.parameters import read_token_set, read_whole, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, ban
from sampling_ref.steps.step import row_rule


@row_rule("no end before {count} tokens follow the prompt")
def min_new_tokens(
    logits: ReadRow, history: list[TokenId], count: int, ends: Tokens, *, prompt_length: int = 0
) -> list[Number]:
    """Return the row, without the ends while too little was generated.

    >>> min_new_tokens([1.0, 2.0], [0, 0, 0], count=2, ends=[1], prompt_length=2)
    [1.0, -inf]
    >>> min_new_tokens([1.0, 2.0], [0, 0, 0], count=1, ends=[1], prompt_length=2)
    [1.0, 2.0]
    """
    read_whole("count", count)
    final = read_token_set(ends, len(logits), "ends")
    generated = tokens_seen(history, scope="output", prompt_length=prompt_length)
    return ban(logits, final) if len(generated) < count else logits
