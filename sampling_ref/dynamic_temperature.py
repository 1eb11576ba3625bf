"""Dynamic temperature: the more evenly the probabilities lie, the higher the temperature.

kalomaze, "Dynamic temperature", 2023
(https://github.com/ggml-org/llama.cpp/pull/4972), as in llama.cpp, `src/llama-sampler.cpp`,
function `llama_sampler_temp_ext_apply`, shipped with llama-cpp-python 0.3.36. In our words,
with n tokens in play and H the entropy of their probabilities in nats:

    T = low + (high - low) * (H / ln n) ** exponent,
    low = max(0, temperature - spread) and high = temperature + spread;
    divide all logits by T.

In play
    The tokens that are possible. An engine that keeps removed tokens in its list counts
    them in n, too: `in_play` gives n for it.
One token
    With one token in play ln n is 0. The row stays as it is.
Zero
    If T is 0 (one possible token of several in play, or a `low` of 0 with no entropy), only
    the first of the largest logits stays possible, as in `greedy`.
No spread
    With `spread=0` this is plain temperature.
Rounding
    T is the float nearest to the real number that the formula defines; the logits are
    divided by this float.
exllamav2
    has the same formula with `low` and `high` given (their middle is the temperature, half
    their distance the spread), after the filters (commit da07facd,
    `exllamav2_ext/cpp/sampling.cpp`, function `post_softmax_temperature`).
"""

from fractions import Fraction
from math import inf
from typing import Any

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.orders import first_largest
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.totals import entropy_of
from sampling_ref.parameters import read_number, read_whole
from sampling_ref.row import Number, mask, read_possible_logits
from sampling_ref.temperature import temperature as divide


def dynamic_temperature(
    logits: Any,
    temperature: Number,
    spread: Number,
    exponent: Number = 1,
    *,
    in_play: int | None = None,
) -> list[Number]:
    """Return the row divided by the temperature that its entropy asks for.

    >>> dynamic_temperature([3.0, 3.0], temperature=1.0, spread=0.5)
    [2.0, 2.0]
    >>> dynamic_temperature([3.0, float("-inf")], 1.0, 0.5, in_play=2)
    [6.0, -inf]
    """
    numbers = read_possible_logits(logits)
    possible = sum(number > -inf for number in numbers)
    count = possible if in_play is None else read_whole("in_play", in_play, least=possible)
    found = temperature_of_entropy(numbers, temperature, spread, exponent, count)
    if count == 1 and spread > 0:
        return numbers
    if found == 0:
        return mask(numbers, [first_largest(numbers)])
    return divide(numbers, found)


def temperature_of_entropy(
    logits: list[Number], temperature: Number, spread: Number, exponent: Number, count: int
) -> float:
    """Return the temperature for a row that was read, with `count` tokens in play.

    >>> temperature_of_entropy([0.0, 0.0], 0.5, 0.75, 2, count=2)
    1.25
    >>> temperature_of_entropy([0.0, 0.0], 0.5, 0.75, 2, count=4)
    0.3125
    """
    middle = Fraction(read_number("temperature", temperature, "[0, inf)"))
    half = Fraction(read_number("spread", spread, "[0, inf)"))
    power = Fraction(read_number("exponent", exponent, "[0, inf)"))
    low, high = max(Fraction(0), middle - half), middle + half
    evenness = Real(1) if count == 1 else entropy_share(logits, count)
    if power == 0:
        raised = Real(1)
    elif evenness == 0 or evenness == 1:  # noqa: PLR1714 - reals have no hash
        raised = evenness
    else:
        raised = (evenness.log() * power).exp()
    found = float(raised * (high - low) + low)
    if not found < inf:
        raise ParameterError("spread", spread, "must leave the temperature finite")
    return found


def entropy_share(logits: list[Number], count: int) -> Real:
    """Return the entropy as a share of what it can be at most with `count` tokens.

    >>> entropy_share([1.0, 1.0], 2), entropy_share([1.0, float("-inf")], 2)
    (Real(1), Real(0))
    """
    possible = [logit for logit in logits if logit > -inf]
    if min(possible) < max(possible):
        return entropy_of(logits) / Real(count).log()
    # Here the entropy is the logarithm of a whole number, and the share may be rational.
    return log_ratio(len(possible), count)


def log_ratio(part: int, whole: int) -> Real:
    """Return ln part / ln whole, as a rational number where it is one.

    >>> log_ratio(4, 8), log_ratio(1, 8)
    (Real(2/3), Real(0))
    """
    # ln a / ln b is rational exactly if a**q == b**p for whole p and q, and then the powers
    # of one prime in a and b have the ratio p / q.
    for denominator in range(1, whole.bit_length() + 1):
        for numerator in range(denominator + 1):
            if part**denominator == whole**numerator:
                return Real(Fraction(numerator, denominator))
    return Real(part).log() / Real(whole).log()
