"""Exponential length decay: from a given length on, the end becomes likelier and likelier.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`ExponentialDecayLengthPenalty` (https://github.com/huggingface/transformers). The rule:

    If more than `start` tokens were generated, n more, then add
    |logit| * (growth**n - 1) to the logit of each token that ends a text.

Sign
    The absolute value makes the sum grow for negative logits too. A growth below 1 makes
    the end less likely.
Zero
    An end with logit 0 stays at 0, however long the text becomes.
Reaching the start
    At exactly `start` tokens nothing is added: n begins at 1.
Rounding
    The power and the subtraction of 1 are calculated with the growth as it is given; the
    result is then brought together with the logit.
Domain
    The growth is above 0.
"""

from sampling_ref.parameters import read_number, read_token_set, read_whole, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, change_logits
from sampling_ref.steps.step import row_rule


@row_rule("from {start} tokens on, the end becomes more likely by powers of {growth}")
def exponential_decay_length(
    logits: ReadRow,
    history: list[TokenId],
    start: int,
    growth: Number,
    ends: Tokens,
    *,
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row with the ends raised by how far the text is beyond `start`.

    >>> exponential_decay_length([3.0, -2.0], [0, 0, 0], start=1, growth=1.5, ends=1)
    [3.0, 0.5]
    """
    read_whole("start", start)
    growth = read_number("growth", growth, "(0, inf)")
    final = read_token_set(ends, len(logits), "ends")
    generated = tokens_seen(history, scope="output", prompt_length=prompt_length)
    beyond = len(generated) - start
    if beyond <= 0:
        return logits

    def raised(_: TokenId, logit: Number) -> Number:
        size = -logit if logit < 0 else logit
        return logit + size * (growth**beyond - 1)

    return change_logits("the exponential length decay", logits, final, raised)
