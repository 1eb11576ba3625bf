"""A step of a chain: a name, parameters, choices at open points, a function of candidates.

Each rule has one file in this folder, named after its step. The file contains the rule in
words and its source, and one function that implements it. A decorator, `row_rule` or `rule`,
makes the function a step of a chain; `table.py` collects them. Files of rules do not import
each other.

A function says in its signature what it needs. What a chain knows (the history, the length
of the prompt, a random number) is given to it by name. What remains are the step's own
parameters. A parameter that is annotated with `Literal` and has a default is a choice. Called
by itself, a function takes any row: the decorator reads it, and checks the choices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import wraps
from inspect import Parameter, signature
from types import MappingProxyType
from typing import (
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from sampling_ref.errors import ParameterError, UnknownNameError
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_choice, read_history
from sampling_ref.random.sources import NO_NUMBERS, Randomness
from sampling_ref.row import Candidates, Number, ReadRow, TokenId, is_number, plain, read_logits


@dataclass(frozen=True)
class Situation:
    """Everything besides the candidates that a step depends on.

    `size` is the number of tokens of the vocabulary, `randomness` gives the random numbers
    that steps and draw consume in order, and `state` is what adaptive steps remember
    from the token before. `numbers` is the arithmetic to calculate with.
    """

    size: int
    history: Sequence[TokenId] = ()
    prompt_length: int = 0
    randomness: Randomness = NO_NUMBERS
    state: Mapping[str, Any] = field(default_factory=dict)
    numbers: Numbers = EXACT


Values: TypeAlias = Mapping[str, Any]
"""A step's parameters and choices, by name."""

Remember: TypeAlias = Callable[
    [Candidates, Candidates, Situation, Values, TokenId], Mapping[str, Any]
]
"""What an adaptive step notes down for the next token: from what stood before it and after
it, and the token that was drawn."""

REQUIRED = object()
"""Stands for the default of a parameter that has none."""


@dataclass(frozen=True)
class Step:
    """One step under its one name.

    `apply` makes new candidates from candidates, the situation and the values. `parameters`
    gives each parameter's default, `choices` the names allowed at each open point, the
    default first. `why` is the sentence that a trace prints, with the values put in. `whys` has
    the sentences of choices and values that do something else, as "name value"; of several the
    first. One that begins with a comma is added, and that of "least" is for a number above 1. An
    adaptive step also says what it remembers.
    """

    name: str
    apply: Callable[[Candidates, Situation, Values], Candidates]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    why: str = ""
    whys: Mapping[str, str] = field(default_factory=dict)
    remember: Remember | None = None
    remembers_at: Literal["draw", "accept"] = "draw"

    def __repr__(self) -> str:
        """Return the name."""
        return f"<Step {self.name}>"

    def read(self, values: Values) -> dict[str, Any]:
        """Return the values with every default filled in; unknown or missing names are errors."""
        for name, value in values.items():
            if name not in self.parameters and name not in self.choices:
                known = [*self.parameters, *self.choices]
                raise UnknownNameError("parameter", name, known, self.name)
            if name in self.choices and value not in self.choices[name]:
                names = ", ".join(map(str, self.choices[name]))
                raise ParameterError(name, value, f"must be one of {names}")
        read = {name: allowed[0] for name, allowed in self.choices.items()}
        read |= self.parameters
        read |= {name: plain(value) for name, value in values.items()}
        for name, value in read.items():
            if value is REQUIRED:
                raise ParameterError(name, None, f"must be given to {self.name}")
        return read


@dataclass(frozen=True)
class Use:
    """A step with its values: one link of a chain that a person puts together.

    >>> Use("top_k", k=40).values["k"]
    40
    """

    step: str
    values: Values

    def __init__(self, step: str, **values: Any) -> None:
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "values", MappingProxyType(values))


P = ParamSpec("P")

