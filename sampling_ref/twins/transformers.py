"""transformers in 32 bits: the formulas of its processors, and torch's own draw on a CPU.

transformers 5.23.0, `generation/logits_process.py` (https://github.com/huggingface/transformers),
with torch 2.13. In our words:

    Probabilities are e**(logit - largest), multiplied with the rounded reciprocal of their
    sum. Running sums add up with 64 bits, and each is rounded to 32. Top-p sorts upwards
    and removes what sums to at most the rounded 1 - p; typical sorts by the distance to the
    entropy, top-h downwards. The draw is that of `drawing.torch_cpu`.

Width of parameters
    They are 64-bit floats until they meet a row: there torch rounds them to 32 bits, the
    results of `1 - top_p` and of `1 / encoder_repetition_penalty` among them.
What is not torch's
    exp and log are glibc's, and a sum goes straight on; torch's exp differs in the last
    place, and it adds in lanes that depend on the machine. So a probability may differ by a
    few units in the last place, and with it what lies as near to a threshold, and a draw
    where two scores of the race lie as near to each other.
Equal logits
    are sorted stably, as torch sorts rows of up to sixteen; in longer rows it is not
    defined which of equals it takes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import inf, nan, sqrt
from types import MappingProxyType

from sampling_ref.candidates import Candidates
from sampling_ref.draws.torch_cpu import multinomial_torch_cpu
from sampling_ref.engines.profile import Draw
from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.numbers.glibc import expf, expf_of_all, logf
from sampling_ref.numbers.orders import largest
from sampling_ref.row import Number, ReadRow, TokenId, already_read, read_possible_logits
from sampling_ref.situation import Situation
from sampling_ref.steps import encoder_repetition
from sampling_ref.steps.step import Values, with_places
from sampling_ref.steps.table import steps_applying
from sampling_ref.twins.plain import PLAIN
from sampling_ref.twins.twin import Twin

WORD = 2**32
MANTISSA = 2**53
LOWEST = -(2.0**128 - 2.0**104)


def torch_softmax(logits: Sequence[Number]) -> list[float]:
    """Return probabilities as torch's softmax rounds them on a CPU.

    >>> torch_softmax([1.0, 1.0, float("-inf")])
    [0.5, 0.5, 0.0]
    """
    _, weights, total = _weights(logits)
    inverse = to_binary32(1 / total)
    return all_to_binary32([weight * inverse for weight in weights])


def torch_log_softmax(logits: Sequence[Number]) -> list[float]:
    """Return the logarithms of the probabilities as torch rounds them on a CPU.

    >>> torch_log_softmax([1.0, float("-inf")])
    [0.0, -inf]
    """
    gaps, _, total = _weights(logits)
    log_total = logf(total)
    return all_to_binary32([gap - log_total for gap in gaps])


def _weights(logits: Sequence[Number]) -> tuple[list[float], list[float], float]:
    """Return logits less the largest, e to these powers, and their sum."""
    floats = list(map(float, read_possible_logits(already_read(logits))))
    largest = max(floats)
    gaps = all_to_binary32([logit - largest for logit in floats])
    weights = expf_of_all(gaps)
    return gaps, weights, sum_in_binary32(weights)


def _running_sums(numbers: Iterable[float]) -> list[float]:
    """Return torch's cumulative sums on a CPU, which are carried on with 64 bits."""
    return all_to_binary32(list(accumulate(numbers)))


def _possible(candidates: Candidates, places: Iterable[int]) -> Candidates:
    """Return the candidates at these places if they are possible, in their order."""
    logits = candidates.logits
    return with_places(candidates, sorted(place for place in places if logits[place] > -inf))


