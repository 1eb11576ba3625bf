"""32-bit floats as torch calculates on a CPU, and transformers with it.

transformers 5.23.0, `generation/logits_process.py` (https://github.com/huggingface/transformers),
with torch 2.13. Probabilities are e**(logit - largest), multiplied with the rounded
reciprocal of their sum. Running sums add up with 64 bits, and each is rounded to 32.

Where the softmax is taken
    over the candidates in the order of the walk: the sort comes first.
Width of parameters
    They are 64-bit floats until they meet a row: there torch rounds them to 32 bits, the
    result of `1 - top_p` among them.
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
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import inf, nan, sqrt

from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.numbers.glibc import expf, expf_of_all, logf
from sampling_ref.numbers.orders import largest
from sampling_ref.numbers.plain32 import Plain32, weights_in_32_bits
from sampling_ref.numbers.protocol import (
    Compared,
    OfAll,
    OfEntropy,
    OfLargest,
    Row,
    Threshold,
    Walk,
    refuse,
)
from sampling_ref.row import Candidates, Number, Ties

LOWEST = -(2.0**128 - 2.0**104)


def torch_softmax(logits: Sequence[Number]) -> list[float]:
    """Return probabilities as torch's softmax rounds them on a CPU.

    >>> torch_softmax([1.0, 1.0, float("-inf")])
    [0.5, 0.5, 0.0]
    """
    _, weights, total = weights_in_32_bits(logits)
    inverse = to_binary32(1 / total)
    return all_to_binary32([weight * inverse for weight in weights])


def torch_log_softmax(logits: Sequence[Number]) -> list[float]:
    """Return the logarithms of the probabilities as torch rounds them on a CPU.

    >>> torch_log_softmax([1.0, float("-inf")])
    [0.0, -inf]
    """
    gaps, _, total = weights_in_32_bits(logits)
    log_total = logf(total)
    return all_to_binary32([gap - log_total for gap in gaps])


def _running_sums(numbers: Iterable[float]) -> list[float]:
    """Return torch's cumulative sums on a CPU, which are carried on with 64 bits."""
    return all_to_binary32(list(accumulate(numbers)))


def categorical_entropy(logits: Sequence[Number]) -> float:
    """Return the entropy that torch's Categorical reports: impossible tokens add nothing.

    >>> categorical_entropy([0.0, float("-inf")])
    0.0
    """
    logs = torch_log_softmax(logits)
    terms = zip(torch_softmax(logs), logs, strict=True)
    return 0.0 - sum_in_binary32(to_binary32(share * max(log, LOWEST)) for share, log in terms)


class Torch32Row(Row):
    """32-bit logits; probabilities are those of torch."""

    impossible = -inf

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.values = candidates.possible_logits()

    @cached_property
    def shares(self) -> list[float]:
        """The probabilities, summed in the order of the candidates."""
        return torch_softmax(self.values)

    def largest(self, count: int, ties: Ties) -> list[int]:
        """Return the places of the largest.

        Where transformers keeps all equals it compares with the `count`-th largest logit;
        otherwise it has sorted the probabilities.
        """
        keys: Sequence[Number] = self.values if ties == "all" else self.shares
        return [place for place in largest(keys, count, ties) if self.values[place] > -inf]

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        places = walk.places if isinstance(walk, Walk) else walk
        sums = _running_sums(torch_softmax([self.values[place] for place in places]))
        end = (bisect_right if strictly else bisect_left)(sums, to_binary32(float(share)))
        return end if end < len(places) else None

    def distances(self) -> list[float]:
        """Return |surprise - entropy| in 32 bits."""
        logs = torch_log_softmax(self.values)
        terms = zip(logs, expf_of_all(logs), strict=True)
        entropy = -sum_in_binary32(to_binary32(log * share) for log, share in terms if log > -inf)
        return all_to_binary32([abs(-log - entropy) for log in logs])

    def at_least(self, threshold: Threshold, *, strictly: bool) -> list[int]:
        """Return the places whose probability is at least a 32-bit threshold."""
        match threshold:
            case OfAll(share):
                least = to_binary32(share)
            case OfLargest(share):
                least = to_binary32(to_binary32(share) * max(self.shares))
            case OfEntropy(cutoff, coefficient, argument):
                if (coefficient, argument) != (Fraction(1, 2), cutoff):
                    raise refuse("scale", argument, "torch's 32 bits")
                rounded = to_binary32(cutoff)
                power = expf(-categorical_entropy(self.values))
                least = min(rounded, to_binary32(to_binary32(sqrt(rounded)) * power))
            case _:
                raise refuse("numbers", "torch32", "this rule")
        if strictly:
            raise refuse("equality", "removed", "torch's 32 bits")
        return [
            place
            for place, share in enumerate(self.shares)
            if share >= least and self.values[place] > -inf
        ]

    def entropy_within(self, line: Sequence[int], alpha: Fraction, *, entropy: str) -> int:
        """Return how many of the first places have at most alpha times the entropy of all.

        A probability of 0 makes its term, and every later sum, not a number.
        """
        if entropy != "shared":
            raise refuse("entropy", entropy, "torch's 32 bits")
        logits = [self.values[place] for place in line]
        allowed = to_binary32(categorical_entropy(logits) * to_binary32(alpha))
        shares = torch_softmax(torch_log_softmax(logits))
        terms = [-to_binary32(share * logf(share)) if share else nan for share in shares]
        within = [running <= allowed for running in _running_sums(terms)]
        return within.index(False) if False in within else len(within)

    def probabilities(self, *, log: bool = False) -> list[float]:
        return torch_log_softmax(self.values) if log else self.shares


class Torch32(Plain32):
    """torch's 32-bit floats; what torch does not sum or exponentiate is plain."""

    def parameter(self, value: Number) -> Number:
        """Return a parameter as it is: torch rounds it where it meets a row."""
        return value

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        if compared == "whole shares":
            raise refuse("base", "the whole row", "torch's 32 bits")
        return Torch32Row(candidates)


TORCH32 = Torch32()
"""32-bit floats as torch calculates on a CPU."""
