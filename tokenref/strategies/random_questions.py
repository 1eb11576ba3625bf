"""Questions about random words, and about the numbers that are made of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from tokenref.conversions import CONVERSIONS
from tokenref.generators import GENERATORS
from tokenref.strategies.texts import mostly

Request: TypeAlias = dict[str, Any]

LENGTHS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "philox4x32-10": (2, 4),
        "philox4x64-10": (2, 4),
        "threefry2x32-20": (2, 2),
        "threefry4x64-20": (4, 4),
    }
)
"""Words of the key and of the counter, of generators that are started by both."""

ASKED: Final = (
    *(name for name, generator in GENERATORS.items() if generator.needs == ("seed",)),
    *LENGTHS,
)
"""The generators that are asked for their words."""

_EDGES: Final = (0, 1, 0xFF, 0x1FF)
_LONG: Final = (0, 0, 1, 2, 3, 4, 7, 8, 623, 624, 625)
"""Words that were taken before: the ends of the blocks of some generators."""


@st.composite
def random_words(draw: st.DrawFn, profile: str) -> Request:
    """Draw a start, edges above all, and which words are wanted.

    >>> from hypothesis import find
    >>> find(random_words("mt19937"), lambda request: True)
    {'taken': 0, 'count': 1, 'seed': '0'}
    """
    request: Request = {"taken": draw(st.sampled_from(_LONG)), "count": draw(st.integers(1, 6))}
    if profile not in LENGTHS:
        seeds = mostly(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**32 - 1, 2**32]), 2)
        return {**request, "seed": f"{draw(seeds):x}"}
    bits = GENERATORS[profile].inner
    for name, length in zip(("key", "counter"), LENGTHS[profile], strict=True):
        word = _words(bits)
        given = draw(st.lists(word, min_size=length, max_size=length))
        request[name] = [f"{each:0{bits // 4}x}" for each in given]
    return request


@st.composite
def uniforms_of_words(draw: st.DrawFn, profile: str) -> Request:
    """Draw random words, edges above all, as many as some numbers need.

    >>> from hypothesis import find
    >>> find(uniforms_of_words("torch-cpu-float"), lambda request: True)
    {'words': ['00000000']}
    """
    way = CONVERSIONS[profile]
    word = _words(way.bits)
    count = way.words * draw(st.integers(1, 3))
    words = draw(st.lists(word, min_size=count, max_size=count))
    return {"words": [f"{each:0{way.bits // 4}x}" for each in words]}


def _words(bits: int) -> st.SearchStrategy[int]:
    largest = (1 << bits) - 1
    edges = st.sampled_from([*_EDGES, largest, 1 << (bits - 1), largest - 0xFF])
    return mostly(edges, st.integers(0, largest), 2)
