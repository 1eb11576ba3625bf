"""Questions to samplers that steer: mirostat 1 and 2, adaptive-p; one step, state in and state out.

Half of the rows have as many equal logits as some power of two. There each share and each
surprise is exact, so that a number may lie at a border, and a state may be absent. The others
are of a few plain logits, with numbers between the borders more often than at them.
"""

from collections.abc import Mapping
from math import inf
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from tokenref.floats import pack
from tokenref.questions.sampling import pack_parameters
from tokenref.strategies.rows import invalid_rows, stepped, uniforms
from tokenref.strategies.texts import mostly

Request: TypeAlias = dict[str, Any]

_QUARTERS: Final = st.integers(-16, 16).map(lambda number: number / 4)
_RATES: Final = st.sampled_from([0.5, 0.25, 1.0, 0.125, 0.0, -0.5])
_AIMS: Final = st.sampled_from([2.0, 1.5, 1.0, 3.0, 2.5, 0.5, 0.0])
_SHARES: Final = st.sampled_from([0.5, 0.25, 0.75, 0.0, 1.0])
_DECAYS: Final = st.sampled_from([0.5, 0.75, 0.0])
_STEERING: Final = st.integers(-2, 16).map(lambda number: number / 2)
_BETWEEN: Final = st.integers(0, 31).map(lambda number: (2 * number + 1) / 64)
_SIZES: Final = (0, 1, 1000)
"""Tokens by which a vocabulary may be larger than the row."""


@st.composite
def even_rows(draw: st.DrawFn) -> list[float]:
    """Draw a row whose possible tokens are equal, and 1, 2, 4 or 8 of them.

    >>> from hypothesis import find
    >>> find(even_rows(), lambda row: True)
    [0.0]
    """
    equal = draw(st.sampled_from([0.0, 1.0, -2.5]))
    row = [equal] * 2 ** draw(st.integers(0, 3))
    for place in draw(st.lists(st.integers(0, len(row)), max_size=2)):
        row.insert(place, -inf)
    return row


@st.composite
def plain_rows(draw: st.DrawFn) -> list[float]:
    """Draw a row of quarters, often with equals, sometimes with a peak or an impossible token.

    >>> from hypothesis import find
    >>> find(plain_rows(), lambda row: len(row) > 2)
    [0.0, 0.0, 0.0]
    """
    odd = st.sampled_from([-inf, -20.0, 30.0])
    row = draw(st.lists(mostly(_QUARTERS, odd, 8), min_size=2, max_size=9))
    return row if max(row) > -inf else [*row, 0.0]


@st.composite
def mirostat(draw: st.DrawFn, op: str) -> Request:
    """Draw a step of mirostat 1 or 2.

    >>> from hypothesis import find
    >>> find(mirostat("mirostat_2"), lambda request: not request["state"])["params"]
    {'tau': {'f32': '40000000'}, 'eta': {'f32': '3f000000'}}
    """
    is_even = draw(st.booleans())
    row = draw(even_rows()) if is_even else draw(mostly(plain_rows(), invalid_rows(), 32))
    params: Request = {"tau": draw(_AIMS), "eta": draw(_RATES)}
    if op == "mirostat_1":
        more = {
            "ranks": st.sampled_from([2, 3, 100]),
            "vocabulary": st.sampled_from([len(row) + by for by in _SIZES]),
        }
        params |= draw(st.fixed_dictionaries({}, optional=more))
    mu = draw(_STEERING)
    if is_even and mu > 0 and draw(st.integers(0, 3)) == 0:
        mu = stepped(mu, -1)
    state = {} if is_even and draw(st.integers(0, 3)) == 0 else {"mu": pack([mu])}
    return _asked(row, params, state, draw(_random_number(row, is_even=is_even)))


@st.composite
def adaptive_p(draw: st.DrawFn) -> Request:
    """Draw a step of adaptive-p.

    >>> from hypothesis import find
    >>> sorted(find(adaptive_p(), lambda request: True))
    ['logits', 'params', 'state', 'uniforms']
    """
    is_even = draw(st.booleans())
    row = draw(even_rows()) if is_even else draw(mostly(plain_rows(), invalid_rows(), 32))
    params = {"target": draw(_SHARES), "decay": draw(_DECAYS)}
    weight = draw(st.sampled_from([2.0, 1.0, 4.0, 0.5, 0.0]))
    past = [draw(st.integers(0, 8)) / 8 * weight, weight]
    state = {} if is_even and draw(st.integers(0, 3)) == 0 else {"past": pack(past)}
    return _asked(row, params, state, draw(_random_number(row, is_even=is_even)))


def _asked(row: list[float], params: Request, state: Request, u: float) -> Request:
    return {
        "logits": pack(row),
        "params": pack_parameters(params),
        "state": state,
        "uniforms": pack([u]),
    }


def _random_number(row: list[float], *, is_even: bool) -> st.SearchStrategy[float]:
    """Return a strategy for a number at a border of equal shares, or anywhere between 0 and 1."""
    count = sum(logit > -inf for logit in row)
    return uniforms([1 / count] * count) if is_even else mostly(_BETWEEN, uniforms(), 8)


ADAPTIVE_QUESTIONS: Final[Mapping[str, st.SearchStrategy[Request]]] = MappingProxyType(
    {
        "mirostat_1": mirostat("mirostat_1"),
        "mirostat_2": mirostat("mirostat_2"),
        "adaptive_p": adaptive_p(),
    }
)
"""What draws the questions of each operation."""
