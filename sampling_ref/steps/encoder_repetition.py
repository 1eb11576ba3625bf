"""Encoder repetition penalty: a reward for the tokens of the input, against invention.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`EncoderRepetitionPenaltyLogitsProcessor` (https://github.com/huggingface/transformers). The
rule:

    For each distinct token of the encoder's input, divide the logit by 1/penalty if it is
    not negative, and multiply it with 1/penalty if it is.

Direction
    The inverse of the repetition penalty: above 1 it rewards the tokens of the input.
Zero
    Zero stays zero: a token with logit 0 cannot be rewarded.
Arithmetic
    The reciprocal is calculated once, and rounded once, before the row is touched; so the
    positive logits are divided by it and not multiplied with the penalty.
Domain
    The penalty is above 0, and so is its reciprocal, as floats.
Decoder-only models
    There the encoder's input is the prompt: which is what None means.
Not invariant
    As with `repetition_penalty`, a number added to all logits changes what comes out.
"""

from typing import Any

from sampling_ref.parameters import read_history, read_number, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule


@row_rule("makes tokens of the encoder's input more likely by {penalty}", numbers=("penalty",))
def encoder_repetition(
    logits: ReadRow,
    history: list[TokenId],
    penalty: Number,
    encoder_input: Any = None,
    *,
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row with the tokens of the encoder's input made likelier.

    >>> encoder_repetition([1.0, -1.0, 1.0], [], penalty=2.0, encoder_input=[0, 1])
    [2.0, -0.5, 1.0]
    >>> encoder_repetition([1.0, 1.0], [0, 1], penalty=2.0, prompt_length=1)
    [2.0, 1.0]
    """
    prompt = tokens_seen(history, scope="prompt", prompt_length=prompt_length)
    text = prompt if encoder_input is None else encoder_input
    given = read_history(text, len(logits), "encoder_input")
    inverse = 1 / read_number("penalty", penalty, "(0, inf)")

    def rewarded(_: TokenId, logit: Number) -> Number:
        return logit * inverse if logit < 0 else logit / inverse

    return change_logits("the encoder repetition penalty", logits, set(given), rewarded)
