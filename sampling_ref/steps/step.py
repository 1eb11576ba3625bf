"""A step of a chain: a name, parameters, choices at open points, a function of candidates.

Each rule has one file in this folder, named after its step. The file contains the rule in
words and its source, one function that implements it, and at its end `STEP`, which makes the
function a step of a chain. `table.py` collects them. Files of rules do not import each other.

A function on rows says in its signature what it needs. What a chain knows (the
history, the length of the prompt, a random number, the factor that stands for the
temperature) is given to it by name. What remains are the step's own parameters.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import Parameter, signature
from math import inf
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from sampling_ref.errors import ParameterError, UnknownNameError
from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import is_token
from sampling_ref.random.sources import Given, Randomness
from sampling_ref.row import Candidates, Number, ReadRow, TokenId, is_number


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
    randomness: Randomness = field(default_factory=lambda: Given([]))
    state: Mapping[str, Any] = field(default_factory=dict)
    numbers: Numbers = EXACT


Values: TypeAlias = Mapping[str, Any]
"""A step's parameters and choices, by name."""

Apply: TypeAlias = Callable[[Candidates, Situation, Values], Candidates]
"""What a step does: new candidates from candidates, the situation and the values."""

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

    `parameters` gives each parameter's default, `choices` the names allowed at each open
    point, the default first. `why` is the sentence that a trace prints, with the values
    put in. An adaptive step also says what it remembers.
    """

    name: str
    apply: Apply
    parameters: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    why: str = ""
    remember: Remember | None = None
    remembers_at: Literal["draw", "accept"] = "draw"

    def read(self, values: Values) -> dict[str, Any]:
        """Return the values with every default filled in; unknown or missing names are errors."""
        for name, value in values.items():
            if name not in self.parameters and name not in self.choices:
                known = [*self.parameters, *self.choices]
                raise UnknownNameError(f"parameter of {self.name}", name, known)
            if name in self.choices and value not in self.choices[name]:
                names = ", ".join(map(str, self.choices[name]))
                raise ParameterError(name, value, f"must be one of {names}")
        read = {name: allowed[0] for name, allowed in self.choices.items()}
        read |= self.parameters
        read |= values
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


KNOWN_TO_A_CHAIN = (
    *("logits", "row", "numbers", "history", "prompt_length", "begin", "size", "uniform"),
    *("mu", "past"),
)
"""Parameters of functions that a chain fills in itself."""

Touched: TypeAlias = Callable[[Situation, Values], Iterable[TokenId]]
"""Which tokens' logits a function may calculate with."""


def own_parameters(
    function: Callable[..., Any], without: Collection[str] = ()
) -> tuple[dict[str, Any], dict[str, tuple[Any, ...]]]:
    """Return a function's own parameters with their defaults, and the names at its open points.

    What a chain knows is left out, and so are the names in `without`.

    >>> def halve(logits, history, by, *, ties: Literal["low", "high"] = "low"): ...
    >>> parameters, choices = own_parameters(halve)
    >>> parameters == {"by": REQUIRED}, choices
    (True, {'ties': ('low', 'high')})
    """
    hints = get_type_hints(function)
    parameters: dict[str, Any] = {}
    choices: dict[str, tuple[Any, ...]] = {}
    for name, parameter in signature(function).parameters.items():
        if name in KNOWN_TO_A_CHAIN or name in without:
            continue
        has_default = parameter.default is not Parameter.empty
        if has_default and get_origin(hints.get(name)) is Literal:
            others = [value for value in get_args(hints[name]) if value != parameter.default]
            choices[name] = (parameter.default, *others)
        else:
            parameters[name] = parameter.default if has_default else REQUIRED
    return parameters, choices


def history_tokens(situation: Situation, values: Values) -> Iterable[TokenId]:
    """Return the tokens of the history: what most penalties touch."""
    return set(situation.history)


def all_tokens(situation: Situation, values: Values) -> Iterable[TokenId]:
    """Return every token: what a step touches that looks at the whole row."""
    return range(situation.size)


def no_tokens(situation: Situation, values: Values) -> Iterable[TokenId]:
    """Return nothing: what a step touches that only bans, forces or allows."""
    return ()


def row_step(
    name: str,
    function: Callable[..., Sequence[Number]],
    why: str,
    *,
    touched: Touched = history_tokens,
    numbers: Sequence[str] = (),
) -> Step:
    """Make a step of a function from a row to a row.

    Only the logits in `touched` are turned into exact numbers before, and `numbers` names
    the parameters to turn into such numbers too: so a penalty rounds nothing, and costs
    nothing for the tokens that it leaves alone.
    """
    parameters, choices = own_parameters(function)
    known = known_arguments(function)

    def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
        row = entries(candidates, situation.size)
        changing = set(touched(situation, values))
        for token in changing:
            if row[token] != -inf:
                row[token] = situation.numbers.number(row[token] * candidates.factor)
        given = {
            key: exact(value, situation) if key in numbers else value
            for key, value in values.items()
        }
        changed = ReadRow(function(ReadRow(row), **known(situation), **given))
        if candidates.factor != 1:
            for token in changing:
                if changed[token] != -inf:
                    changed[token] = changed[token] / candidates.factor
        known_others = candidates.logits.others if isinstance(candidates.logits, ReadRow) else None
        if known_others is not None and len(changing) < situation.size:
            changed.others = sorted(changing.union(known_others))
        return with_row(candidates, changed)

    return Step(name, apply, parameters, choices, why)


