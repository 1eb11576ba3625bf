"""32 bits in plain order: what a straightforward kernel computes.

Every operation is rounded to binary32; sums run one after the other, over the candidates
in the order they have; exp is glibc's. Real kernels add in blocks and trees and have an
exp of their own, so their last bits differ, and with them what lies within a few units
in the last place of a threshold. Thresholds take the 32-bit probabilities as exact numbers,
and filters that compare entropies (typical, eta, top-h) the 32-bit logits.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from math import inf

from sampling_ref.candidate_orders import walk
from sampling_ref.candidates import Candidates
from sampling_ref.draws.exponential_race import exponential_race
from sampling_ref.draws.gumbel_max import gumbel_max
from sampling_ref.engines.profile import Draw
from sampling_ref.errors import RowError
from sampling_ref.filters.epsilon import epsilon
from sampling_ref.filters.min_p import min_p
from sampling_ref.filters.tail_free import tail_free
from sampling_ref.filters.top_a import top_a
from sampling_ref.filters.xtc import xtc
from sampling_ref.greedy import only_greedy
from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.numbers.glibc import expf_of_all
from sampling_ref.numbers.orders import largest_first
from sampling_ref.row import Number, ReadRow, TokenId, read_possible_logits
from sampling_ref.situation import Situation
from sampling_ref.steps.step import Apply, Values, at_places, known_arguments, with_places
from sampling_ref.steps.table import steps_applying
from sampling_ref.twins.twin import Twin


def softmax_in_32_bits(
    logits: Sequence[Number], whole: Sequence[Number] | None = None
) -> list[float]:
    """Return e**(logit - largest), divided by their sum, or by that of a larger row.

    >>> softmax_in_32_bits([1.0, 1.0, float("-inf")])
    [0.5, 0.5, 0.0]
    """
    floats = list(map(float, read_possible_logits(logits)))
    largest = max(floats)
    weights = expf_of_all(all_to_binary32([logit - largest for logit in floats]))
    if whole is None:
        total = sum_in_binary32(weights)
    else:
        others = [float(logit) - largest for logit in whole]
        total = sum_in_binary32(expf_of_all(all_to_binary32(others)))
    return all_to_binary32([weight / total for weight in weights])


def _temperature(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    temperature = to_binary32(float(values["temperature"]) + float(values["added"]))
    if temperature == 0:
        logits = ReadRow(only_greedy(candidates.logits))
    else:
        logits = ReadRow(all_to_binary32([logit / temperature for logit in candidates.logits]))
        if max(logits) == inf:
            raise RowError(f"the temperature {temperature!r} makes logits too large for 32 bits")
    return Candidates(candidates.tokens, logits, is_sorted=candidates.is_sorted)


def _top_p(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    whole = candidates.whole if values["base"] == "the whole row" else None
    shares = softmax_in_32_bits(candidates.logits, whole)
    share = to_binary32(values["p"])
    if share == 0 and values["zero"] == "off":
        return candidates
    if values["boundary"] == "fitting":
        return with_places(candidates, sorted(_fitting(shares, share)))
    ordered = [place for place in largest_first(shares, values["ties"]) if shares[place] > 0]
    running, count = 0.0, len(ordered)
    for place, candidate in enumerate(ordered):
        running = to_binary32(running + shares[candidate])
        if running > share or (running == share and values["boundary"] == "reach"):
            count = place if values["boundary"] == "within" else place + 1
            break
    count = max(count, min(values["least"], len(ordered)))
    kept = set(ordered[:count])
    if values["ties"] == "all" and kept:
        smallest = min(shares[place] for place in kept)
        kept |= {place for place in ordered if shares[place] == smallest}
    return with_places(candidates, sorted(kept))


def _fitting(shares: Sequence[float], most: float) -> list[int]:
    """Return the places whose shares fit, with a running sum that rounds up and down."""
    heap: list[tuple[float, int]] = []
    running = 0.0
    for place, share in enumerate(shares):
        if share == 0:
            continue
        heappush(heap, (share, place))
        running = to_binary32(running + share)
        while running > most and len(heap) > 1:
            running = to_binary32(running - heappop(heap)[0])
    return [place for _, place in heap]


def _on_shares(function: Callable[..., Iterable[int]]) -> Apply:
    """Return a filter of weights as a step on the 32-bit probabilities."""
    known = known_arguments(function)

    def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
        shares = softmax_in_32_bits(candidates.logits)
        given = at_places(candidates, values)
        kept = function(shares, **known(situation, candidates), **given)
        return with_places(candidates, sorted(kept))

    return apply


def draw_in_32_bits(candidates: Candidates, situation: Situation, draw: Draw) -> TokenId:
    """Return the token that an engine draws with 32-bit weights and running sums."""
    weights = softmax_in_32_bits(candidates.logits)
    if draw.method in {"Gumbel-max", "exponential race"}:
        return _race(candidates, situation, draw, weights)
    places = walk(candidates, draw.order)
    uniform = to_binary32(situation.randomness.uniform("the draw", "f32"))
    total = sum_in_binary32(weights[place] for place in places)
    target = to_binary32(uniform * total)
    running = 0.0
    possible = [place for place in places if weights[place] > 0]
    for place in places if draw.zero_weight == "as walked" else possible:
        running = to_binary32(running + weights[place])
        if running > target or (running == target and draw.boundary == "reach"):
            return candidates.tokens[place]
    return candidates.tokens[possible[-1]]  # rounding left nothing beyond the last one


def _race(
    candidates: Candidates, situation: Situation, draw: Draw, weights: Sequence[float]
) -> TokenId:
    numbers = situation.randomness.many("the draw", situation.size)
    own = [numbers[token] for token in candidates.tokens]
    if draw.method == "Gumbel-max":
        place = gumbel_max(candidates.logits, own, noise=draw.noise)
    else:
        place = exponential_race(weights, own, noise=draw.noise)
    return candidates.tokens[place]


def _law(candidates: Candidates) -> list[float]:
    return softmax_in_32_bits(candidates.logits)


PLAIN = Twin(
    steps_applying(
        {
            "temperature": _temperature,
            "top_p": _top_p,
            "min_p": _on_shares(min_p),
            "epsilon": _on_shares(epsilon),
            "top_a": _on_shares(top_a),
            "tail_free": _on_shares(tail_free),
            "xtc": _on_shares(xtc),
        }
    ),
    _law,
    draw_in_32_bits,
)
"""The twin of every engine without one of its own."""
