"""Repetition, frequency and presence penalty in one step, as some engines have them.

llama.cpp, `src/llama-sampler.cpp`, function `llama_sampler_penalties_apply` as shipped with
llama-cpp-python 0.3.36 (https://github.com/ggml-org/llama.cpp). The rule:

    Over the last `window` tokens, prompt or not: divide the logit of a token that occurs
    by the repetition penalty if it is positive, multiply it otherwise; then subtract
    count * frequency + presence.

Order
    `order="repetition first"` is llama.cpp's. mistral.rs (commit 9e922623,
    `mistralrs-core/src/sampler.rs`) subtracts first, so that the subtraction can turn the
    sign that decides between division and multiplication (`order="repetition last"`).
Rounding
    llama.cpp adds up what it subtracts before it subtracts; mistral.rs subtracts twice.
    Each order here does as its engine does.
Window
    64 by default, in llama.cpp as here. 0 sees nothing, None everything. A negative number
    is no window here; llama.cpp takes it for 0.
Prompt
    llama.cpp counts whatever is in the window. `additive_scope="output"` lets only
    frequency and presence penalty leave out the prompt, as mistral.rs does.
Domain
    The repetition penalty is above 0, the others are any numbers: negative ones reward.
"""

from collections import Counter
from typing import Literal

from sampling_ref.parameters import read_number, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule


@row_rule(
    "tokens seen before: repetition {repetition}, frequency {frequency}, presence {presence}",
    numbers=("repetition", "frequency", "presence"),
)
def penalties(
    logits: ReadRow,
    history: list[TokenId],
    repetition: Number = 1,
    frequency: Number = 0,
    presence: Number = 0,
    *,
    window: int | None = 64,
    order: Literal["repetition first", "repetition last"] = "repetition first",
    additive_scope: Literal["all", "output"] = "all",
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row after all three penalties.

    >>> penalties([4.0, -4.0, 4.0], [0, 1, 0], 2.0, 0.5, 0.25)
    [0.75, -8.75, 4.0]
    >>> penalties([0.5, 0.5], [0], 2.0, 1.0, order="repetition last")
    [-1.0, 0.5]
    """
    repetition = read_number("repetition", repetition, "(0, inf)")
    frequency = read_number("frequency", frequency)
    presence = read_number("presence", presence)
    seen = tokens_seen(history, window=window, scope="all", prompt_length=prompt_length)
    # The last tokens of the output are the last tokens of the history, as far as it reaches.
    counts = Counter(
        tokens_seen(history, window=window, scope=additive_scope, prompt_length=prompt_length)
    )

    def divided(logit: Number) -> Number:
        return logit / repetition if logit > 0 else logit * repetition

    def penalised(token: TokenId, logit: Number) -> Number:
        count = counts.get(token, 0)
        if order == "repetition first":
            return divided(logit) - (count * frequency + min(count, 1) * presence)
        return divided(logit - count * frequency - min(count, 1) * presence)

    return change_logits("the penalties", logits, Counter(seen), penalised)
