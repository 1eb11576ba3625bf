"""What an engine does, as frozen data: parameters, stages in order, a draw, and citations.

Nothing here computes. `sampling_ref.evaluation` reads these records and applies the steps
that they name, so that a difference between two engines is a difference between two
records, and can be looked at, printed and tested as one.

What a parameter may be is data too: a text that `sampling_ref.parameters` reads. So are
conditions: "top_p >= 1.0 or mirostat != 0 and temp == 0.0" (`and` binds before `or`); "x is
None" and "x is empty", which is None or nothing in it. Other comparisons with None are false.
"""

from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import inf, isinf
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from sampling_ref.errors import ParameterError, UnknownNameError
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.plain32 import PLAIN32
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import Domain, read_domain
from sampling_ref.row import PLAIN, is_number, plain

Width: TypeAlias = Literal["f32", "f64", "exact"]
"""How an engine holds a parameter: as a 32-bit or 64-bit float, or exactly (integers, ids)."""

_ARGUMENTS = {"history", "precision", "prompt", "prompt_length", "seed", "state", "uniforms"}
"""What functions take besides the parameters of an engine."""

_RELATIONS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class Parameter:
    """One parameter of an engine, under the engine's own name.

    `allowed` is the rule that this package checks, as a text (see `sampling_ref.parameters`).
    """

    name: str
    default: Any
    allowed: str
    width: Width = "exact"
    source: str = ""

    def __post_init__(self) -> None:
        """Freeze a default that is a mapping."""
        if isinstance(self.default, dict):
            object.__setattr__(self, "default", MappingProxyType(self.default))

    @cached_property
    def domain(self) -> Domain:
        """The rule that this package checks."""
        return read_domain(self.allowed)

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
class Draw:
    """How an engine chooses a token from what its stages left.

    `order` is the order in which an inverse CDF walks; `boundary`, `zero_weight` and
    `noise` are the choices of `inverse_cdf` and of the races. `uniform` says how the engine
    makes its random number, `own_stream` which stream a `Sampler` can follow.
    """

    method: Literal[
        "inverse CDF", "discrete distribution", "Gumbel-max", "exponential race", "subtraction"
    ]
    order: Literal["vocabulary", "candidates", "sorted"] = "vocabulary"
    boundary: Literal["exceed", "reach"] = "exceed"
    zero_weight: Literal["never", "as walked"] = "never"
    noise: Literal["-log u", "-log(1-u)"] = "-log u"
    uniform: str = ""
    own_stream: Literal["", "libstdc++ mt19937", "torch mt19937"] = ""
    source: str = ""


@cache
def comparisons(condition: str) -> tuple[tuple[tuple[str, str, Any], ...], ...]:
    """Return the alternatives of a condition: comparisons that must all hold together.

    A comparison is a parameter, a relation, and what it is compared with.

    >>> comparisons("top_p >= 1.0 or k == 0 and x is None")
    ((('top_p', '>=', 1.0),), (('k', '==', 0), ('x', 'is', None)))
    """
    found = []
    for together in condition.split(" or ") if condition else ():
        parts = [comparison.split(" ", 2) for comparison in together.split(" and ")]
        found.append(tuple((a, b, c if c == "empty" else literal_eval(c)) for a, b, c in parts))
    return tuple(found)


