"""Forced first token: after the start token of a decoder, one given token.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`ForcedBOSTokenLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    If the history has exactly one token, `token` gets the logit 0 and all others are
    impossible.

Impossible tokens
    The forced token becomes possible even if it was not: a mask before this step is
    overruled.
Empty history
    Nothing is forced: the rule is for decoders, whose history begins with a start token.
"""

from typing import Any

from sampling_ref.parameters import read_history
from sampling_ref.row import Number, TokenId, force, read_logits
from sampling_ref.steps.step import no_tokens, row_step


def forced_bos(logits: Any, history: Any, token: TokenId) -> list[Number]:
    """Return the row, or only `token` if it is the second one.

    >>> forced_bos([1.0, 2.0], [0], token=0)
    [0.0, -inf]
    >>> forced_bos([1.0, 2.0], [0, 1], token=0)
    [1.0, 2.0]
    """
    numbers = read_logits(logits)
    tokens = read_history(history, len(numbers))
    forced = read_history([token], len(numbers), "token")
    return force(numbers, forced) if len(tokens) == 1 else numbers


STEP = row_step("forced_bos", forced_bos, "the first token is {token}", touched=no_tokens)