Rule: TypeAlias = Callable[Concatenate[Candidates, P], Candidates]
RowRule: TypeAlias = Callable[Concatenate[ReadRow, list[TokenId], P], list[Number]]
OfAnyRow: TypeAlias = Callable[Concatenate[Any, P], Candidates]
OfAnyRowAndHistory: TypeAlias = Callable[Concatenate[Any, Any, P], list[Number]]
"""What a rule is as it is written, and what it is after the decorator, which reads any row."""

FROM_A_CHAIN: Mapping[str, Callable[[Situation, str], Any]] = MappingProxyType(
    {
        "prompt_length": lambda situation, _: situation.prompt_length,
        "begin": lambda situation, _: situation.prompt_length,
        "size": lambda situation, _: situation.size,
        "mu": lambda situation, _: situation.state.get("mu"),
        "past": lambda situation, _: situation.state.get("past"),
        "uniform": lambda situation, step: (
            lambda: situation.numbers.uniform(situation.randomness.uniform(step, "f32"), "f32")
        ),
        "numbers": lambda situation, _: situation.numbers,
    }
)
"""Parameters of functions that a chain fills in itself, given the situation and the step's name."""


def choices_of(function: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """Return the names allowed at each open point of a function: parameters that are `Literal`."""
    hints = get_type_hints(function)
    return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}


def own_parameters(
    function: Callable[..., Any], by_place: int
) -> tuple[list[str], dict[str, Any], dict[str, tuple[Any, ...]]]:
    """Return what a chain fills in, a function's own parameters with their defaults, its choices.

    The first parameters are handed over by place. The names at an open point begin with the
    default.

    >>> def halve(logits, size, by, *, ties: Literal["low", "high"] = "high"): ...
    >>> known, parameters, choices = own_parameters(halve, by_place=1)
    >>> known, parameters == {"by": REQUIRED}, choices
    (['size'], True, {'ties': ('high', 'low')})
    """
    allowed = choices_of(function)
    known: list[str] = []
    parameters: dict[str, Any] = {}
    choices: dict[str, tuple[Any, ...]] = {}
    for name, parameter in list(signature(function).parameters.items())[by_place:]:
        if name in FROM_A_CHAIN:
            known.append(name)
        elif name in allowed:
            default = parameter.default
            choices[name] = (default, *(value for value in allowed[name] if value != default))
        else:
            has_default = parameter.default is not Parameter.empty
            parameters[name] = parameter.default if has_default else REQUIRED
    return known, parameters, choices


def check_choices(allowed: Mapping[str, tuple[Any, ...]], given: Values) -> None:
    """Raise `ParameterError` for a name that is not allowed at its open point."""
    for name, value in given.items():
        if name in allowed:
            read_choice(name, value, allowed[name])


def rule(
    why: str,
    *,
    whys: Mapping[str, str] = MappingProxyType({}),
    remember: Callable[..., Mapping[str, Any]] | None = None,
    remembers_at: Literal["draw", "accept"] = "draw",
) -> Callable[[Rule[P]], OfAnyRow[P]]:
    """Make a step of a function from candidates to candidates.

    `why` and `whys` are those of `Step`. `remember` is what an adaptive rule notes for the next
    token: a function of the candidates before and after the step, the drawn token, and its own
    parameters.
    """

    def decorate(function: Rule[P]) -> OfAnyRow[P]:
        name, allowed = function.__name__, choices_of(function)
        called: Callable[..., Candidates] = function
        known, parameters, choices = own_parameters(function, by_place=1)
        names = (*parameters, *choices)

        def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
            given = {key: values[key] for key in names}
            given |= {key: FROM_A_CHAIN[key](situation, name) for key in known}
            return called(candidates, **given)

        note: Remember | None = None
        if remember is not None:
            memory = remember
            known_to_it, its_parameters, its_choices = own_parameters(memory, by_place=3)
            its_names = (*its_parameters, *its_choices)
            parameters, choices = parameters | its_parameters, choices | its_choices

            def note(
                before: Candidates,
                after: Candidates,
                situation: Situation,
                values: Values,
                token: TokenId,
            ) -> Mapping[str, Any]:
                given = {key: values[key] for key in its_names}
                given |= {key: FROM_A_CHAIN[key](situation, name) for key in known_to_it}
                return memory(before, after, token, **given)

        @wraps(function)
        def checked(row: Any, *args: P.args, **given: P.kwargs) -> Candidates:
            check_choices(allowed, given)
            numbers: Any = given.get("numbers", EXACT)
            values = {name: plain(value) for name, value in given.items()}
            return function(numbers.candidates(row), *map(plain, args), **values)

        vars(checked)["step"] = Step(
            name, apply, parameters, choices, why, whys, note, remembers_at
        )
        return checked  # type: ignore[return-value] # the row may be given by name

    return decorate


