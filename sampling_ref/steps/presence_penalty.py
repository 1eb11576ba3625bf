"""Presence penalty: a token that has occurred becomes less likely, once.

OpenAI, API reference, "Frequency and presence penalties"
(https://platform.openai.com/docs/guides/text-generation). The rule:

    Subtract the penalty from the logit of every token that was generated.

Division
    `method="divide"` divides by the penalty, however often a token occurred.
Negative logits, prompt, domain
    As in `frequency_penalty`.
"""

from collections import Counter
from typing import Literal

from sampling_ref.parameters import Scope, read_number, read_whole, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule


@row_rule("tokens that occurred lose {penalty}", numbers=("penalty",))
def presence_penalty(
    logits: ReadRow,
    history: list[TokenId],
    penalty: Number,
    *,
    method: Literal["subtract", "divide"] = "subtract",
    window: int | None = None,
    scope: Scope = "output",
    skipped: int = 0,
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row with every token of the history lowered by the penalty.

    >>> presence_penalty([1.0, 1.0, 1.0], [0, 1, 0], penalty=0.5)
    [0.5, 0.5, 1.0]
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

    def penalised(_: TokenId, logit: Number) -> Number:
        return logit / penalty if method == "divide" else logit - penalty

    return change_logits("the presence penalty", logits, counts, penalised)
