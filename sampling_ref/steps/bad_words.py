"""Bad words: sequences of tokens that must never be completed.

Hugging Face transformers 5.23.0, `generation/logits_process.py`, class
`NoBadWordsLogitsProcessor` (https://github.com/huggingface/transformers). The rule:

    A single bad token is impossible. The last token of a longer bad sequence is
    impossible if the history ends with the rest of the sequence.

Prompt
    The rest of the sequence may lie in the prompt or across its end. vLLM 0.33.0
    (`v1/sample/ops/bad_words.py`) looks only at what was generated: `scope="output"`.
The end
    A sequence that is nothing but one of `ends` is left out, so that a text can still end;
    longer sequences with such a token count. None means no ends.
All banned
    Nothing keeps a token possible. If all are banned the row is all minus infinity.
"""

from typing import Any

from sampling_ref.parameters import Scope, read_sequences, read_token_set, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, Tokens, ban
from sampling_ref.steps.step import row_rule


@row_rule("no bad word may be completed")
def bad_words(
    logits: ReadRow,
    history: list[TokenId],
    words: Any,
    *,
    ends: Tokens | None = (),
    scope: Scope = "all",
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row without the tokens that would complete one of the words.

    >>> bad_words([1.0, 2.0, 3.0], [0], [[2], [0, 1], [1, 0]])
    [1.0, -inf, -inf]
    >>> bad_words([1.0, 2.0, 3.0], [0], [[2], [0, 1]], ends=2)
    [1.0, -inf, 3.0]
    """
    sequences = read_sequences(words, len(logits), "words")
    final = read_token_set(() if ends is None else ends, len(logits), "ends")
    seen = tokens_seen(history, scope=scope, prompt_length=prompt_length)
    banned = set()
    for sequence in sequences:
        prefix, last = sequence[:-1], sequence[-1]
        if not prefix and last in final:
            continue
        if tuple(seen[max(0, len(seen) - len(prefix)) :]) == prefix:
            banned.add(last)
    return ban(logits, banned)