def rule_step(
    function: Callable[..., Candidates],
    why: str,
    *,
    remember: Callable[..., Mapping[str, Any]] | None = None,
    remembers_at: Literal["draw", "accept"] = "draw",
) -> Step:
    """Make a step of a rule on candidates; the step has the name of the function.

    `remember` is what an adaptive rule notes for the next token: a function of the candidates
    before and after the step, the drawn token, and its own parameters.
    """
    parameters, choices = own_parameters(function)
    names = [*parameters, *choices]
    known = known_arguments(function)

    def apply(candidates: Candidates, situation: Situation, values: Values) -> Candidates:
        own = {name: values[name] for name in names}
        return function(candidates, **known(situation), **own, numbers=situation.numbers)

    if remember is None:
        return Step(function.__name__, apply, parameters, choices, why)
    memory = remember
    more_parameters, more_choices = own_parameters(memory, ("before", "after", "token"))
    more_names, more_known = [*more_parameters, *more_choices], known_arguments(memory)

    def note(
        before: Candidates, after: Candidates, situation: Situation, values: Values, token: TokenId
    ) -> Mapping[str, Any]:
        own = {name: values[name] for name in more_names}
        known = more_known(situation)
        return memory(before, after, token, **known, **own, numbers=situation.numbers)

    return Step(
        function.__name__,
        apply,
        parameters | more_parameters,
        choices | more_choices,
        why,
        note,
        remembers_at,
    )


def exact(value: Any, situation: Situation) -> Any:
    """Return a parameter as the kind of number that the situation calculates with."""
    if isinstance(value, Mapping):
        return {token: exact(number, situation) for token, number in value.items()}
    if isinstance(value, list | tuple):  # pairs of a sequence and its bias
        return [(pair[0], exact(pair[1], situation)) if is_pair(pair) else pair for pair in value]
    return situation.numbers.parameter(value) if is_number(value) else value  # the rule checks it


def is_pair(value: object) -> bool:
    """Return whether a value is a list or tuple of two.

    >>> is_pair((1, 2)), is_pair("ab")
    (True, False)
    """
    return isinstance(value, list | tuple) and len(value) == 2


def ids_in(tokens: Any, size: int) -> list[TokenId]:
    """Return the ids of a row that a value names; the rule checks what else it holds.

    >>> ids_in([0, 5, "a"], 3), ids_in(2, 3), ids_in(None, 3)
    ([0], [2], [])
    """
    tokens = tokens.tolist() if hasattr(tokens, "tolist") else tokens
    if not isinstance(tokens, Iterable):
        tokens = [tokens]
    plain = [token.tolist() if hasattr(token, "tolist") else token for token in tokens]
    return [token for token in plain if is_token(token, size)]


@cache
def known_arguments(function: Callable[..., Any]) -> Callable[[Situation], dict[str, Any]]:
    """Return a function that picks what a function's signature asks of a chain."""
    offered: dict[str, Callable[[Situation], Any]] = {
        "history": lambda situation: situation.history,
        "prompt_length": lambda situation: situation.prompt_length,
        "begin": lambda situation: situation.prompt_length,
        "size": lambda situation: situation.size,
        "mu": lambda situation: situation.state.get("mu"),
        "past": lambda situation: situation.state.get("past"),
        "uniform": lambda situation: partial(
            situation.numbers.uniform, situation.randomness, function.__name__, "f32"
        ),
    }
    wanted = [name for name in signature(function).parameters if name in offered]
    return lambda situation: {name: offered[name](situation) for name in wanted}


def entries(candidates: Candidates, size: int) -> list[Number]:
    """Return the candidates' entries as a row, not yet multiplied by their factor."""
    if isinstance(candidates.tokens, range) and len(candidates.tokens) == size:
        return list(candidates.logits)
    row: list[Number] = [-inf] * size
    for token, logit in zip(candidates.tokens, candidates.logits, strict=True):
        row[token] = logit
    return row


def with_row(candidates: Candidates, row: Sequence[Number]) -> Candidates:
    """Return the candidates in their order, with the entries of a row."""
    if isinstance(row, ReadRow) and isinstance(candidates.tokens, range):
        return Candidates(candidates.tokens, row, candidates.factor)
    logits = ReadRow(row[token] for token in candidates.tokens)
    return Candidates(candidates.tokens, logits, candidates.factor)
