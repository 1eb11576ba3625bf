"""Forced last token: the last place of a text is left to the tokens that end it.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`ForcedEOSTokenLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    If one token is left until `max_length`, the tokens that end a text get the logit 0
    and all others are impossible.

Several ends
    All of them get 0, so they are equally likely whatever the model says.
Impossible tokens
    The ends become possible even if they were not.
Too late
    Beyond `max_length - 1` tokens nothing is forced any more.
Counting what is new
    `new_tokens` counts from the end of the prompt and takes the place of `max_length`.
No ends
    If there are none, the row is all minus infinity in the last place.
"""

from sampling_ref.parameters import read_token_set, read_whole, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, force
from sampling_ref.steps.step import row_rule


@row_rule("at length {max_length} the end is forced")
def forced_eos(
    logits: ReadRow,
    history: list[TokenId],
    max_length: int | None,
    ends: Tokens,
    *,
    new_tokens: int | None = None,
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row, or only the ends if the next token is the last.

    >>> forced_eos([1.0, 2.0, 3.0], [0, 0], max_length=3, ends=1)
    [-inf, 0.0, -inf]
    >>> forced_eos([1.0, 2.0, 3.0], [0], max_length=3, ends=1)
    [1.0, 2.0, 3.0]
    >>> forced_eos([1.0, 2.0], [0, 0], None, ends=1, new_tokens=2, prompt_length=1)
    [-inf, 0.0]
    """
    prompt = tokens_seen(history, scope="prompt", prompt_length=prompt_length)
    if new_tokens is None:
        longest = read_whole("max_length", max_length)
    else:
        longest = len(prompt) + read_whole("new_tokens", new_tokens)
    final = read_token_set(ends, len(logits), "ends")
    return force(logits, final) if len(history) == longest - 1 else logits
