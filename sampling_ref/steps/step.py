"""What a step of a chain is: a name, parameters, open points, and a function of candidates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from sampling_ref.candidates import Candidates
from sampling_ref.errors import ParameterError, UnknownNameError
from sampling_ref.row import TokenId
from sampling_ref.situation import Situation

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
