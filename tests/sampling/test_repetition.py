"""The measure of degenerate repetition, against its definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import HistoryError, ParameterError
from sampling_ref.generation import is_degenerate, most_repeated
from sampling_ref.generation.repetition import Loop


def by_definition(tokens: list[int]) -> Loop:
    """Return the loop with the most copies, by trying every unit at every place."""
    best = Loop(0, 1, 1) if tokens else Loop(0, 0, 0)
    for length in range(1, len(tokens) + 1):
        for start in range(len(tokens) - length + 1):
            unit = tokens[start : start + length]
            times = 1
            while tokens[start + times * length : start + (times + 1) * length] == unit:
                times += 1
            if times > best.times:
                best = Loop(start, length, times)
    return best


@given(st.lists(st.integers(0, 2), max_size=40))
def test_the_loop_is_that_of_the_definition(tokens: list[int]) -> None:
    assert most_repeated(tokens) == by_definition(tokens)


@given(
    st.lists(st.integers(0, 3), max_size=6),
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.integers(1, 30),
    st.lists(st.integers(0, 3), max_size=6),
)
def test_a_loop_in_a_text_is_found(
    before: list[int], unit: list[int], times: int, after: list[int]
) -> None:
    text = before + unit * times + after
    found = most_repeated(text)
    assert found.times >= times
    copy = text[found.start : found.start + found.length]
    assert text[found.start : found.start + found.length * found.times] == copy * found.times
    assert is_degenerate(text) is (found.times >= 20)
    assert is_degenerate(text, found.times)
    assert not is_degenerate(text, found.times + 1)


def test_arrays_and_bad_input() -> None:
    numpy = pytest.importorskip("numpy")
    assert most_repeated(numpy.array([1, 1, 1])) == Loop(0, 1, 3)
    with pytest.raises(HistoryError, match=r"tokens\[0\] must be a token id, got -1"):
        most_repeated([-1])
    with pytest.raises(HistoryError, match="tokens must be a sequence of token ids"):
        is_degenerate("aaaa")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="times must be"):
        is_degenerate([1], 0)