def row_rule(
    why: str, *, numbers: Sequence[str] = (), name: str = "", reads: bool = True
) -> Callable[[RowRule[P]], OfAnyRowAndHistory[P]]:
    """Make a step of a function from a row and a history to a row.

    `numbers` are the parameters that become exact numbers, as do the logits that the function
    changes (`row.change_logits`). `reads=False` is for a function that reads row and history
    itself: behind a temperature it gets the nearest floats.
    """

    def decorate(function: RowRule[P]) -> OfAnyRowAndHistory[P]:
        step_name, allowed = name or function.__name__, choices_of(function)
        known, parameters, choices = own_parameters(function, by_place=2)
        called: Callable[..., list[Number]] = function

        def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
            given: dict[str, Any] = {
                key: exact(value, situation.numbers) if key in numbers else value
                for key, value in values.items()
            }
            given |= {key: FROM_A_CHAIN[key](situation, step_name) for key in known}
            if not reads:
                logits = ReadRow(candidates.true_logits())
                candidates = replace(candidates, logits=logits, factor=Fraction(1))
            row = _row_to_change(candidates, situation)
            changed = called(row, list(situation.history), **given)
            if not isinstance(candidates.tokens, range):
                changed = [changed[token] for token in candidates.tokens]
            entries = changed if isinstance(changed, ReadRow) else ReadRow(changed)
            return Candidates(candidates.tokens, entries, candidates.factor)

        @wraps(function)
        def checked(logits: Any, history: Any, *args: P.args, **given: P.kwargs) -> list[Number]:
            check_choices(allowed, given)
            if reads:
                logits = read_logits(logits)
                history = read_history(history, len(logits))
            values = {name: plain(value) for name, value in given.items()}
            return function(logits, history, *map(plain, args), **values)

        vars(checked)["step"] = Step(step_name, apply, parameters, choices, why)
        return checked  # type: ignore[return-value] # row and history may be given by name

    return decorate


def _row_to_change(candidates: Candidates, situation: Situation) -> ReadRow:
    """Return the candidates' entries as a row, for `change_logits`."""
    row, given = ReadRow(candidates.logits), candidates.logits
    if not isinstance(candidates.tokens, range):
        row = ReadRow(Candidates(candidates.tokens, given).row(situation.size))
    elif isinstance(given, ReadRow):
        row.others = given.others
    row.exact, row.factor = situation.numbers.number, candidates.factor
    return row


def exact(value: Any, numbers: Numbers) -> Any:
    """Return a parameter as the kind of number that an arithmetic calculates with."""
    if isinstance(value, Mapping):
        return {token: exact(number, numbers) for token, number in value.items()}
    if isinstance(value, list | tuple):  # pairs of a sequence and its bias; the rule checks others
        is_pair = [isinstance(pair, list | tuple) and len(pair) == 2 for pair in value]
        return [
            (pair[0], exact(pair[1], numbers)) if is_one else pair
            for pair, is_one in zip(value, is_pair, strict=True)
        ]
    return numbers.parameter(value) if is_number(value) else value
