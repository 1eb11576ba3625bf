"""No n-gram twice: ban every token that would complete an n-gram that has occurred.

Paulus, Xiong and Socher, "A Deep Reinforced Model for Abstractive Summarization", 2017,
section 2.5 (https://arxiv.org/abs/1705.04304). The rule:

    A token is impossible if the last n - 1 tokens followed by it occurred before.

Prompt
    n-grams of the prompt count too, and those that lie across its end.
Single tokens
    With n = 1 every token of the history is impossible.
Overlap
    The n-grams may overlap: after `a a`, n = 2 forbids `a`.
All banned
    Nothing keeps a token possible. If all are banned the row is all minus infinity.
"""

from sampling_ref.parameters import read_whole
from sampling_ref.row import Number, ReadRow, TokenId, ban
from sampling_ref.steps.step import row_rule


@row_rule("no sequence of {ngram_size} tokens may occur twice")
def no_repeat_ngram(logits: ReadRow, history: list[TokenId], ngram_size: int) -> list[Number]:
    """Return the row without the tokens that would repeat an n-gram of `ngram_size` tokens.

    >>> no_repeat_ngram([1.0, 2.0, 3.0], [0, 1, 0], ngram_size=2)
    [1.0, -inf, 3.0]
    """
    read_whole("ngram_size", ngram_size, least=1)
    if len(history) < ngram_size:
        return logits
    prefix = history[len(history) - (ngram_size - 1) :]
    return ban(
        logits,
        (
            history[end]
            for end in range(ngram_size - 1, len(history))
            if history[end - (ngram_size - 1) : end] == prefix
        ),
    )
