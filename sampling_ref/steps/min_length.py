"""Minimum length: no end before a number of tokens, the prompt included.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`MinLengthLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    The tokens that end a text are impossible while the history is shorter than `length`.

Prompt
    It counts. `min_new_tokens` counts what was generated.
Reaching it
    At exactly `length` tokens the text may end.
Which tokens
    All of `ends`. vLLM and SGLang put the stop tokens of a request there too.
"""

from sampling_ref.parameters import read_token_set, read_whole
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, ban
from sampling_ref.steps.step import row_rule


@row_rule("no end before the sequence has {length} tokens")
def min_length(logits: ReadRow, history: list[TokenId], length: int, ends: Tokens) -> list[Number]:
    """Return the row, without the ends while the history is too short.

    >>> min_length([1.0, 2.0], [0, 0], length=3, ends=1)
    [1.0, -inf]
    >>> min_length([1.0, 2.0], [0, 0, 0], length=3, ends=1)
    [1.0, 2.0]
    """
    read_whole("length", length)
    final = read_token_set(ends, len(logits), "ends")
    return ban(logits, final) if len(history) < length else logits
