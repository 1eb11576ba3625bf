"""What a parameter of an engine may be, as data: a rule, and the sentence that states it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any, TypeAlias

from sampling_ref.errors import ParameterError


@dataclass(frozen=True)
class Interval:
    """A number between two ends; an end that is open does not belong to it.

    >>> print(Interval(0, 1, low_open=True))
    must be a number in (0, 1]
    """

    low: float = -inf
    high: float = inf
    low_open: bool = False
    high_open: bool = False

    def holds(self, value: object) -> bool:
        """Return whether the value is a number between the ends."""
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            return False
        if isinstance(value, float) and not isfinite(value):
            return False
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return above and below

    def __str__(self) -> str:
        """State the rule."""
        if self.low == -inf and self.high == inf:
            return "must be a finite number"
        if self.high == inf:
            relation = "above" if self.low_open else "of at least"
            return f"must be a finite number {relation} {self.low:g}"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"must be a number in {left}{self.low:g}, {self.high:g}{right}"


@dataclass(frozen=True)
class Whole:
    """A whole number between two ends, both of which belong to it, or one other number.

    >>> print(Whole(1))
    must be a whole number of at least 1
    """

    low: int | None = None
    high: int | None = None
    also: int | None = None

    def holds(self, value: object) -> bool:
        """Return whether the value is a whole number between the ends."""
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        if value == self.also:
            return True
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        """State the rule."""
        other = "" if self.also is None else f", or {self.also}"
        if self.low is None:
            return "must be a whole number"
        if self.high is None:
            return f"must be a whole number of at least {self.low}{other}"
        return f"must be a whole number from {self.low} to {self.high}{other}"


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def holds(self, value: object) -> bool:
        """Return whether the value is a bool."""
        return isinstance(value, bool)

    def __str__(self) -> str:
        """State the rule."""
        return "must be true or false"


@dataclass(frozen=True)
class OneOf:
    """One of a few names.

    >>> print(OneOf(("raw", "processed")))
    must be one of raw, processed
    """

    names: tuple[str, ...]

    def holds(self, value: object) -> bool:
        """Return whether the value is one of the names."""
        return isinstance(value, str) and value in self.names

    def __str__(self) -> str:
        """State the rule."""
        return f"must be one of {', '.join(self.names)}"


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@dataclass(frozen=True)
class Tokens:
    """A sequence of token ids; `single` allows one id alone."""

    single: bool = False

    def holds(self, value: object) -> bool:
        """Return whether the value is a sequence, or set, of token ids."""
        if self.single and _is_token(value):
            return True
        is_collection = isinstance(value, Collection) and not isinstance(value, str | Mapping)
        return is_collection and all(map(_is_token, value))  # type: ignore[call-overload]

    def __str__(self) -> str:
        """State the rule."""
        return f"must be {'a token id or ' if self.single else ''}a sequence of token ids"


@dataclass(frozen=True)
class TokenSequences:
    """A sequence of at least `least` sequences of token ids, none of them empty."""

    least: int = 0

    def holds(self, value: object) -> bool:
        """Return whether the value is a sequence of sequences that are not empty."""
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) < self.least:
            return False
        return all(
            isinstance(part, Sequence) and len(part) > 0 and all(map(_is_token, part))
            for part in value
        )

    def __str__(self) -> str:
        """State the rule."""
        some = "one or more sequences" if self.least else "a sequence of sequences"
        return f"must be {some} of token ids, none of them empty"


@dataclass(frozen=True)
class TokenNumbers:
    """A number for each of some tokens, between two ends; minus infinity bans."""

    low: float = -inf
    high: float = inf

    def holds(self, value: object) -> bool:
        """Return whether the value maps token ids to numbers between the ends."""
        if not isinstance(value, Mapping):
            return False
        return all(
            _is_token(token)
            and isinstance(number, int | float | Fraction)
            and not isinstance(number, bool)
            and self.low <= number <= self.high
            and number != inf
            for token, number in value.items()
        )

    def __str__(self) -> str:
        """State the rule."""
        if self.low == -inf:
            return "must map token ids to numbers that are finite or minus infinity"
        return f"must map token ids to numbers in [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class SequenceNumbers:
    """A number for each of at least `least` sequences of tokens, as a mapping or as pairs."""

    least: int = 0

    def holds(self, value: object) -> bool:
        """Return whether the value is a mapping or list of pairs (sequence, number)."""
        pairs: Any = value.items() if isinstance(value, Mapping) else value
        if not isinstance(pairs, Collection) or isinstance(pairs, str) or len(pairs) < self.least:
            return False
        return all(
            isinstance(pair, Sequence)
            and len(pair) == len(("sequence", "number"))
            and isinstance(pair[0], Sequence)
            and len(pair[0]) > 0
            and all(map(_is_token, pair[0]))
            and isinstance(pair[1], int | float | Fraction)
            and not isinstance(pair[1], bool)
            and pair[1] < inf
            for pair in pairs
        )

    def __str__(self) -> str:
        """State the rule."""
        some = "one or more pairs" if self.least else "pairs"
        return f"must be {some} of a sequence of token ids and a number"


@dataclass(frozen=True)
class DecayStart:
    """A pair: after how many tokens a decay begins, and its factor."""

    def holds(self, value: object) -> bool:
        """Return whether the value is such a pair."""
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
            return False
        return Whole(0).holds(value[0]) and Interval(0, low_open=True).holds(value[1])

    def __str__(self) -> str:
        """State the rule."""
        return "must be a pair of a whole number of at least 0 and a finite number above 0"


@dataclass(frozen=True)
class Anything:
    """Whatever the step itself accepts: a function, for example."""

    def holds(self, value: object) -> bool:
        """Say yes."""
        return True

    def __str__(self) -> str:
        """State the rule."""
        return "may be anything that the step accepts"


@dataclass(frozen=True)
class OrNone:
    """A value that another rule allows, or None."""

    rule: "Domain"

    def holds(self, value: object) -> bool:
        """Return whether the value is None or is allowed by the other rule."""
        return value is None or self.rule.holds(value)

    def __str__(self) -> str:
        """State the rule."""
        return f"{self.rule}, or None"


Domain: TypeAlias = (
    Interval
    | Whole
    | Flag
    | OneOf
    | Tokens
    | TokenSequences
    | TokenNumbers
    | SequenceNumbers
    | DecayStart
    | Anything
    | OrNone
)
"""Every kind of rule for a parameter."""


def check(name: str, value: object, domain: Domain) -> None:
    """Raise `ParameterError` if a value lies outside its domain.

    >>> check("top_p", 1.5, Interval(0, 1))
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: top_p must be a number in [0, 1], got 1.5
    """
    if not domain.holds(value):
        raise ParameterError(name, value, str(domain))
