"""What rules may ask of numbers: the protocol that every arithmetic implements.

A rule in `steps/` contains no rounding and no engine. It is given an arithmetic (`Numbers`),
binds it to the candidates, and asks the resulting `Row` where a running sum reaches a share,
what lies above a threshold, and so on. The arithmetics are

    exact       logits are exact, weights are the real numbers e**logit (`exact`)
    weights     the entries are the weights themselves, rational numbers (`exact`)
    plain32     32-bit floats, one operation after the other (`plain32`)
    torch32     32-bit floats as torch calculates on a CPU (`torch32`)
    llama32     32-bit floats as llama.cpp calculates (`llama32`)

Order
    A row also knows in which order its engine holds candidates: it sorts where the engine
    sorts (`ordered`), walks equals in the engine's order, and leaves the candidates as the
    engine leaves them (`keep`). Most engines leave them where they were.
Choices
    An arithmetic that cannot honour a choice raises `ParameterError`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, Literal, Protocol, TypeAlias

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.orders import in_order, largest
from sampling_ref.row import Candidates, Number, ReadRow, Ties, all_candidates


@dataclass(frozen=True)
class OfAll:
    """A share of the total weight."""

    share: Fraction


@dataclass(frozen=True)
class OfLargest:
    """A multiple of the largest weight."""

    share: Fraction


@dataclass(frozen=True)
class OfLargestSquared:
    """A multiple of the square of the largest probability."""

    factor: Fraction


@dataclass(frozen=True)
class OfEntropy:
    """The smaller one of `cutoff` and e**-entropy times argument**coefficient."""

    cutoff: Fraction
    coefficient: Fraction
    argument: Fraction


@dataclass(frozen=True)
class Surprise:
    """A probability of 2**-bits."""

    bits: Number


@dataclass(frozen=True)
class Sigma:
    """The largest logit less a multiple of the standard deviation of the possible logits."""

    multiple: Fraction
    deviation: str


Width: TypeAlias = Literal["f32", "f64"]
"""How wide the float is that an engine makes of its random bits."""

Compared: TypeAlias = Literal["logits", "shares", "whole shares"]
"""What a rule compares; whole shares are those of the row before all filters."""

Threshold: TypeAlias = OfAll | OfLargest | OfLargestSquared | OfEntropy | Surprise | Sigma


class Walk:
    """The places of a row's possible candidates by falling or rising value.

    The row is sorted no further than is needed: `first` and `after` return places that a
    search has found already (`found`, in any order), or look for them.
    """

    def __init__(
        self, values: Sequence[Number], impossible: Number, ties: Ties, *, upwards: bool = False
    ) -> None:
        self.values = values
        self.ties = ties
        self.upwards = upwards
        self.found: Collection[int] = ()
        self._impossible = impossible

    def __len__(self) -> int:
        """Return how many candidates are possible."""
        return self._size

    @cached_property
    def _size(self) -> int:
        return len(self.values) - self.values.count(self._impossible)

    @cached_property
    def places(self) -> list[int]:
        """All places, sorted."""
        values, impossible = self.values, self._impossible
        possible = [place for place, value in enumerate(values) if value > impossible]
        if self.upwards:
            return sorted(possible, key=values.__getitem__)
        return in_order(values, possible, self.ties)

    def first(self, count: int) -> Collection[int]:
        """Return the first places of the walk.

        >>> Walk([0.5, 2.0, 1.0], 0.0, "lowest id").first(2)
        [1, 2]
        """
        if self.found and count == len(self.found):
            return self.found
        if count >= len(self.values) or self.upwards:
            return self.places[:count]
        ties: Ties = "highest id" if self.ties == "highest id" else "lowest id"
        found = largest(self.values, count, ties)
        return [place for place in found if self.values[place] > self._impossible]

    def after(self, count: int) -> Collection[int]:
        """Return the places of the walk without the first ones.

        >>> Walk([0.5, 2.0, 1.0], 0.0, "lowest id", upwards=True).after(1)
        [2, 1]
        """
        if self.found and len(self) - count == len(self.found):
            return self.found
        return self.places[count:]


class Row:
    """Candidates bound to an arithmetic: the base class of all rows.

    `values` is what the row sorts by, logits or probabilities; a candidate at `impossible`
    has no weight.
    """

    candidates: Candidates
    values: Sequence[Number]
    impossible: Number
    rounds = False
    """Whether its logarithms and powers are rounded to 32 bits."""

    # Order

    def possible(self) -> list[int]:
        """Return the places of the candidates that an engine counts as possible."""
        return [place for place, value in enumerate(self.values) if value > self.impossible]

    def ordered(self) -> "Row":
        """Return the row as the engine sorts it before a step that needs falling logits."""
        return self

    def falling(self, ties: Ties) -> Walk:
        """Return the walk from the largest value down."""
        return Walk(self.values, self.impossible, ties)

    def rising(self) -> Walk:
        """Return the walk from the smallest value up, equals in the order they have."""
        return Walk(self.values, self.impossible, "highest id", upwards=True)

    def nearest(self, distances: Sequence[float], ties: Ties) -> list[int]:
        """Return the places of possible candidates by rising distance."""
        order = sorted(self.possible(), reverse=ties == "highest id")
        return sorted(order, key=distances.__getitem__)

    def largest(self, count: int, ties: Ties) -> list[int]:
        """Return the places of the largest possible values."""
        found = largest(self.values, count, ties)
        return [place for place in found if self.values[place] > self.impossible]

    def with_equals(self, kept: Collection[int]) -> Collection[int]:
        """Return the kept places and all whose value equals the smallest kept one."""
        if not kept:
            return kept
        least = min(self.values[place] for place in kept)
        return {*kept, *(place for place, value in enumerate(self.values) if value == least)}

    def last_of(self, places: Sequence[int], ties: Ties) -> list[int]:
        """Return the place of the smallest value, by the rule for equals, or all such places."""
        least = min(self.values[place] for place in places)
        equals = [place for place in places if self.values[place] == least]
        if ties == "all":
            return equals
        return [max(equals) if ties == "highest id" else min(equals)]

    def keep(self, places: Iterable[int], order: str = "") -> Candidates:
        """Return the kept candidates, in the order in which the engine leaves them.

        `order` names the order of `places` where an engine leaves it behind: "falling" or
        "nearest".
        """
        return self.candidates.at(sorted(places))

    def keep_at_least(
        self, threshold: Threshold, *, strictly: bool, least: int, ties: Ties
    ) -> Candidates:
        """Return the candidates at or above a threshold, and never fewer than the least."""
        kept = self.at_least(threshold, strictly=strictly)
        if len(kept) < least:
            kept = list({*kept, *self.largest(least, ties)})
        return self.keep(kept)

    # Numbers

    def at_least(self, threshold: Threshold, *, strictly: bool) -> list[int]:
        """Return the places at or above (strictly: above) a threshold."""
        raise NotImplementedError

    def reaching(
        self, walk: Walk | Sequence[int], share: Fraction, *, strictly: bool, of: str = "row"
    ) -> int | None:
        """Return the index in the walk at which the running sum of weights reaches a share.

        `of` says of which total: "row", or "walk" for that of the places walked.
        """
        raise NotImplementedError

    def held(self, share: Fraction) -> "Held":
        """Return an empty sum of weights that says when it is more than a share."""
        raise NotImplementedError

    def distances(self) -> list[float]:
        """Return numbers that rise with |surprise - entropy|; infinite if impossible."""
        raise NotImplementedError

    def entropy_within(self, line: Sequence[int], alpha: Fraction, *, entropy: str) -> int:
        """Return how many of the first places have at most alpha times the entropy of all."""
        raise NotImplementedError

    def bends_within(self, line: Sequence[int], share: Fraction) -> int | None:
        """Return how many running sums of second differences are at most a share of the last.

        None if all are 0. Exact rows are decided next to the rule, in `steps/tail_free`.
        """
        raise NotImplementedError

    def tempered(self, low: Number, high: Number, power: Number, count: int) -> Number:
        """Return low + (high - low) * (entropy / log(count)) ** power."""
        raise NotImplementedError

    def surprise(self, place: int) -> Number:
        """Return the surprise of a candidate in bits."""
        raise NotImplementedError

    def probabilities(self, *, log: bool = False) -> list[float]:
        """Return the probability of each candidate, or its natural logarithm."""
        raise NotImplementedError


class Held(Protocol):
    """A sum of weights that grows and shrinks."""

    def change(self, place: int, sign: int) -> None:
        """Add the weight at a place (1), or take it away (-1)."""

    def is_too_much(self) -> bool:
        """Return whether the sum is more than the share."""


class Numbers:
    """An arithmetic. The methods here are those that most arithmetics share."""

    rounds = False
    """Whether it rounds to 32 bits."""
    sorts = False
    """Whether its rows sort the candidates themselves, in an order of their own."""
    impossible: Number = -inf
    """The entry of a candidate that is not possible."""

    def candidates(self, row: Any) -> Candidates:
        """Return candidates for a bare row of numbers; candidates as they are."""
        return row if isinstance(row, Candidates) else all_candidates(ReadRow(self.read(row)))

    def read(self, row: Any) -> list[Number]:
        """Return the checked numbers of a row."""
        raise NotImplementedError

    def number(self, value: Number) -> Number:
        """Return a number to calculate penalties, biases and temperatures with."""
        raise NotImplementedError

    def parameter(self, value: Number) -> Number:
        """Return a parameter of a penalty as a number to calculate with."""
        return self.number(value)

    def scalar(self, value: Number) -> Number:
        """Return a number of a sampler's state, such as mirostat's mu."""
        return value

    def of(self, candidates: Candidates, compared: Compared = "logits") -> Row:
        """Return the row on which rules decide that compare logits (or entropies), or shares."""
        raise NotImplementedError

    def divided(self, candidates: Candidates, temperature: Number) -> Candidates:
        """Return the candidates with their logits divided by a positive temperature."""
        raise NotImplementedError

    def uniform(self, number: Number, width: Width) -> Number:
        """Return a random number as the engine makes it of its random bits."""
        return number

    def law(self, candidates: Candidates) -> list[float]:
        """Return the probability with which a draw chooses each candidate."""
        return self.of(candidates, "shares").probabilities()


def refuse(name: str, value: object, numbers: str) -> ParameterError:
    """Return the error for a choice that an arithmetic cannot honour.

    >>> str(refuse("walked", "upwards", "plain 32 bits"))
    "walked must be a choice that plain 32 bits can honour, got 'upwards'"
    """
    return ParameterError(name, value, f"must be a choice that {numbers} can honour")
