"""Logit bias: add a number to the logits of some tokens.

OpenAI, API reference, "Create chat completion", `logit_bias`
(https://platform.openai.com/docs/api-reference/chat/create). In our words:

    Add the bias given for a token to its logit, before anything is drawn.

Minus infinity
    A bias of minus infinity makes a token impossible; that is how llama.cpp suppresses
    tokens. Plus infinity is an error.
Impossible tokens
    No bias makes them possible again.
Range
    None here. OpenAI's [-100, 100] is in `openai`; vLLM moves a bias outside of it to the
    nearer end (`limit=100`).
"""

from collections.abc import Mapping
from math import inf
from typing import Any

from sampling_ref.changing import change_logits
from sampling_ref.errors import ParameterError
from sampling_ref.history import read_history
from sampling_ref.parameters import is_number, read_not_negative
from sampling_ref.row import Number, TokenId, read_logits


def logit_bias(
    logits: Any,  # noqa: ANN401 - whatever read_logits takes
    history: Any,  # noqa: ANN401 - whatever read_history takes
    biases: Mapping[TokenId, Number],
    *,
    limit: Number | None = None,
) -> list[Number]:
    """Return the row with each bias added to the logit of its token.

    >>> logit_bias([1.0, 2.0, 3.0], [], {0: 0.5, 2: float("-inf")})
    [1.5, 2.0, -inf]
    >>> logit_bias([1.0, 2.0], [], {0: 1000.0}, limit=100)
    [101.0, 2.0]
    """
    numbers = read_logits(logits)
    size = len(numbers)
    read_history(history, size)
    if not isinstance(biases, Mapping):
        raise ParameterError("biases", biases, "must map token ids to numbers")
    for token, bias in biases.items():
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < size:
            raise ParameterError("biases", token, f"must name token ids below {size}")
        if bias != -inf and not is_number(bias):
            raise ParameterError(f"biases[{token}]", bias, "must be finite or minus infinity")
    most = None if limit is None else read_not_negative("limit", limit)

    def biased(token: TokenId, logit: Number) -> Number:
        bias = biases[token]
        return logit + (bias if most is None else max(-most, min(most, bias)))

    return change_logits("the logit bias", numbers, biases, biased)
