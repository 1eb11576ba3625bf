"""Repetition penalty.

Keskar et al., "CTRL: A Conditional Transformer Language Model for Controllable
Generation", 2019, section 4.1 (https://arxiv.org/abs/1909.05858). The rule:

    Divide the logit of every token that has occurred by the penalty.

Negative logits
    Division moves a logit towards zero, so it makes a token of negative logit likelier:
    the opposite of what is wanted, and the paper's formula does it. What nearly all
    engines do instead is the default here: divide positive logits, multiply negative ones
    (`method="by sign"`). `"divide"` is the paper's formula, `"subtract"` takes the penalty
    away and needs no sign.
Zero
    Zero stays zero under division and under multiplication, and -0.0 stays -0.0, so it
    does not matter to which side an engine counts them.
Which tokens, how often
    Each distinct token once. With `counting="each occurrence"` the operation is done once
    more for each further occurrence, which compounds: a token that occurred n times is
    divided by the penalty to the power n, with a rounding after each division.
How far back
    Over the whole history, the prompt included; `window`, `scope` and `prompt_length` say
    otherwise. `skipped` leaves out that many of the oldest tokens, as programs do with padding
    on the left.
Not invariant
    Adding one number to all logits changes no probability, but it changes what a division
    does: the penalty means something only for a model whose logits lie around zero.
Domain
    Divisor and factor are above 0: below 1 they reward. What is subtracted is any number.
Arithmetic
    `arithmetic="reciprocal"` multiplies positive logits with the rounded `1 / penalty`,
    as programs do that want no division; over rationals it is the same.
"""

from collections import Counter
from typing import Literal

from sampling_ref.parameters import Scope, read_number, read_whole, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule


@row_rule("makes tokens seen before less likely by {penalty}", numbers=("penalty",))
def repetition_penalty(
    logits: ReadRow,
    history: list[TokenId],
    penalty: Number,
    *,
    method: Literal["by sign", "divide", "subtract"] = "by sign",
    counting: Literal["distinct", "each occurrence"] = "distinct",
    arithmetic: Literal["division", "reciprocal"] = "division",
    window: int | None = None,
    scope: Scope = "all",
    skipped: int = 0,
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row with the tokens of the history made less likely.

    >>> repetition_penalty([3.0, -3.0, 3.0], [0, 1, 0], penalty=1.5)
    [2.0, -4.5, 3.0]
    >>> repetition_penalty([3.0, -3.0, 3.0], [0, 1, 0], penalty=1.5, method="divide")
    [2.0, -2.0, 3.0]
    >>> repetition_penalty([8.0, -1.0], [0, 1, 0], penalty=2.0, counting="each occurrence")
    [2.0, -2.0]
    """
    domain = "(-inf, inf)" if method == "subtract" else "(0, inf)"
    penalty = read_number("penalty", penalty, domain)
    seen = tokens_seen(
        history,
        window=window,
        scope=scope,
        prompt_length=prompt_length,
        skipped=read_whole("skipped", skipped),
    )

    def penalised_once(logit: Number) -> Number:
        if method == "subtract":
            return logit - penalty
        if method == "by sign" and logit < 0:
            return logit * penalty
        if arithmetic == "reciprocal":
            return logit * (1 / penalty)
        return logit / penalty

    counts = Counter(seen)

    def penalised(token: TokenId, logit: Number) -> Number:
        for _ in range(counts[token] if counting == "each occurrence" else 1):
            logit = penalised_once(logit)
        return logit

    return change_logits("the repetition penalty", logits, counts, penalised)
