"""Antigravity's sample() in 32 bits, as links of a chain: proven against a compiled program.

Its softmax comes before its filters, so the candidates carry their probabilities along.
"""

from dataclasses import replace

from sampling_ref.antigravity.rounded import (
    draw_in_32_bits,
    nucleus_in_32_bits,
    scale_in_32_bits,
    softmax_in_32_bits,
)
from sampling_ref.candidates import Candidates
from sampling_ref.engines.profile import Draw
from sampling_ref.numbers.binary32 import Binary32, all_to_binary32, sum_in_binary32
from sampling_ref.numbers.orders import greatest_first
from sampling_ref.row import ReadRow, TokenId
from sampling_ref.situation import Situation
from sampling_ref.steps.step import Values
from sampling_ref.steps.table import steps_applying
from sampling_ref.twins.twin import Twin


def _temperature(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    floats = [float(logit) for logit in candidates.logits]
    scaled = scale_in_32_bits(floats, float(values["temperature"]))
    return replace(candidates, logits=ReadRow(scaled))


def _weights(candidates: Candidates) -> list[float]:
    if candidates.weights is not None:
        return [float(weight) for weight in candidates.weights]
    return softmax_in_32_bits([float(logit) for logit in candidates.logits])


def _placed(candidates: Candidates, weights: list[float], places: list[int]) -> Candidates:
    return replace(
        candidates,
        tokens=[candidates.tokens[place] for place in places],
        logits=ReadRow(candidates.logits[place] for place in places),
        weights=[weights[place] for place in places],
        is_sorted=True,
    )


def _top_k(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    weights = _weights(candidates)
    return _placed(candidates, weights, greatest_first(weights)[: values["k"]])


def _top_p(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    weights = _weights(candidates)
    # Alone, without top_k's sort before it, the step sorts for itself.
    order = list(range(len(weights))) if candidates.is_sorted else greatest_first(weights)
    places = nucleus_in_32_bits(weights, order, Binary32(values["p"]))
    return _placed(candidates, weights, places)


def _law(candidates: Candidates) -> list[float]:
    weights = _weights(candidates)
    total = sum_in_binary32(weights)
    return all_to_binary32([weight / total for weight in weights])


def _draw(candidates: Candidates, situation: Situation, draw: Draw) -> TokenId:
    weights = _weights(candidates)
    uniform = situation.randomness.uniform("the draw", "f32")
    place = draw_in_32_bits(weights, list(range(len(weights))), uniform)
    if place is None:  # the program returns nothing here; this package names the last one
        place = max(place for place, weight in enumerate(weights) if weight > 0)
    return candidates.tokens[place]


ANTIGRAVITY = Twin(
    steps_applying({"temperature": _temperature, "top_k": _top_k, "top_p": _top_p}),
    _law,
    _draw,
    sorts_itself=True,
)
"""The steps of Antigravity that round."""
