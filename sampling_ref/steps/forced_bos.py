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

from sampling_ref.parameters import read_history
from sampling_ref.row import Number, ReadRow, TokenId, force
from sampling_ref.steps.step import row_rule


@row_rule("the first token is {token}")
def forced_bos(logits: ReadRow, history: list[TokenId], token: TokenId) -> list[Number]:
    """Return the row, or only `token` if it is the second one.

    >>> forced_bos([1.0, 2.0], [0], token=0)
    [0.0, -inf]
    >>> forced_bos([1.0, 2.0], [0, 1], token=0)
    [1.0, 2.0]
    """
    forced = read_history([token], len(logits), "token")
    return force(logits, forced) if len(history) == 1 else logits
