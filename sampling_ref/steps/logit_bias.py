"""Logit bias: add a number to the logits of some tokens.

OpenAI, API reference, "Create chat completion", `logit_bias`
(https://platform.openai.com/docs/api-reference/chat/create). The rule:

    Add the bias given for a token to its logit, before anything is drawn.

Minus infinity
    A bias of minus infinity makes a token impossible; that is how llama.cpp suppresses
    tokens. Plus infinity is an error.
Impossible tokens
    No bias makes them possible again.
Range
    None here. `engines/openai.py` has OpenAI's [-100, 100]. vLLM moves a bias outside of it to the
    nearer end (`limit=100`).
"""

from collections.abc import Mapping

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import is_whole, read_bias, read_number
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule


@row_rule("adds numbers to single tokens", numbers=("biases",))
def logit_bias(
    logits: ReadRow,
    history: list[TokenId],
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
    if not isinstance(biases, Mapping):
        raise ParameterError("biases", biases, "must map token ids to numbers")
    for token, bias in biases.items():
        if not is_whole(token, most=len(logits) - 1):
            raise ParameterError("biases", token, f"must name token ids below {len(logits)}")
        read_bias(f"biases[{token}]", bias)
    most = None if limit is None else read_number("limit", limit, "[0, inf)")

    def biased(token: TokenId, logit: Number) -> Number:
        bias = biases[token]
        return logit + (bias if most is None else max(-most, min(most, bias)))

    return change_logits("the logit bias", logits, biases, biased)
