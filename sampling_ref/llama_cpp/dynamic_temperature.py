"""Dynamic temperature: the flatter the row, the higher the temperature.

Definition (kalomaze's dynamic temperature; `llama_sampler_temp_ext_apply` in
src/llama-sampler.cpp): with H the entropy of the n candidates, natural logarithms,

    temperature = low + (high - low) * (H / log(n))^exponent,
    low = max(0, temp - delta), high = temp + delta

and the logits are divided by it as by `temp`. delta <= 0 is the plain temperature.

A single candidate
    is left as it is where delta > 0.

Rounding
    Everything in binary32. log(n) is -logf(1 / n).

Order
    The candidates are sorted where delta > 0.
"""

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_candidates, read_real
from sampling_ref.llama_cpp.falling_order import sorted_fully
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.llama_cpp.temperature import divided
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.glibc import logf, powf
from sampling_ref.row import Number


def temp_ext(
    candidates: Candidates, temp: Number = 0.8, delta: Number = 0.0, exponent: Number = 1.0
) -> Candidates:
    """Divide the logits by a temperature that follows the entropy.

    >>> temp_ext(Candidates([0, 1], [1.0, 1.0]), 1.5, 0.5).logits
    [0.5, 0.5]
    """
    _, logits = read_candidates(candidates)
    middle = read_real("temp", temp)
    width = read_real("delta", delta)
    power = read_real("exponent", exponent)
    if width <= 0:
        return divided(candidates, middle)
    if len(logits) <= 1:
        return candidates
    candidates = sorted_fully(candidates)
    low = max(0.0, to_binary32(middle - width))
    high = to_binary32(middle + width)
    share = to_binary32(entropy(softmax(candidates)) / -logf(1.0 / len(logits)))
    rise = to_binary32(to_binary32(high - low) * powf(share, power))
    return divided(candidates, to_binary32(low + rise))


def entropy(probabilities: list[float]) -> float:
    """Return the entropy of probabilities in nats, in binary32; zeros count nothing.

    >>> entropy([1.0, 0.0])
    0.0
    """
    total = 0.0
    for probability in probabilities:
        if probability > 0:
            total = to_binary32(total - to_binary32(probability * logf(probability)))
    return total
