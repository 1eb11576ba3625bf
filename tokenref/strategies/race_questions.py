"""Questions about draws by noise: Gumbel-max, exponential races, and those of PyTorch.

Each token has a random number of its own: mostly a 64th, so that its logarithm and that of
1 less it are far from what rounding changes; sometimes 0, or the largest one.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from tokenref.floats import pack
from tokenref.rules import choices_of, rule_name
from tokenref.strategies.rows import dyadic_weights, logits
from tokenref.strategies.texts import mostly

Request: TypeAlias = dict[str, Any]

LARGEST: Final = 1 - 2.0**-24
_WALK: Final = rule_name("draw", method="torch walk")
_64THS: Final = st.integers(1, 63).map(lambda number: number / 64)
_ENDS: Final = st.sampled_from([LARGEST, 0.0, 2.0**-20, 1 - 2.0**-16])


def race_numbers(size: int) -> st.SearchStrategy[list[float]]:
    """Return a strategy for a random number for each token: some of them 0 or nearly 1.

    >>> from hypothesis import find
    >>> len(find(race_numbers(3), lambda numbers: True))
    3
    """
    one = mostly(_64THS, _ENDS, 8)
    equal = one.map(lambda number: [number] * size)
    return mostly(st.lists(one, min_size=size, max_size=size), equal, 8)


@st.composite
def races(draw: st.DrawFn, profile: str) -> Request:
    """Draw a row, a number for each token, and sometimes how many tokens are drawn.

    >>> from hypothesis import find
    >>> sorted(find(races("method.gumbel-max"), lambda request: "count" in request))
    ['count', 'logits', 'uniforms']
    """
    method = (choices_of("draw", profile) or {})["method"]
    by_logits = method == "gumbel max"
    row = draw(logits(8)) if by_logits else draw(dyadic_weights())
    possible = _possible(row, by_logits=by_logits)
    request: Request = {"logits" if by_logits else "probs": pack(row)}
    if profile == _WALK:
        count = draw(st.integers(2, 5))
        numbers = draw(st.lists(mostly(_64THS, _ENDS, 8), min_size=count, max_size=count))
        return {**request, "uniforms": pack(numbers), "count": count}
    request["uniforms"] = pack(draw(race_numbers(len(row))))
    if draw(st.integers(0, 3)) == 0:
        request["count"] = draw(st.integers(1, min(possible, 6)))
    return request


def _possible(row: Sequence[float], *, by_logits: bool) -> int:
    return sum(number > (-inf if by_logits else 0) for number in row)
