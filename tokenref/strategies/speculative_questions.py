"""Questions about speculative decoding, whose ratios are exact."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tokenref.floats import pack
from tokenref.strategies.rows import uniforms

Request: TypeAlias = dict[str, Any]


@st.composite
def speculative(draw: st.DrawFn) -> Request:
    """Draw what is exact: drafts are powers of two, so that each ratio to them is.

    >>> from hypothesis import find
    >>> find(speculative(), lambda request: request["tokens"])["tokens"]
    [0]
    """
    size, count = draw(st.integers(2, 4)), draw(st.integers(0, 3))
    offered = st.permutations([*(2.0 ** -min(n, size - 1) for n in range(1, size + 1))])
    wanted = st.lists(st.integers(0, 15), min_size=size - 1, max_size=size - 1).map(_sixteenths)
    drafts = [draw(offered) for _ in range(count)]
    targets = [draw(wanted) for _ in range(count + 1)]
    tokens = [draw(st.integers(0, size - 1)) for _ in range(count)]
    numbers = [
        draw(uniforms([target[token] / draft[token]]))
        for target, draft, token in zip(targets, drafts, tokens, strict=False)
    ]
    return {
        "draft": [pack(row) for row in drafts],
        "target": [pack(row) for row in targets],
        "tokens": tokens,
        "uniforms": pack([*numbers, draw(uniforms(targets[-1]))]),
        "params": {},
    }


def _sixteenths(cuts: Sequence[int]) -> list[float]:
    ends = [0, *sorted(cuts), 16]
    return [(high - low) / 16 for low, high in pairwise(ends)]


@st.composite
def residual(draw: st.DrawFn) -> Request:
    """Draw a target's row and a draft's, of one to four tokens.

    >>> from hypothesis import find
    >>> sorted(find(residual(), lambda request: True))
    ['draft', 'params', 'target']
    """
    size = draw(st.integers(1, 4))
    wanted = st.lists(st.integers(0, 16), min_size=size - 1, max_size=size - 1).map(_sixteenths)
    return {"target": pack(draw(wanted)), "draft": pack(draw(wanted)), "params": {}}
