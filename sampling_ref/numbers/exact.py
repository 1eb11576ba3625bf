"""Exact arithmetic: logits with weights e**(factor * logit), and weights themselves.

Nothing is rounded. Every decision is the one on real numbers; the modules that decide are
`reaching` and `nucleus` (running sums), `thresholds`, and `entropies`.

Logits (`EXACT`)
    Different logits have irrational ratios of weights, so that sums meet a share exactly
    only where all possible logits are equal.
Weights (`WEIGHTS`)
    The entries of a row are weights: rational numbers, not negative, of any total. Here
    sums do meet shares. Rules that need logits refuse them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor, inf
from typing import Any

from sampling_ref.numbers.entropies import (
    entropies_within,
    entropies_within_of_weights,
    nearest_first,
    share_of_entropy,
)
from sampling_ref.numbers.exponential_sums import exponential_bounds, sign_of_sum
from sampling_ref.numbers.logarithm_sums import Term, sign_of_logarithms
from sampling_ref.numbers.protocol import (
    Compared,
    Held,
    Numbers,
    OfAll,
    OfEntropy,
    OfLargest,
    OfLargestSquared,
    Row,
    Sigma,
    Surprise,
    Threshold,
    Walk,
    refuse,
)
from sampling_ref.numbers.reaching import first_reaching, nucleus
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.softmax import log_softmax, softmax
from sampling_ref.numbers.thresholds import (
    above_mean,
    logits_at_least,
    probabilities_at_least,
    side_of_mean,
)
from sampling_ref.numbers.totals import log_of_sum
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Candidates, Number, read_logits, read_weights, whole_numbers

_PLACES = 128


class ExactRow(Row):
    """Logits; the weight of a candidate is the real number e**(factor * logit)."""

    impossible = -inf

    def __init__(self, candidates: Candidates, *, whole: bool = False) -> None:
        self.candidates = candidates
        self.values = candidates.possible_logits()
        self.factor = read_fraction("factor", candidates.factor, "(0, inf)")
        self.whole = candidates.whole if whole else None

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        """Return where the running sum reaches a share; on a `Walk`, by way of the nucleus."""
        if isinstance(walk, Walk):
            found = self._nucleus(walk, share, strictly=strictly)
            if found is not None:
                walk.found = found
                return len(walk) - len(found) if walk.upwards else len(found) - 1
            walk = walk.places
        logits = [self.values[place] for place in walk]
        total = self.whole
        if total is None and of == "row" and len(walk) < len(self.possible()):
            total = self.values
        return first_reaching(logits, share, strictly=strictly, total=total, factor=self.factor)

    def _nucleus(self, walk: Walk, share: Fraction, *, strictly: bool) -> list[int] | None:
        """Return what a walk from the top keeps, unless the walk has to be gone to its end.

        Upwards, what is left where the sum exceeds 1 - p is the same set: the smallest one
        of the largest that holds p, equals of the highest ids first.
        """
        if walk.upwards:
            if self.whole is not None:
                raise refuse("walked", "upwards", "a share of the whole row")
            if share == 1 or not strictly:
                return None
            return nucleus(self.values, 1 - share, ties="highest id", factor=self.factor)
        found = nucleus(
            self.values,
            share,
            strictly=strictly,
            ties=walk.ties,
            total=self.whole,
            factor=self.factor,
        )
        return found if len(found) < len(walk) else None

    def held(self, share: Fraction) -> Held:
        """Return an empty sum of weights, decided by enclosures or by the sign of a sum."""
        return HeldExponentials(self.values, self.whole or self.values, share, self.factor)

    def distances(self) -> list[float]:
        """Return ranks: no two logits of different distance have the same."""
        values = sorted({*self.values} - {-inf})
        groups = nearest_first(values, side_of_mean(self.values, self.factor))
        ranks = {value: float(rank) for rank, group in enumerate(groups) for value in group}
        return [ranks.get(logit, inf) for logit in self.values]

    def at_least(self, threshold: Threshold, *, strictly: bool) -> list[int]:
        match threshold:
            case OfAll(share):
                return probabilities_at_least(
                    self.values, share, strictly=strictly, factor=self.factor
                )
            case OfLargest(share):
                return self._at_least_of_largest(share, strictly=strictly)
            case OfLargestSquared(share):
                return self._at_least_of_square(share)
            case OfEntropy(cutoff, coefficient, argument):
                # Above the smaller threshold is above one of the two.
                passing = probabilities_at_least(
                    self.values, cutoff, strictly=strictly, factor=self.factor
                )
                near = above_mean(
                    self.values, coefficient, argument, self.factor, strictly=strictly
                )
                return sorted({*passing, *near})
            case Surprise(bits):
                return self._at_most_surprising(Fraction(bits))
            case Sigma(multiple, deviation):
                return self._within_deviations(multiple, deviation)

    def _at_least_of_largest(self, share: Fraction, *, strictly: bool) -> list[int]:
        if share == 0:
            return self.possible()
        if share > 1:
            return []
        threshold = Real(share).log() + self.factor * Fraction(max(self.values))
        return logits_at_least(self.values, threshold, strictly=strictly, factor=self.factor)

    def _at_least_of_square(self, share: Fraction) -> list[int]:
        """Return where weight * Z is at least the share, the largest weight being 1.

        The two can be equal only if all possible logits are equal; then Z is their number.
        """
        places, highest = self.possible(), max(self.values)
        if share == 0 or all(self.values[place] == highest for place in places):
            return places if share <= len(places) else []
        top = self.factor * Fraction(highest)
        threshold = Real(share).log() + 2 * top - log_of_sum(self.values, self.factor)
        return logits_at_least(self.values, threshold, factor=self.factor)

    def _at_most_surprising(self, bits: Fraction) -> list[int]:
        places = Row.possible(self)
        if len({self.values[place] for place in places}) == 1:  # all surprise by log2 of n
            is_kept = sign_of_logarithms([(1, len(places)), (-bits, 2)]) <= 0
            return places if is_kept else []
        threshold = log_of_sum(self.values, self.factor) - Real(2).log() * bits
        return logits_at_least(self.values, threshold, factor=self.factor)

    def _within_deviations(self, multiple: Fraction, deviation: str) -> list[int]:
        """Return where (largest - l)**2 is at most multiple**2 * variance, as rational numbers."""
        places = Row.possible(self)
        if len(places) == 1:
            return places
        # The common denominator falls out of the comparison.
        wholes, _ = whole_numbers([self.values[place] for place in places])
        count = len(wholes)
        # The sum of squared distances from the mean is (count * squares - sum**2) / count.
        spread = Fraction(count * sum(whole * whole for whole in wholes) - sum(wholes) ** 2, count)
        variance = spread / (count if deviation == "population" else count - 1)
        farthest = multiple * multiple * variance
        top = max(wholes)
        return [
            place
            for place, whole in zip(places, wholes, strict=True)
            if (top - whole) ** 2 <= farthest
        ]

    def entropy_within(self, line: Sequence[int], alpha: Fraction, *, entropy: str) -> int:
        logits = [self.values[place] for place in line]
        return entropies_within(logits, alpha, entropy, self.factor)

    def tempered(self, low: Number, high: Number, power: Number, count: int) -> Number:
        """Return the float nearest to the temperature that the formula defines."""
        logits = [logit for logit in self.candidates.true_logits() if logit > -inf]
        evenness = Real(1) if count == 1 else share_of_entropy(logits, count)
        if power == 0:
            raised = Real(1)
        elif evenness.exact in {0, 1}:
            raised = evenness
        else:
            raised = (evenness.log() * Fraction(power)).exp()
        return float(raised * (Fraction(high) - Fraction(low)) + Fraction(low))

    def surprise(self, place: int) -> Number:
        """Return the surprise in bits, as the nearest float."""
        counts = Counter(self.values)
        del counts[-inf]
        count = sum(counts.values())
        if len(counts) == 1 and count & (count - 1) == 0:
            return float(count.bit_length() - 1)  # a power of two: a whole number of bits
        total = log_of_sum(self.values, self.factor)
        return float((total - Fraction(self.values[place]) * self.factor) / Real(2).log())

    def probabilities(self, *, log: bool = False) -> list[float]:
        """Return the nearest floats."""
        return (log_softmax if log else softmax)(self.values, factor=self.factor)


class WeightRow(Row):
    """Weights: rational numbers that are not negative."""

    impossible = 0

    def __init__(
        self, candidates: Candidates, weights: Sequence[Number], total: Fraction | None = None
    ) -> None:
        self.candidates = candidates
        self.values = weights
        self._total = total

    @property
    def total(self) -> Fraction:
        """The total weight that shares refer to."""
        if self._total is None:
            wholes, unit = whole_numbers(self.values)
            self._total = Fraction(sum(wholes), unit)
        return self._total

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        places = walk.places if isinstance(walk, Walk) else walk
        wholes, unit = whole_numbers([self.values[place] for place in places])
        runs = list(accumulate(wholes))
        required = share * (runs[-1] if of == "walk" else self.total * unit)
        index = bisect_left(runs, floor(required) + 1 if strictly else ceil(required))
        return index if index < len(runs) else None

    def held(self, share: Fraction) -> Held:
        return HeldWeights(self.values, share * self.total, Fraction)

    def distances(self) -> list[float]:
        """Return ranks: different weights may have the same distance, one on each side."""
        counts = Counter(Fraction(weight) for weight in self.values if weight > 0)
        total = sum(weight * count for weight, count in counts.items())
        mean = [(-2 * weight * count / total, weight) for weight, count in counts.items()]

        def side(one: Fraction, two: Fraction) -> int:
            return sign_of_logarithms([(1, one), (1, two), *mean])

        groups = nearest_first(sorted(counts), side)
        ranks = {value: float(rank) for rank, group in enumerate(groups) for value in group}
        return [ranks.get(Fraction(weight), inf) for weight in self.values]

    def at_least(self, threshold: Threshold, *, strictly: bool) -> list[int]:
        match threshold:
            case OfAll(share):
                least = share * self.total
            case OfLargest(share):
                least = share * Fraction(max(self.values))
            case OfLargestSquared(share):
                least = share * Fraction(max(self.values)) ** 2 / self.total
            case OfEntropy():
                return self._at_least_of_entropy(threshold, strictly=strictly)
            case _:
                raise refuse("numbers", "weights", "a rule on logits")
        return [
            place
            for place, weight in enumerate(self.values)
            if weight > 0 and (weight > least or (weight == least and not strictly))
        ]

    def _at_least_of_entropy(self, threshold: OfEntropy, *, strictly: bool) -> list[int]:
        probabilities = [Fraction(weight) / self.total for weight in self.values]
        rest: list[Term] = [(-p, p) for p in probabilities if p]  # their sum is the entropy
        rest.append((-threshold.coefficient, threshold.argument))

        def is_above(p: Fraction) -> bool:
            # Above the smaller threshold is above one of the two.
            above = (p > threshold.cutoff) - (p < threshold.cutoff)
            sign = max(above, sign_of_logarithms([(1, p), *rest]))
            return sign > 0 or (sign == 0 and not strictly)

        decided = {p: is_above(p) for p in set(probabilities) if p}
        return [place for place, p in enumerate(probabilities) if p and decided[p]]

    def entropy_within(self, line: Sequence[int], alpha: Fraction, *, entropy: str) -> int:
        weights = [Fraction(self.values[place]) for place in line]
        return entropies_within_of_weights(weights, alpha, entropy)

    def probabilities(self, *, log: bool = False) -> list[float]:
        """Return the floats nearest to the shares."""
        if log:
            raise refuse("log", log, "a row of weights")
        return [float(Fraction(weight) / self.total) for weight in self.values]


class HeldExponentials:
    """A sum of exponentials that grows and shrinks, beside a share of another one.

    Enclosures of 128 binary places decide whether it is more. The sign of a sum of
    exponentials decides what they leave open.
    """

    def __init__(
        self, logits: Sequence[Number], total: Sequence[Number], share: Fraction, factor: Fraction
    ) -> None:
        whole = Counter(total)
        values = list({*logits, *whole})
        bounds = exponential_bounds(values, max(values), factor, _PLACES)
        self._enclosed = dict(zip(values, bounds, strict=True))
        self._least, self._most = (
            share * sum(count * self._enclosed[logit][end] for logit, count in whole.items())
            for end in (0, 1)
        )
        self._logits, self._factor = logits, factor
        self._demanded = {logit: -share * count for logit, count in whole.items()}
        self._counts: Counter[Number] = Counter()
        self._held = [0, 0]

    def change(self, place: int, sign: int) -> None:
        self._counts[self._logits[place]] += sign
        for end, bound in enumerate(self._enclosed[self._logits[place]]):
            self._held[end] += sign * bound

    def is_too_much(self) -> bool:
        if self._held[0] > self._most or self._held[1] < self._least:
            return self._held[0] > self._most
        terms = dict(self._demanded)
        for logit, count in self._counts.items():
            terms[logit] = terms.get(logit, Fraction(0)) + count
        return sign_of_sum(terms, self._factor) > 0


class HeldWeights:
    """A sum of weights that grows and shrinks, in numbers of a kind of which `most` are allowed."""

    def __init__(
        self, weights: Sequence[Number], most: Number, kind: Callable[[Any], Number]
    ) -> None:
        self._weights, self._most, self._kind, self._sum = weights, most, kind, kind(0)

    def change(self, place: int, sign: int) -> None:
        self._sum = self._sum + sign * self._kind(self._weights[place])

    def is_too_much(self) -> bool:
        return self._sum > self._most


class Exact(Numbers):
    """Exact logits."""

    def read(self, row: Any) -> list[Number]:
        return read_logits(row)

    def number(self, value: Number) -> Number:
        """Return the rational number that a value is; infinities and NaN are for the step to judge.

        >>> EXACT.number(0.5), EXACT.number(float("inf"))
        (Fraction(1, 2), inf)
        """
        return Fraction(value) if -inf < value < inf else value

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        return ExactRow(candidates, whole=compared == "whole shares")

    def divided(self, candidates: Candidates, temperature: Number) -> Candidates:
        """Divide the factor of the candidates, so that nothing is rounded."""
        factor = candidates.factor / Fraction(temperature)
        return replace(candidates, factor=factor, weights=None)


class Weights(Exact):
    """Exact weights."""

    impossible = 0

    def read(self, row: Any) -> list[Number]:
        return read_weights(row)

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        total = None
        if compared == "whole shares" and candidates.whole is not None:
            total = sum((Fraction(weight) for weight in candidates.whole), start=Fraction(0))
        return WeightRow(candidates, candidates.logits, total)

    def divided(self, candidates: Candidates, temperature: Number) -> Candidates:
        """Refuse: a temperature makes rational weights irrational."""
        raise refuse("temperature", temperature, "a row of weights")


EXACT = Exact()
"""Exact arithmetic on logits."""

WEIGHTS = Weights()
"""Exact arithmetic on weights: the entries of a row are weights, not logits."""
