"""What an engine does, as frozen data: parameters, stages in order, a draw, and citations.

Nothing here computes. `sampling_ref.evaluation` reads these records and applies the steps
that they name, so that a difference between two engines is a difference between two
records, and can be looked at, printed and tested as one.

A parameter's domain is data too: a rule, and the sentence that states it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, isinf
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from sampling_ref.engines.draws import Draw
from sampling_ref.errors import ParameterError, UnknownNameError
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.plain32 import PLAIN32
from sampling_ref.numbers.protocol import Numbers


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


Width: TypeAlias = Literal["f32", "f64", "exact"]
"""How an engine holds a parameter: as a 32-bit or 64-bit float, or exactly (integers, ids)."""

_RELATIONS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class Parameter:
    """One parameter of an engine, under the engine's own name.

    `domain` is the rule that this package checks; `engine_rule` says in words where the
    engine itself accepts more, or less.
    """

    name: str
    default: Any
    domain: Domain
    width: Width = "exact"
    aliases: tuple[str, ...] = ()
    engine_rule: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Freeze a default that is a mapping."""
        if isinstance(self.default, dict):
            object.__setattr__(self, "default", MappingProxyType(self.default))

    def held(self, value: Any) -> Any:
        """Return a value with each number in it rounded to 32 bits."""
        if isinstance(value, Mapping):
            return {key: self.held(number) for key, number in value.items()}
        if isinstance(value, list | tuple):  # pairs of a sequence and its bias
            return [(tuple(tokens), self.held(number)) for tokens, number in value]
        if value is None or isinstance(value, bool):
            return value
        rounded = to_binary32(value)
        if isinf(rounded) and value != -inf:
            raise ParameterError(self.name, value, "must be a number that 32 bits can hold")
        return rounded


