"""Rules that an engine follows in some of its steps, and its own names for their parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class NotExpressibleError(Exception):
    """A question that cannot be put to the engine; the sentence says why."""


@dataclass(frozen=True)
class OwnRule:
    """The rule that an engine's step follows (`tokenref.rules`), and the engine's names.

    >>> OwnRule("ties.all", {"k": "top_k"}).parameters("top_k", "ties.all", {"k": 3})
    {'top_k': 3}
    """

    rule: str
    names: Mapping[str, str]
    off: Mapping[str, Any] = field(default_factory=dict)
    """Values of the rule's parameters that mean to the engine: leave the step out."""

    def parameters(self, op: str, profile: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record's parameters under the engine's names.

        Raises `NotExpressibleError` for another rule, for parameters that the engine lacks, and
        for values that mean something else to it.
        """
        if profile != self.rule:
            raise NotExpressibleError(f"its {op} follows the rule {self.rule}, not {profile}")
        for name in given:
            if name not in self.names:
                raise NotExpressibleError(f"its {op} has no parameter like {name}")
            if name in self.off and given[name] == self.off[name]:
                raise NotExpressibleError(f"{given[name]} switches its {op} off")
        return {self.names[name]: value for name, value in given.items()}
