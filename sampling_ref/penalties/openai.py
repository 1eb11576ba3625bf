"""Frequency penalty, presence penalty and logit bias as OpenAI publishes them.

OpenAI, API reference, "Frequency and presence penalties" and "Create chat completion"
(https://platform.openai.com/docs/guides/text-generation). In our words, with c(j) the
number of times token j was sampled before:

    logit(j) - c(j) * frequency_penalty - (1 if c(j) > 0 else 0) * presence_penalty,
    and the bias given for token j is added before sampling.

Prompt
    Only sampled tokens are counted: what follows the first `prompt_length` tokens.
Domain
    Both penalties lie in [-2, 2], a bias in [-100, 100].
Order
    The text gives none. Over rationals it does not matter; with rounding it does, and here
    the frequency penalty is subtracted first, then the presence penalty, then the bias is
    added.
-100
    The text says that -100 "should" ban a token. It only lowers it by 100, here too.
"""

from collections.abc import Mapping
from typing import Any

from sampling_ref.history import counts_of, read_numbers_of_tokens, tokens_seen
from sampling_ref.parameters import read_number
from sampling_ref.row import Number, TokenId, change_logits, read_logits


def openai(
    logits: Any,
    history: Any,
    frequency_penalty: Number = 0,
    presence_penalty: Number = 0,
    logit_bias: Mapping[TokenId, Number] | None = None,
    *,
    prompt_length: int = 0,
) -> list[Number]:
    """Return the row after both penalties and the bias.

    >>> openai([4.0, 4.0, 4.0], [2, 0, 1, 0], 0.5, 0.25, {2: -1.0}, prompt_length=1)
    [2.75, 3.25, 3.0]
    """
    numbers = read_logits(logits)
    frequency_penalty = read_penalty("frequency_penalty", frequency_penalty)
    presence_penalty = read_penalty("presence_penalty", presence_penalty)
    biases = read_biases(logit_bias, len(numbers))
    counts = counts_of(
        tokens_seen(history, len(numbers), window=None, scope="output", prompt_length=prompt_length)
    )

    def changed(token: TokenId, logit: Number) -> Number:
        if token in counts:
            logit = logit - counts[token] * frequency_penalty - presence_penalty
        return logit + biases[token] if token in biases else logit

    return change_logits("OpenAI's formula", numbers, {**counts, **biases}, changed)


def read_penalty(name: str, penalty: Number) -> Number:
    """Return a penalty that lies in [-2, 2].

    >>> read_penalty("presence_penalty", 2.5)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: presence_penalty must be in [-2, 2], got 2.5
    """
    return read_number(name, penalty, "[-2, 2]")


def read_biases(logit_bias: Mapping[TokenId, Number] | None, size: int) -> dict[TokenId, Number]:
    """Return the biases of a row of `size` numbers, each in [-100, 100].

    >>> read_biases({1: -100}, 2)
    {1: -100}
    """
    if logit_bias is None:
        return {}
    return read_numbers_of_tokens(
        logit_bias, size, "logit_bias", lambda name, bias: read_number(name, bias, "[-100, 100]")
    )