@dataclass(frozen=True)
class Condition:
    """A comparison of a parameter with a constant.

    >>> print(Condition("top_p", ">=", 1.0))
    top_p >= 1.0
    >>> Condition("top_p", ">=", 1.0).holds({"top_p": 0.9})
    False
    """

    parameter: str
    relation: Literal["==", "!=", "<", "<=", ">", ">=", "is empty", "is None"]
    value: Any = None

    def holds(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether the comparison holds for these parameters."""
        value = parameters[self.parameter]
        if self.relation == "is None":
            return value is None
        if self.relation == "is empty":
            return value is None or not value
        return value is not None and bool(_RELATIONS[self.relation](value, self.value))

    def __str__(self) -> str:
        """Write the comparison as a program would."""
        if self.relation in {"is empty", "is None"}:
            return f"{self.parameter} {self.relation}"
        return f"{self.parameter} {self.relation} {self.value!r}"


def equals(parameter: str, value: Any) -> tuple[Condition, ...]:
    """Return the condition that a parameter has a value, to stand alone in `off_if`."""
    return (Condition(parameter, "==", value),)


def is_none(parameter: str) -> tuple[Condition, ...]:
    """Return the condition that a parameter is None, to stand alone."""
    return (Condition(parameter, "is None"),)


def is_empty(parameter: str) -> tuple[Condition, ...]:
    """Return the condition that a parameter is None or holds nothing, to stand alone."""
    return (Condition(parameter, "is empty"),)


def at_most(parameter: str, value: float) -> tuple[Condition, ...]:
    """Return the condition that a parameter is at most a value, to stand alone."""
    return (Condition(parameter, "<=", value),)


def at_least(parameter: str, value: float) -> tuple[Condition, ...]:
    """Return the condition that a parameter is at least a value, to stand alone."""
    return (Condition(parameter, ">=", value),)


def below(parameter: str, value: float) -> tuple[Condition, ...]:
    """Return the condition that a parameter is below a value, to stand alone."""
    return (Condition(parameter, "<", value),)


@dataclass(frozen=True)
class Stage:
    """One step at its place in an engine's order.

    `takes` maps the step's parameters to the engine's ("name.1" is the second part of a
    parameter that is a pair); `choices` fixes what the step
    leaves open. The stage is left out where all conditions of one of `off_if` hold.
    `order` says how the engine sorts the tokens before it: not at all, stably by falling
    logit, so only if fewer are kept than there are, or as the C++ library of GCC or a heap
    does it, which decides in which order equals stand and which of them are cut off.
    `draw` replaces the engine's draw where this stage was applied.
    """

    step: str
    takes: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    off_if: tuple[tuple[Condition, ...], ...] = ()
    order: Literal["as they stand", "sorted", "sorted if cut", "libstdc++", "heap"] = (
        "as they stand"
    )
    draw: Draw | None = None
    note: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Freeze the two mappings."""
        object.__setattr__(self, "takes", MappingProxyType(dict(self.takes)))
        object.__setattr__(self, "choices", MappingProxyType(dict(self.choices)))

    def is_off(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether the engine leaves this stage out for these parameters."""
        return any(
            all(condition.holds(parameters) for condition in together) for together in self.off_if
        )

    def given(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the engine's parameters that the step takes, under the step's names."""
        given = {}
        for ours, theirs in self.takes.items():
            name, _, place = theirs.partition(".")
            given[ours] = parameters[name][int(place)] if place else parameters[name]
        return given

    def parameters(self) -> set[str]:
        """Return the engine's parameters that this stage depends on."""
        conditions = [condition for together in self.off_if for condition in together]
        taken = {theirs.partition(".")[0] for theirs in self.takes.values()}
        return taken | {condition.parameter for condition in conditions}

    def off_in_words(self) -> str:
        """State when the stage is left out; an empty text if never."""
        return " or ".join(" and ".join(map(str, together)) for together in self.off_if)


@dataclass(frozen=True)
class Greedy:
    """When an engine takes the largest logit and draws nothing, and which of equals it takes."""

    if_any: tuple[tuple[Condition, ...], ...] = ()
    ties: Literal["lowest id", "highest id", "first candidate", "last in total order"] = "lowest id"
    after: tuple[str, ...] = ()
    note: str = ""
    source: str = ""

    def holds(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether these parameters make the engine greedy."""
        return any(
            all(condition.holds(parameters) for condition in together) for together in self.if_any
        )

    def in_words(self) -> str:
        """State when the engine is greedy."""
        return " or ".join(" and ".join(map(str, together)) for together in self.if_any) or "never"


@dataclass(frozen=True)
class Logprobs:
    """Which logits an engine reports the logarithms of the probabilities of.

    `after` is the step behind which it looks: "nothing" for the model's own logits,
    "everything" for the whole chain, or the last of some steps.
    """

    name: str
    after: tuple[str, ...] | Literal["nothing", "everything"]
    source: str = ""


@dataclass(frozen=True)
class Profile:
    """Everything that is known about how one engine samples.

    `stages` are in the engine's order. `greedy` is decided first: a greedy engine applies
    only the stages named in `greedy.after`. `exact` and `rounded` are its arithmetics, with
    its order of candidates: `rounded` was proven against the engine, or follows the plain
    order of operations (`PLAIN32`). `logprobs` are the ways in which it reports
    log-probabilities, its default first; none are known for some engines.
    """

    name: str
    title: str
    repository: str
    version: str
    parameters: tuple[Parameter, ...]
    stages: tuple[Stage, ...]
    draw: Draw
    greedy: Greedy = field(default_factory=Greedy)
    exact: Numbers = EXACT
    rounded: Numbers = PLAIN32
    logprobs: tuple[Logprobs, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, Parameter]:
        """Every parameter by its name and by each of its aliases."""
        return {name: one for one in self.parameters for name in (one.name, *one.aliases)}

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by its name or one of its aliases."""
        if name in self.by_name:
            return self.by_name[name]
        known = [parameter.name for parameter in self.parameters]
        raise UnknownNameError(f"parameter of {self.name}", name, known)

    def defaults(self) -> dict[str, Any]:
        """Return every parameter at its default."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every parameter under the engine's own name, as the engine holds it.

        Raise `ParameterError` for a value outside its domain, or given twice.
        """
        values: dict[str, Any] = {}
        for name, value in given.items():
            parameter = self.by_name.get(name) or self.parameter(name)
            if not parameter.domain.holds(value):
                raise ParameterError(name, value, str(parameter.domain))
            if parameter.name in values:
                raise ParameterError(name, value, f"is {parameter.name}, which is given already")
            values[parameter.name] = value
        held = {}
        for parameter in self.parameters:
            value = values.get(parameter.name, parameter.default)
            if parameter.width == "f32":
                value = parameter.held(value)
            held[parameter.name] = dict(value) if isinstance(value, MappingProxyType) else value
        return held

    def stages_of(self, step: str) -> tuple[Stage, ...]:
        """Return the stages that apply a step."""
        found = tuple(stage for stage in self.stages if stage.step == step)
        if not found:
            names = {stage.step for stage in self.stages}
            raise UnknownNameError(f"step of {self.name}", step, names)
        return found
