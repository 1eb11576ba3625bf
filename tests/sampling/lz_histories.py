"""Hypothesis strategies for histories in which a Lempel-Ziv compressor finds something.

Independent random tokens hardly ever repeat three in a row. So histories are drawn as
copies of their own past, as loops, and at random over very few tokens.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

Wrong: TypeAlias = Any
"""What a careless caller may pass."""


@dataclass(frozen=True)
class Setting:
    """A history over `size` tokens, and the sizes of window and buffer."""

    history: list[int]
    size: int
    window: int
    buffer: int


@st.composite
def repetitive(draw: st.DrawFn, kinds: int, most: int = 60) -> list[int]:
    """Draw a history of at most `most` tokens out of `kinds`, full of repeats."""
    token = st.integers(0, kinds - 1)
    if draw(st.integers(0, 3)) == 0:  # a loop, perhaps after something else
        before = draw(st.lists(token, max_size=6))
        period = draw(st.lists(token, min_size=1, max_size=9))
        return (before + period * most)[: draw(st.integers(0, most))]
    history = draw(st.lists(token, max_size=12))
    for _ in range(draw(st.integers(0, 6))):
        if history and draw(st.integers(0, 1)) == 1:
            start = draw(st.integers(0, len(history) - 1))
            history += history[start : start + draw(st.integers(1, 12))]
        else:
            history += draw(st.lists(token, min_size=1, max_size=3))
    return history[:most]


@st.composite
def settings_(draw: st.DrawFn, most: int = 60) -> Setting:
    """Draw a setting: few tokens, small windows, some histories shorter than the buffer."""
    kinds = draw(st.integers(1, 6))
    history = draw(repetitive(kinds, most))
    size = kinds + draw(st.sampled_from([0, 0, 1, 2, 10]))
    window = draw(st.integers(0, 40))
    buffer = draw(st.sampled_from([1, 1, 2, 2, 3, 4, 6, 8]))
    return Setting(history, size, window, buffer)