def _top_p(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    upwards = sorted(range(len(candidates.logits)), key=candidates.logits.__getitem__)
    sums = _running_sums(torch_softmax([candidates.logits[place] for place in upwards]))
    removed = bisect_right(sums, to_binary32(1 - float(values["p"])))
    return _possible(candidates, upwards[max(0, min(removed, len(upwards) - values["least"])) :])


def _min_p(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    shares = torch_softmax(candidates.logits)
    threshold = to_binary32(to_binary32(values["m"]) * max(shares))
    kept = {place for place, share in enumerate(shares) if share >= threshold}
    return _possible(candidates, kept.union(largest(shares, values["least"], "lowest id")))


def _at_least(candidates: Candidates, threshold: float, least: int) -> Candidates:
    """Keep the shares of at least a threshold, and the largest logits with their equals."""
    shares = torch_softmax(candidates.logits)
    kept = {place for place, share in enumerate(shares) if share >= threshold}
    return _possible(candidates, kept.union(largest(candidates.logits, least, "all")))


def _epsilon(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return _at_least(candidates, to_binary32(values["cutoff"]), values["least"])


def _entropy(logits: Sequence[Number]) -> float:
    """Return the entropy that torch's Categorical reports: impossible tokens add nothing."""
    logs = torch_log_softmax(logits)
    shares = torch_softmax(logs)
    terms = zip(shares, logs, strict=True)
    return -sum_in_binary32(to_binary32(share * max(log, LOWEST)) for share, log in terms)


def _eta(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    cutoff = to_binary32(values["cutoff"])
    scaled = to_binary32(to_binary32(sqrt(cutoff)) * expf(-_entropy(candidates.logits)))
    return _at_least(candidates, min(cutoff, scaled), values["least"])


def _typical(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    logs = torch_log_softmax(candidates.logits)
    terms = zip(logs, expf_of_all(logs), strict=True)
    entropy = -sum_in_binary32(to_binary32(log * share) for log, share in terms if log > -inf)
    far = all_to_binary32([abs(-log - entropy) for log in logs])
    order = sorted(range(len(far)), key=far.__getitem__)
    sums = _running_sums(torch_softmax([candidates.logits[place] for place in order]))
    last = min(bisect_left(sums, to_binary32(values["mass"])), len(far) - 1)
    near = [place for place in order if far[place] <= far[order[last]]]
    return _possible(candidates, {*near, *order[: values["least"]]})


def _top_h(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    best = largest(candidates.logits, values["best"], "lowest id")
    logits = [candidates.logits[place] for place in best]
    allowed = to_binary32(_entropy(logits) * to_binary32(values["alpha"]))
    shares = torch_softmax(torch_log_softmax(logits))
    sums = _running_sums(-to_binary32(share * logf(share)) if share else nan for share in shares)
    within = {place for place, total in zip(best, sums, strict=True) if total <= allowed}
    return _possible(candidates, within | {best[0]})


def _log_softmax(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
    return Candidates(candidates.tokens, ReadRow(torch_log_softmax(candidates.logits)))


def _law(candidates: Candidates) -> list[float]:
    return torch_softmax(candidates.logits)


def _draw(candidates: Candidates, situation: Situation, draw: Draw) -> TokenId:
    row = [0.0] * situation.size
    for token, share in zip(candidates.tokens, torch_softmax(candidates.logits), strict=True):
        row[token] = share
    return multinomial_torch_cpu(row, _words(situation.randomness.many("the draw", len(row))))


def _words(numbers: Iterable[Number]) -> Iterator[int]:
    """Yield the two words of which torch would make each number."""
    for number in numbers:
        yield from divmod(int(number * MANTISSA), WORD)


TRANSFORMERS = Twin(
    MappingProxyType(
        {
            encoder_repetition.STEP.name: encoder_repetition.IN_64_BITS,
            "temperature": PLAIN.steps["temperature"],
            **steps_applying(
                {
                    "top_h": _top_h,
                    "top_p": _top_p,
                    "min_p": _min_p,
                    "typical": _typical,
                    "epsilon": _epsilon,
                    "eta": _eta,
                    "logprobs": _log_softmax,
                }
            ),
        }
    ),
    _law,
    _draw,
)
"""The processors of transformers that add up or exponentiate, and torch's draw."""