def holds(condition: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a condition holds for these parameters; an empty one never does.

    >>> holds("top_p >= 1.0 or words is empty", {"top_p": 0.9, "words": ()})
    True
    """
    for together in comparisons(condition):
        for name, relation, value in together:
            held = parameters[name]
            if relation == "is":
                is_true = held is None if value is None else not held
            else:
                is_true = held is not None and _RELATIONS[relation](held, value)
            if not is_true:
                break
        else:
            return True
    return False


@cache
def compared(condition: str) -> frozenset[str]:
    """Return the parameters that a condition looks at."""
    return frozenset(name for together in comparisons(condition) for name, _, _ in together)


@dataclass(frozen=True)
class Stage:
    """One step at its place in an engine's order.

    `takes` maps the step's parameters to the engine's ("name.1" is the second part of a
    parameter that is a pair); `choices` fixes what the step
    leaves open. The stage is left out where the condition `off_if` holds.
    `order` says how the engine sorts the tokens before it: not at all, stably by falling
    logit, so only if fewer are kept than there are, or as the C++ library of GCC or a heap
    does it, which decides the order of equals and which of them are cut off.
    `draw` replaces the engine's draw where this stage was applied.
    """

    step: str
    takes: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    off_if: str = ""
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

    def given(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the engine's parameters that the step takes, under the step's names."""
        given = {}
        for ours, theirs in self.takes.items():
            name, _, place = theirs.partition(".")
            given[ours] = parameters[name][int(place)] if place else parameters[name]
        return given

    def renamed(self, about: str) -> str:
        """Return what begins with a parameter of the step with the engine's name for it.

        >>> Stage("suppress", {"tokens": "suppress_tokens"}).renamed("tokens[0] must be ...")
        'suppress_tokens[0] must be ...'
        """
        ours = about.partition(" ")[0].partition("[")[0]
        return self.takes.get(ours, ours) + about[len(ours) :]

    def parameters(self) -> set[str]:
        """Return the engine's parameters that this stage depends on."""
        taken = {theirs.partition(".")[0] for theirs in self.takes.values()}
        return taken | compared(self.off_if)


@dataclass(frozen=True)
class Greedy:
    """When an engine takes the largest logit and draws nothing, and which of equals it takes.

    `unread` are the parameters at which the engine then does not look, so it does not check them.
    """

    condition: str = ""
    ties: Literal["lowest id", "highest id", "first candidate", "last in total order"] = "lowest id"
    after: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    note: str = ""
    source: str = ""


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

    `aliases` are other names of parameters; `engine_rules` says where the engine itself accepts
    more values of a parameter, or fewer. `stages` are in the engine's order. `greedy` is
    decided first: a greedy engine applies only the stages in `greedy.after`, and then chooses.
    `exact` and `rounded` are its arithmetics, with its order of candidates: `rounded` was proven
    against the engine, or follows the plain order of operations (`PLAIN32`). `logprobs` are the
    ways in which it reports log-probabilities, its default first; none are known for some engines.
    """

    name: str
    title: str
    repository: str
    version: str
    parameters: tuple[Parameter, ...]
    stages: tuple[Stage, ...]
    draw: Draw
    aliases: Mapping[str, str] = field(default_factory=dict)
    engine_rules: Mapping[str, str] = field(default_factory=dict)
    greedy: Greedy = field(default_factory=Greedy)
    exact: Numbers = EXACT
    rounded: Numbers = PLAIN32
    logprobs: tuple[Logprobs, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the name and the version. `tokenref profiles NAME` shows everything."""
        return f"<Profile {self.name!r}, {self.title} {self.version}, {len(self.stages)} stages>"

    @cached_property
    def by_name(self) -> Mapping[str, Parameter]:
        """Every parameter by its name and by each of its aliases."""
        named = {parameter.name: parameter for parameter in self.parameters}
        return named | {alias: named[name] for alias, name in self.aliases.items()}

    def aliases_of(self, name: str) -> list[str]:
        """Return the other names of a parameter."""
        return [alias for alias, other in self.aliases.items() if other == name]

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by its name or one of its aliases."""
        if name in self.by_name:
            return self.by_name[name]
        known = [parameter.name for parameter in self.parameters]
        also = (*_ARGUMENTS, *self.aliases)
        advice = ""
        if name == "seed" and self.draw.own_stream:
            advice = f"Sampler({self.name!r}, seed=...) draws with the engine's own random numbers"
        elif name == "seed":
            advice = "its own random stream is not known here: give it `uniforms`"
        raise UnknownNameError("parameter", name, known, self.name, also=also, advice=advice)

    def defaults(self) -> dict[str, Any]:
        """Return every parameter at its default."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return every parameter under the engine's own name, as the engine holds it.

        Raise `ParameterError` for a value outside its domain, or given twice. A number outside
        its domain that a greedy engine does not read becomes the default.
        """
        values: dict[str, Any] = {}
        for name, as_given in given.items():
            value = as_given if type(as_given) in PLAIN else plain(as_given)
            parameter = self.by_name.get(name) or self.parameter(name)
            if not parameter.domain.holds(value):
                is_unread = parameter.name in self.greedy.unread and is_number(value)
                if not is_unread or not holds(self.greedy.condition, {**self.defaults(), **given}):
                    raise ParameterError(name, value, str(parameter.domain))
                value = parameter.default
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
            raise UnknownNameError("step", step, names, self.name)
        return found
