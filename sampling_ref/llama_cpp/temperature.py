"""Temperature: divide all logits.

Definition (`llama_sampler_temp_impl` in src/llama-sampler.cpp): logit / temp in binary32.

Temperature 0, or below
    leaves the logit of the largest candidate as it is, the first of equals, and sets all
    others to minus infinity. They stay candidates.

Tiny temperatures
    can divide a logit up to infinity. In the engine probabilities become NaN by it; here the
    next step says that it cannot go on.
"""

from dataclasses import replace
from math import inf

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, read_real
from sampling_ref.numbers.binary32 import all_to_binary32
from sampling_ref.row import Number


def temp(candidates: Candidates, temp: Number = 0.8) -> Candidates:
    """Divide the logits by a temperature.

    >>> temp(Candidates([0, 1], [1.0, 3.0]), 2.0).logits
    [0.5, 1.5]
    >>> temp(Candidates([0, 1, 2], [1.0, 3.0, 3.0]), 0.0).logits
    [-inf, 3.0, -inf]
    """
    return divided(candidates, read_real("temp", temp))


def divided(candidates: Candidates, temperature: float) -> Candidates:
    """Divide the logits by any binary32 number.

    >>> divided(Candidates([0, 1], [1.0, 3.0]), inf).logits
    [0.0, 0.0]
    """
    tokens, logits = read_candidates(candidates)
    if temperature <= 0:
        first = logits.index(max(logits))
        changed = [-inf] * len(logits)
        changed[first] = logits[first]
    else:
        changed = all_to_binary32([logit / temperature for logit in logits])
    return replace(candidates, tokens=tokens, logits=changed)
