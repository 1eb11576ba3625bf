"""The steps that change the shape of a distribution: temperature, smoothing, a greedy choice."""

from fractions import Fraction

from sampling_ref.candidates import Candidates
from sampling_ref.dynamic_temperature import dynamic_temperature
from sampling_ref.greedy import only_greedy
from sampling_ref.numbers.softmax import log_softmax
from sampling_ref.parameters import read_number
from sampling_ref.row import ReadRow
from sampling_ref.situation import Situation
from sampling_ref.steps.step import REQUIRED, Step, Values, entries_step


def _tempered(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    """Divide the factor of the candidates, so that nothing is rounded."""
    zero, added = values["zero"], Fraction(values["added"])
    domain = "(0, inf)" if zero == "error" else "[0, inf)"
    temperature = Fraction(read_number("temperature", values["temperature"], domain)) + added
    if temperature == 0:
        logits = ReadRow(only_greedy(candidates.logits))
        return Candidates(candidates.tokens, logits, candidates.factor, candidates.is_sorted)
    return Candidates(
        candidates.tokens,
        candidates.logits,
        candidates.factor / temperature,
        candidates.is_sorted,
        candidates.whole,
    )


SHAPE_STEPS = (
    Step(
        "temperature",
        _tempered,
        {"temperature": REQUIRED, "added": 0},
        {"zero": ("error", "first largest")},
        "divided by {temperature}",
    ),
    entries_step(
        "dynamic_temperature",
        dynamic_temperature,
        "divided by a temperature between {temperature} - {spread} and "
        "{temperature} + {spread}, the higher the more even they are",
    ),
    entries_step("greedy", only_greedy, "only the largest is kept"),
    entries_step("logprobs", log_softmax, "logarithms of the probabilities"),
)
