"""Top-a filtering.

BlinkDL, "RWKV-LM", readme, 2022 (https://github.com/BlinkDL/RWKV-LM). The rule:

    Remove the tokens whose probability is below a times the square of the largest one.

Equality
    A token exactly at the threshold is kept.
a
    At least 0; with 0 every possible token is kept. For a up to 1 the most probable token
    lies above its own threshold. For a larger a it need not.
Least
    Never fewer than `least` tokens, the most probable first; `ties` says which of equals.
Impossible tokens
    A token of no weight is never kept.
Rounding
    There is none. With the largest weight as 1 and Z the sum of the weights, the question
    is whether weight * Z is at least a. Given logits, the two can be equal only if all
    possible logits are equal, and then Z is their number.
"""

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers, OfLargestSquared
from sampling_ref.parameters import read_fraction, read_whole
from sampling_ref.row import Candidates, Number, Ties
from sampling_ref.steps.step import rule


@rule("keeps tokens with at least {a} times the square of the largest probability")
def top_a(
    candidates: Candidates,
    a: Number,
    *,
    least: int = 1,
    ties: Ties = "lowest id",
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates of at least a times the squared largest probability.

    >>> from sampling_ref import WEIGHTS
    >>> top_a([0.5, 0.25, 0.125, 0.125], a=1, numbers=WEIGHTS).tokens
    [0, 1]
    >>> top_a([4.0, 2.0, 0.0], a=0.25).tokens, top_a([4.0, 2.0, 0.0], a=0.125).tokens
    ([0], [0, 1])
    """
    read_whole("least", least, 0)
    factor = read_fraction("a", a, "[0, inf)")
    here = numbers.of(candidates, "shares")
    return here.keep_at_least(OfLargestSquared(factor), strictly=False, least=least, ties=ties)
