"""Small models for exact enumeration: a row of whole weights for each beginning.

Weights are drawn from few values, zero among them, so that target and draft often share
no token, agree exactly, or agree in part.
"""

from itertools import product

from hypothesis import strategies as st

from sampling_ref.speculative.law import Model

Rows = dict[tuple[int, ...], list[int]]


def weights(size: int) -> st.SearchStrategy[list[int]]:
    """Draw a row of whole weights, not all of them zero."""
    few = st.lists(st.integers(0, 3), min_size=size, max_size=size)
    certain = st.integers(0, size - 1).map(lambda token: [int(x == token) for x in range(size)])
    return (few | certain).filter(any)


@st.composite
def model_pairs(draw: st.DrawFn, length: int, most: int = 3) -> tuple[Model, Model, int]:
    """Draw a target, a draft and the size of their vocabulary, for `length` drafts."""
    size = draw(st.integers(1, most))
    beginnings = [each for n in range(length + 1) for each in product(range(size), repeat=n)]
    target = {each: draw(weights(size)) for each in beginnings}
    draft: Rows = {}
    for each in beginnings:
        draft[each] = target[each] if draw(st.integers(0, 4)) == 0 else draw(weights(size))
    return target.__getitem__, draft.__getitem__, size
