"""32-bit floats as llama.cpp calculates on a processor, operation by operation.

Source: src/llama-sampler.cpp of llama.cpp, as in the source archive llama_cpp_python 0.3.36
(https://github.com/ggml-org/llama.cpp), with glibc's functions.

Probabilities
    expf(logit - max), each divided by the sum of all of them. Every operation rounds to
    binary32, and the sum goes from the first candidate to the last: with 100,000 candidates
    it loses digits, and the probabilities do not sum to one. The last draw alone adds up
    with 64 bits.
The maximum
    Of sorted candidates it is taken to be the first, whether it is or not: `logit_bias`
    changes logits and leaves the flag. For the same reason what lies above a threshold is
    the beginning of the list, and not a set.
Checks
    The engine never checks whether its numbers make sense. An empty list stops its process;
    NaN or plus infinity makes every probability NaN, and some token is drawn. Here these are
    errors, as everywhere in this package. All logits and real parameters are rounded to
    binary32 first, which is what passing them to the engine does.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import inf, sqrt
from typing import Any

from sampling_ref.errors import ParameterError, RowError, shown
from sampling_ref.numbers.binary32 import Binary32, all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.numbers.glibc import expf_of_all, log2f, logf, powf
from sampling_ref.numbers.protocol import (
    Compared,
    Numbers,
    OfAll,
    OfLargest,
    Row,
    Sigma,
    Surprise,
    Threshold,
    Walk,
    refuse,
)
from sampling_ref.row import Candidates, Number, ReadRow


class Llama32Row(Row):
    """32-bit logits in the engine's order, after checking that they make sense.

    >>> Llama32Row(Candidates([3, 1], [0.5, 0.1])).values
    [0.5, 0.10000000149011612]
    >>> Llama32Row(Candidates([], []))
    Traceback (most recent call last):
    sampling_ref.errors.RowError: candidates must hold at least one token, got none
    """

    impossible = -inf
    rounds = True

    def __init__(self, candidates: Candidates) -> None:
        if candidates.factor != 1:
            rule = "must be 1: 32-bit logits are divided"
            raise ParameterError("factor", candidates.factor, rule)
        if not candidates.logits:
            raise RowError("candidates must hold at least one token, got none")
        self.candidates = candidates
        self.values: list[float] = all_to_binary32(
            logit if isinstance(logit, float) else to_binary32(logit) for logit in candidates.logits
        )
        if not -inf <= sum(self.values) < inf:  # one pass for the usual row: NaN and infinity stay
            for token, logit in zip(candidates.tokens, self.values, strict=True):
                if not -inf <= logit < inf:
                    rule = "must be finite or minus infinity in 32 bits"
                    raise RowError(f"the logit of token {token} {rule}, got {shown(logit)}")

    @cached_property
    def weights(self) -> list[float]:
        """expf(logit - max) of each candidate."""
        top = self.values[0] if self.candidates.is_sorted else max(self.values)
        if top == -inf:
            raise RowError("candidates must leave a token possible: the largest is minus infinity")
        return expf_of_all(all_to_binary32([logit - top for logit in self.values]))

    @cached_property
    def shares(self) -> list[float]:
        """The probabilities."""
        total = sum_in_binary32(self.weights)
        if total == inf:
            rule = "the first of the candidates is not the largest, and a weight is infinite"
            raise RowError(rule)
        return all_to_binary32([weight / total for weight in self.weights])

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        """Return where the running sum reaches a share.

        Of a "walk", weights are added with 64 bits, as the last draw does it. "quotients" are
        those of std::discrete_distribution, whose last running sum is set to 1.
        """
        places = walk.places if isinstance(walk, Walk) else walk
        if of == "quotients":
            total = sum_in_order(self.shares)
            running = list(accumulate(weight / total for weight in self.shares))
            running[-1] = 1.0
            return bisect_left(running, float(share))
        if of == "walk":
            weights = [self.weights[place] for place in places]
            target = sum_in_order(weights) * float(share)
            sums = accumulate(weights, lambda one, two: one + two)
        else:
            target = to_binary32(share)
            shares = [self.shares[place] for place in places]
            sums = accumulate(shares, lambda one, two: to_binary32(one + two))
        for index, running in enumerate(sums):
            if running > target or (running == target and not strictly):
                return index
        return None

    def distances(self) -> list[float]:
        """Return |surprise - entropy|; beside an impossible candidate all are NaN."""
        surprises = [-logf(share) for share in self.shares]
        pairs = zip(self.shares, surprises, strict=True)
        entropy = sum_in_binary32(to_binary32(share * surprise) for share, surprise in pairs)
        return [abs(to_binary32(surprise - entropy)) for surprise in surprises]

    def at_least(self, threshold: Threshold, *, strictly: bool) -> list[int]:
        if strictly:
            raise refuse("equality", "removed", "llama.cpp's 32 bits")
        match threshold:
            case OfAll(share):
                return _beginning(self.shares, to_binary32(share).__le__)
            case OfLargest(share):
                top = self.values[0] if self.candidates.is_sorted else max(self.values)
                least = to_binary32(top + logf(to_binary32(share)))
                return [place for place, logit in enumerate(self.values) if logit >= least]
            case Surprise(bits):
                most = to_binary32(bits)
                return _beginning(self.shares, lambda share: -log2f(share) <= most)
            case Sigma(multiple, deviation):
                if deviation != "population":
                    raise refuse("deviation", deviation, "llama.cpp's 32 bits")
                return self._within_deviations(to_binary32(multiple))
            case _:
                raise refuse("numbers", "llama32", "this rule")

    def _within_deviations(self, multiple: float) -> list[int]:
        """Return where a logit is at least the largest one less a multiple of the deviation.

        Squares are exact in binary64 and are added there; the sum is rounded to binary32
        after each.
        """
        possible = [logit for logit in self.values if logit != -inf]
        if not possible:
            return list(range(len(self.values)))
        mean = to_binary32(sum_in_binary32(possible) / len(possible))
        distances = all_to_binary32([logit - mean for logit in possible])
        squares = (distance * distance for distance in distances)
        deviation = to_binary32(sqrt(to_binary32(sum_in_binary32(squares) / len(possible))))
        least = to_binary32(max(possible) - to_binary32(multiple * deviation))
        return [place for place, logit in enumerate(self.values) if logit >= least]

    def tempered(self, low: Number, high: Number, power: Number, count: int) -> Number:
        """Return the temperature; log(count) is -logf(1 / count)."""
        entropy = 0.0
        for share in self.shares:
            if share > 0:
                entropy = to_binary32(entropy - to_binary32(share * logf(share)))
        evenness = to_binary32(entropy / -logf(1.0 / count))
        return low + (high - low) * Binary32(powf(evenness, float(power)))

    def surprise(self, place: int) -> Number:
        return Binary32(-log2f(self.shares[place]))

    def probabilities(self, *, log: bool = False) -> list[float]:
        if log:
            raise refuse("log", log, "llama.cpp's 32 bits")
        return self.shares


def sum_in_order(numbers: Iterable[float]) -> float:
    """Return the sum of floats, rounded to binary64 after each; Python's own adds better.

    >>> sum_in_order([2.0**53, 1.0, 1.0]) - 2.0**53
    0.0
    """
    total = 0.0
    for number in numbers:
        total += number
    return total


def _beginning(shares: Sequence[float], passes: Callable[[float], bool]) -> list[int]:
    """Return the places before the first share that does not pass."""
    for place, share in enumerate(shares):
        if not passes(share):
            return list(range(place))
    return list(range(len(shares)))


class Llama32(Numbers):
    """llama.cpp's 32-bit floats, for candidates in any order."""

    row = Llama32Row
    rounds = True

    def read(self, row: Any) -> list[Number]:
        """Return a row as it is: the candidates are checked when a rule reads them."""
        return list(row)

    def number(self, value: Number) -> Number:
        return Binary32(value)

    def scalar(self, value: Number) -> Number:
        return Binary32(value)

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        if compared == "whole shares":
            raise refuse("base", "the whole row", "llama.cpp's 32 bits")
        return self.row(candidates)

    def divided(self, candidates: Candidates, temperature: Number) -> Candidates:
        """Return the rounded quotients.

        A tiny temperature can divide a logit up to infinity. In the engine probabilities
        become NaN by it; here the next step raises an error.
        """
        divisor = float(temperature)
        quotients = all_to_binary32([logit / divisor for logit in Llama32Row(candidates).values])
        return replace(candidates, logits=ReadRow(quotients))

    def law(self, candidates: Candidates) -> list[float]:
        """Return the probabilities of the last draw: quotients by the binary64 sum, rounded."""
        row = Llama32Row(candidates)
        if len(row.values) == 1:
            return [1.0]
        total = sum_in_order(row.weights)
        return all_to_binary32([weight / total for weight in row.weights])
