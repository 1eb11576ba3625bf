"""Greedy: the most probable token, without any chance.

The rule:

    Return a token whose logit is the largest.

Ties
    The first of equals (`ties="first"`) is what nearly all programs return. `"last"` is
    what Rust's `max_by` returns.
When
    Engines do this when the temperature is zero (mlx-lm, exllamav3, TensorRT-LLM's PyTorch
    sampler, vLLM's model runner 2), not positive (llama.cpp), below 1e-7 (candle, mistral.rs),
    below 1e-6 (SGLang), below 1e-5 (vLLM, which raises all between 0 and 0.01 to 0.01 before) or
    below 0.01 (exllamav2). None of them is better: a temperature of 1e-8 is greedy in SGLang,
    0.01 in vLLM, and a division in llama.cpp.
Nothing possible
    A row that is all minus infinity has no most probable token: an error.
"""

from typing import Any, Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.orders import first_largest, last_largest
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_choice
from sampling_ref.row import Candidates, TokenId, read_possible_logits
from sampling_ref.steps.step import rule


@rule("keeps only the most probable token")
def greedy(
    candidates: Candidates, *, ties: Literal["first", "last"] = "first", numbers: Numbers = EXACT
) -> Candidates:
    """Return the candidates with only the largest logit left; the others are impossible.

    >>> greedy([1.0, 3.0, 3.0]).row(3)
    [-inf, 3.0, -inf]
    """
    logits = candidates.logits
    return candidates.only(first_largest(logits) if ties == "first" else last_largest(logits))


def greedy_token(logits: Any, *, ties: Literal["first", "last"] = "first") -> TokenId:
    """Return the token with the largest logit.

    >>> greedy_token([1.0, 3.0, 3.0]), greedy_token([1.0, 3.0, 3.0], ties="last")
    (1, 2)
    """
    numbers = read_possible_logits(logits)
    read_choice("ties", ties, ("first", "last"))
    return first_largest(numbers) if ties == "first" else last_largest(numbers)
