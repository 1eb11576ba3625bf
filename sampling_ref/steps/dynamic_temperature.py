"""Dynamic temperature: the more evenly the probabilities lie, the higher the temperature.

kalomaze, "Dynamic temperature", 2023
(https://github.com/ggml-org/llama.cpp/pull/4972), as in llama.cpp, `src/llama-sampler.cpp`,
function `llama_sampler_temp_ext_apply`, shipped with llama-cpp-python 0.3.36. The rule,
with n tokens in play and H the entropy of their probabilities in nats:

    T = low + (high - low) * (H / ln n) ** exponent,
    low = max(0, temperature - spread) and high = temperature + spread;
    divide all logits by T.

In play
    The tokens that are possible. An engine that keeps removed tokens in its list counts
    them in n, too: `in_play` is that number, or "all" for all candidates.
One token
    With one token in play ln n is 0. The row stays as it is.
Zero
    If T is 0 (one possible token of several in play, or a `low` of 0 with no entropy), only
    the first of the largest logits stays possible, as in `greedy`.
No spread
    With `spread=0` this is plain temperature.
Rounding
    In exact arithmetic T is the float nearest to the real number that the formula defines;
    dividing by this float rounds nothing.
exllamav2
    has the same formula with `low` and `high` given (their middle is the temperature, half
    their distance the spread), after the filters (commit da07facd,
    `exllamav2_ext/cpp/sampling.cpp`, function `post_softmax_temperature`).
"""

from math import inf
from typing import Literal

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.orders import first_largest
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_number, read_whole
from sampling_ref.row import Candidates, Number
from sampling_ref.steps.step import rule


@rule(
    "divided by a temperature between {temperature} - {spread} and {temperature} + {spread}, "
    "higher if the probabilities are more even"
)
def dynamic_temperature(
    candidates: Candidates,
    temperature: Number,
    spread: Number,
    exponent: Number = 1,
    *,
    in_play: int | Literal["all"] | None = None,
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates divided by the temperature that their entropy gives.

    >>> dynamic_temperature([3.0, 3.0], temperature=1.0, spread=0.5).row(2)
    [2.0, 2.0]
    >>> dynamic_temperature([3.0, float("-inf")], 1.0, 0.5, in_play="all").row(2)
    [6.0, -inf]
    """
    middle = numbers.number(read_number("temperature", temperature, "[0, inf)"))
    half = numbers.number(read_number("spread", spread, "[0, inf)"))
    power = numbers.number(read_number("exponent", exponent, "[0, inf)"))
    here = numbers.of(candidates)
    possible = sum(logit > -inf for logit in here.candidates.logits)
    if in_play == "all":
        count = len(here.values)
    else:
        count = possible if in_play is None else read_whole("in_play", in_play, possible)
    if count == 1 and spread > 0:
        return here.candidates
    here = here.ordered()
    low, high = max(numbers.number(0), middle - half), middle + half
    found = here.tempered(low, high, power, count)
    if not found < inf:
        raise ParameterError("spread", spread, "must leave the temperature finite")
    if found == 0:
        return here.candidates.only(first_largest(here.candidates.logits))
    return numbers.divided(here.candidates, found)
