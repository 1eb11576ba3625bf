"""Greedy: the most probable token, without any chance.

The rule:

    Return a token whose logit is the largest.

Ties
    The first of equals (`ties="first"`) is what nearly all programs return. `"last"` is
    what Rust's `max_by` returns.
When
    Engines do this when the temperature is zero, or below a threshold of their own:
    `is_greedy` has the rules by name. None of them is better: a temperature of 1e-6 is
    greedy in vLLM and a division in llama.cpp.
Nothing possible
    A row that is all minus infinity has no most probable token: an error.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, get_args

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.orders import first_largest, last_largest
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_choice, read_number
from sampling_ref.row import Candidates, Number, ReadRow, TokenId, mask, read_possible_logits
from sampling_ref.steps.step import rule_step

Ties = Literal["first", "last"]

Rule: TypeAlias = Literal[
    "zero", "not positive", "below 1e-7", "below 1e-6", "below 1e-5", "below 0.01"
]
"""When a temperature means greedy.

zero: mlx-lm, exllamav3, TensorRT-LLM's PyTorch sampler, vLLM's model runner 2.
not positive: llama.cpp. below 1e-7: candle, mistral.rs. below 1e-6: SGLang.
below 1e-5: vLLM. below 0.01: exllamav2.
"""

THRESHOLDS: Final[Mapping[str, float]] = {
    "below 1e-7": 1e-7,
    "below 1e-6": 1e-6,
    "below 1e-5": 1e-5,
    "below 0.01": 0.01,
}
"""The smallest temperatures that are not greedy, as the floats nearest to what is written."""


def greedy(row: Any, *, ties: Ties = "first", numbers: Numbers = EXACT) -> Candidates:
    """Return the candidates with only the largest logit left; the others are impossible.

    >>> greedy([1.0, 3.0, 3.0]).row(3)
    [-inf, 3.0, -inf]
    """
    read_choice("ties", ties, get_args(Ties))
    candidates = numbers.candidates(row)
    logits = candidates.logits
    largest = first_largest(logits) if ties == "first" else last_largest(logits)
    return replace(candidates, logits=ReadRow(mask(logits, [largest])), whole=None)


def greedy_token(logits: Any, *, ties: Ties = "first") -> TokenId:
    """Return the token with the largest logit.

    >>> greedy_token([1.0, 3.0, 3.0]), greedy_token([1.0, 3.0, 3.0], ties="last")
    (1, 2)
    """
    numbers = read_possible_logits(logits)
    read_choice("ties", ties, get_args(Ties))
    return first_largest(numbers) if ties == "first" else last_largest(numbers)


def is_greedy(temperature: Number, rule: Rule) -> bool:
    """Return whether an engine with this rule takes a temperature for a command to be greedy.

    >>> is_greedy(1e-6, "below 1e-5"), is_greedy(1e-6, "below 1e-6"), is_greedy(0, "zero")
    (True, False, True)
    """
    value = read_number("temperature", temperature)
    read_choice("rule", rule, get_args(Rule))
    if rule == "zero":
        return value == 0
    return value <= 0 if rule == "not positive" else value < THRESHOLDS[rule]


STEP = rule_step(greedy, "keeps only the most probable token")
