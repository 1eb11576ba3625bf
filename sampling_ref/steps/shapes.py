"""The steps that change the shape of a distribution: temperature, smoothing, a greedy choice."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from sampling_ref.candidates import Candidates
from sampling_ref.dynamic_temperature import dynamic_temperature
from sampling_ref.greedy import only_greedy
from sampling_ref.parameters import read_number
from sampling_ref.row import Number, ReadRow
from sampling_ref.situation import Situation
from sampling_ref.smoothing import smoothing
from sampling_ref.softmax import log_softmax
from sampling_ref.steps.making import own_parameters
from sampling_ref.steps.step import REQUIRED, Step, Values


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


def _on_entries(name: str, function: Callable[..., Sequence[Number]], why: str) -> Step:
    """Make a step of a function that looks at all logits in play and needs no history.

    Behind a temperature the logits are rounded to floats once, because such a function
    gives irrational numbers anyway.
    """
    parameters, choices = own_parameters(function)

    def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
        logits = [situation.number(logit) for logit in candidates.true_logits()]
        changed = ReadRow(function(logits, **values))
        return Candidates(candidates.tokens, changed, is_sorted=candidates.is_sorted)

    return Step(name, apply, parameters, choices, why)


SHAPE_STEPS = (
    Step(
        "temperature",
        _tempered,
        {"temperature": REQUIRED, "added": 0},
        {"zero": ("error", "first largest")},
        "divided by {temperature}",
    ),
    _on_entries(
        "dynamic_temperature",
        dynamic_temperature,
        "divided by a temperature between {temperature} - {spread} and "
        "{temperature} + {spread}, the higher the more even they are",
    ),
    _on_entries("smoothing", smoothing, "logits fall with the square of their distance"),
    _on_entries("greedy", only_greedy, "only the largest is kept"),
    _on_entries("logprobs", log_softmax, "logarithms of the probabilities"),
)
