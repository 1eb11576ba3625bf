"""The checks of parameters: one notion of a number, one sentence for each rule."""

import re
from fractions import Fraction
from math import inf, nan, nextafter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import step
from sampling_ref.errors import ParameterError, SamplingError
from sampling_ref.parameters import read_choice, read_fraction, read_number, read_whole
from sampling_ref.random.sources import read_uniform, read_uniforms
from sampling_ref.row import LARGEST
from tests.texts import drawn

NO_NUMBERS: list[Any] = ["1", None, True, 1j, nan, inf, -inf, [], (1,)]
HUGE = 10**5000

INTERVALS = [
    ("(0, 1]", [nextafter(0, 1), 1, Fraction(1, 3)], [0.0, nextafter(1, 2), -1]),
    ("[0, 1)", [0, -0.0, nextafter(1, 0)], [1.0, -nextafter(0, 1)]),
    ("[-2, 2]", [-2, 2.0], [nextafter(2, 3), -nextafter(2, 3)]),
    ("(0, inf)", [nextafter(0, 1), LARGEST], [0, -1]),
    ("[1, inf)", [1, LARGEST], [nextafter(1, 0)]),
    ("(-inf, inf)", [-LARGEST, LARGEST], []),
]


@pytest.mark.parametrize(("interval", "inside", "outside"), INTERVALS)
@pytest.mark.parametrize("read", [read_fraction, read_number])
def test_both_sides_of_each_end(
    read: Any, interval: str, inside: list[Any], outside: list[Any]
) -> None:
    for value in inside:
        assert read("p", value, interval) == value
    for value in [*outside, *NO_NUMBERS]:
        with pytest.raises(ParameterError, match=r"^p must be (in |a finite number).*, got "):
            read("p", value, interval)


@drawn(60)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.fractions() | st.integers())
def test_a_number_comes_back_as_it_is_and_a_fraction_is_equal_to_it(value: Any) -> None:
    assert read_number("x", value) is value
    exact = read_fraction("x", value)
    assert type(exact) is Fraction
    assert exact == value


def test_a_fraction_is_of_any_size_and_a_number_is_one_that_a_float_can_hold() -> None:
    tiny = Fraction(1, 10**400)
    assert read_fraction("x", 10**400, "(0, inf)") == 10**400
    assert read_fraction("x", tiny, "(0, inf)") == tiny
    assert read_number("x", tiny, "[0, inf)") == tiny
    for value in (10**400, tiny):  # the float nearest to the second is 0
        with pytest.raises(ParameterError, match=r"^x must be a finite number above 0, got "):
            read_number("x", value, "(0, inf)")


@pytest.mark.parametrize(
    ("least", "most", "rule"),
    [
        (1, None, "must be a whole number of at least 1"),
        (0, 624, "must be a whole number from 0 to 624"),
        (0, 2**32 - 1, "must be a whole number from 0 to 2**32 - 1"),
        (-(2**31), 2**31 - 1, "must be a whole number from -2**31 to 2**31 - 1"),
    ],
)
def test_whole_numbers_have_two_sentences(least: int, most: int | None, rule: str) -> None:
    assert read_whole("k", least, least, most) == least
    if most is not None:
        assert read_whole("k", most, least, most) == most
    above = [] if most is None else [most + 1, HUGE]
    for value in [least - 1, -HUGE, 1.0, Fraction(1), *above, *NO_NUMBERS]:
        with pytest.raises(ParameterError, match=f"^k {re.escape(rule)}, got "):
            read_whole("k", value, least, most)


def test_a_choice_is_a_name() -> None:
    assert read_choice("ties", "all", ("lowest id", "all")) == "all"
    for value in ["", "lowest", *NO_NUMBERS]:
        with pytest.raises(ParameterError, match=r"^ties must be one of lowest id, all, got "):
            read_choice("ties", value, ("lowest id", "all"))


def test_one_random_number_and_many_have_one_sentence() -> None:
    for value in [1, 1.0, -0.5, HUGE, *NO_NUMBERS]:
        with pytest.raises(SamplingError, match=r"^u must be in \[0, 1\), got "):
            read_uniform(value, "u")
        with pytest.raises(SamplingError, match=r"^uniforms\[1\] must be in \[0, 1\), got "):
            read_uniforms([0.0, value])
    assert read_uniforms(Fraction(1, 2)) == read_uniforms([Fraction(1, 2)], 1) == [Fraction(1, 2)]


@pytest.mark.parametrize("huge", [HUGE, -HUGE], ids=["huge", "minus huge"])
@pytest.mark.parametrize(
    ("op", "name"),
    [("top_p", "top_p"), ("top_k", "top_k"), ("temperature", "temperature"), ("min_p", "min_p")],
)
def test_a_number_of_five_thousand_digits_is_an_ordinary_mistake(
    op: str, name: str, huge: Any
) -> None:
    params: dict[str, Any] = {name: huge}
    with pytest.raises(SamplingError, match=r"got a whole number of more than 4000 digits$"):
        step("llama.cpp", op, [1.0, 2.0], **params)


UNKNOWN: Any = HUGE


@pytest.mark.parametrize(
    ("profile", "op", "logits", "history", "uniforms"),
    [
        pytest.param("llama.cpp", "top_k", [HUGE, 1.0], [], [], id="logit"),
        pytest.param("llama.cpp", "top_k", [1.0, 1.0], [HUGE], [], id="history"),
        pytest.param("llama.cpp", "top_k", [1.0, 1.0], [], [HUGE], id="uniform"),
        pytest.param(UNKNOWN, "top_k", [1.0, 1.0], [], [], id="profile"),
        pytest.param("llama.cpp", UNKNOWN, [1.0, 1.0], [], [], id="step"),
    ],
)
def test_it_is_one_in_every_other_place_too(
    profile: str, op: str, logits: list[float], history: list[int], uniforms: list[float]
) -> None:
    with pytest.raises(SamplingError, match=r"a whole number of more than 4000 digits"):
        step(profile, op, logits, history, uniforms=uniforms)
