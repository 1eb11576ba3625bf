"""Frequency penalty: the more often a token has occurred, the less likely it becomes.

OpenAI, API reference, "Frequency and presence penalties"
(https://platform.openai.com/docs/guides/text-generation). The rule:

    Subtract the penalty from a token's logit once for each time that it was generated.

Division
    ChatStream's penalties (Qualiteg, "Three penalties in LLM sampling",
    https://blog.qualiteg.com/making_penalty_processor) can also
    divide, by `penalty ** count` (`method="divide"`); that makes a token of negative logit
    likelier, and it changes with a number added to all logits.
Prompt
    OpenAI counts what was generated, and so does `scope="output"` with the length of the
    prompt; the default prompt is empty. Engines that count the prompt too: `scope="all"`.
    `skipped` leaves out that many of the oldest tokens of the prompt, at most the whole of it,
    as TensorRT-LLM's `prompt_ignore_length` does.
Rounding
    `arithmetic="at once"` subtracts `penalty * count`; `"one by one"` subtracts the penalty
    count times, as programs do that add each token to a sum or to the row. Over rationals
    both are the same.
Domain
    Any number is subtracted; negative ones reward. OpenAI's own range is in `engines/openai.py`.
    A divisor is above 0.
"""

from collections import Counter
from typing import Literal

from sampling_ref.parameters import Scope, read_number, read_whole, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule


@row_rule("tokens lose {penalty} for each occurrence", numbers=("penalty",))
def frequency_penalty(
    logits: ReadRow,
    history: list[TokenId],
    penalty: Number,
    *,
    method: Literal["subtract", "divide"] = "subtract",
    arithmetic: Literal["at once", "one by one"] = "at once",
    window: int | None = None,
    scope: Scope = "output",
    skipped: int = 0,
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row with each token of the history lowered by how often it occurred.

    >>> frequency_penalty([1.0, 1.0, 1.0], [0, 1, 0], penalty=0.5)
    [0.0, 0.5, 1.0]
    >>> frequency_penalty([4.0, 4.0], [0, 1, 0], penalty=2.0, method="divide")
    [1.0, 2.0]
    """
    domain = "(-inf, inf)" if method == "subtract" else "(0, inf)"
    penalty = read_number("penalty", penalty, domain)
    seen = tokens_seen(
        history,
        window=window,
        scope=scope,
        prompt_length=prompt_length,
        skipped=min(read_whole("skipped", skipped), read_whole("prompt_length", prompt_length)),
    )
    counts = Counter(seen)

    def penalised(token: TokenId, logit: Number) -> Number:
        count = counts[token]
        if arithmetic == "one by one":
            for _ in range(count):
                logit = logit / penalty if method == "divide" else logit - penalty
            return logit
        return logit / penalty**count if method == "divide" else logit - penalty * count

    return change_logits("the frequency penalty", logits, counts, penalised)
