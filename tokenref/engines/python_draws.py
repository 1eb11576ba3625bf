"""Python's own `random.choices` as an engine: https://docs.python.org/3/library/random.html.

What it answers
    The token for a given random number, from weights that need not sum to 1, in the order of the
    vocabulary or in another. It takes the first token whose cumulative weight exceeds the number
    times the sum, which is the standard rule. The sums have 64 bits.
What it refuses
    Weights whose sum is 0, infinite or NaN, with a `ValueError`.
"""

import random
from collections.abc import Mapping
from typing import Any, ClassVar

from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.own_rules import SamplerSession
from tokenref.floats import unpack
from tokenref.rules import STANDARD


class Given(random.Random):
    """A generator whose next number is a given one."""

    number = 0.0

    def random(self) -> float:
        return self.number


class PythonSession(SamplerSession):
    """The standard rule."""

    profiles: ClassVar = frozenset({STANDARD})

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op != "draw" or "probs" not in request or request.get("count", 1) != 1:
            return Unsupported("only draws one token from probabilities")
        row, numbers = unpack(request["probs"]), unpack(request["uniforms"])
        order = request.get("order", [*range(len(row))])
        if len(numbers) != 1 or not 0 <= numbers[0] < 1 or min(row, default=0) < 0:
            return Unsupported("checks neither its random numbers nor the sign of its weights")
        if len(set(order)) < len(order) or not all(0 <= token < len(row) for token in order):
            return Unsupported("has no order of tokens to check")
        given = Given()
        given.number = numbers[0]
        try:
            (token,) = given.choices(order, [row[token] for token in order])
        except (ValueError, IndexError) as error:
            return Refused("INVALID_ROW", str(error))
        return Ok({"tokens": [token]} if "count" in request else {"token": token})
