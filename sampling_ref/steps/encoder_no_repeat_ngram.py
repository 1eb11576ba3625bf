"""No n-gram of the input: ban every token that would complete an n-gram of another text.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`EncoderNoRepeatNGramLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    A token is impossible if the last n - 1 tokens of the history followed by it occur in
    the encoder's input.

Decoder-only models
    There the encoder's input is the prompt, and the history begins with it: which is
    what None means.
Short history
    While the history has fewer than n - 1 tokens nothing is banned.
All banned
    Nothing keeps a token possible. If all are banned the row is all minus infinity.
"""

from typing import Any

from sampling_ref.parameters import read_history, read_whole, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, ban
from sampling_ref.steps.step import row_rule


@row_rule("no sequence of {ngram_size} tokens of the encoder's input may occur")
def encoder_no_repeat_ngram(
    logits: ReadRow,
    history: list[TokenId],
    ngram_size: int,
    encoder_input: Any = None,
    *,
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row without the tokens that would repeat an n-gram of the encoder's input.

    >>> encoder_no_repeat_ngram([1.0, 2.0, 3.0], [2, 0], ngram_size=2, encoder_input=[0, 1, 0, 0])
    [-inf, -inf, 3.0]
    """
    prompt = tokens_seen(history, scope="prompt", prompt_length=prompt_length)
    text = prompt if encoder_input is None else encoder_input
    given = list(read_history(text, len(logits), "encoder_input"))
    read_whole("ngram_size", ngram_size, least=1)
    if len(history) < ngram_size - 1:
        return logits
    prefix = history[len(history) - (ngram_size - 1) :]
    return ban(
        logits,
        (
            given[end]
            for end in range(ngram_size - 1, len(given))
            if given[end - (ngram_size - 1) : end] == prefix
        ),
    )
